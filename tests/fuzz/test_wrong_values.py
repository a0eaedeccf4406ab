"""Whatever stands where something else belongs: commands answer, or end with one line that names the file.

``make fuzz`` tries a hundred thousand of these; here are some, and those that once ended otherwise.
"""

from __future__ import annotations

import pytest

from kwhatif.api.field_types import newest_types
from kwhatif.api.kinds import READ_KINDS
from tests.fuzz.cases import case_of, cases, good_cases, subjects
from tests.fuzz.commands import COMMANDS, readers_without
from tests.fuzz.trial import Trial

pytestmark = pytest.mark.posix

SEED, SOME = 20260301, 120


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return Trial(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.long
def test_some_values_at_some_places(trial: Trial) -> None:
    outcomes = [trial.of(case) for case in cases(SEED, 0, SOME)]
    assert [f"{one.case}: {one.failure}" for one in outcomes if one.failure] == []


@pytest.mark.long
def test_every_command_answers_where_nothing_is_wrong(trial: Trial) -> None:
    outcomes = [trial.of(case) for case in good_cases()]
    assert [(one.case, one.failure) for one in outcomes if one.code not in (0, 1)] == []


def test_every_command_that_reads_files_is_given_wrong_ones() -> None:
    """By a line in ``tests/fuzz/commands.py``, or by its first example, which is about the samples' cluster then."""
    given = (command for commands in COMMANDS.values() for command in commands if "{bad}" in command)
    assert readers_without(given) == set()


_EXPAND = "expand {bad} --snapshot {cluster}"
_EXPAND_CUSTOM = "expand {bad} --pod-template-path example.com/Job=$.spec.template"
_PLACE = "place {release} --snapshot {bad}"
_SCALE = "place --with-pending --snapshot {bad} --scale Deployment/shop/web=3"
_REDACT = "snapshot redact {bad} -o {out}.json --translation {out}.translation"
_DRAIN = "drain n1 --snapshot {bad}"
_GATE = "gate {bad} --base {good} --snapshot {cluster}"
_AUTOSCALE = "autoscale {release} --snapshot {bad} --groups {groups} --orders 1"
_DUMP = "snapshot dump --kubeconfig x -o {out}.json"
_EC2 = "autoscale catalogue --ec2-types {bad} --ec2-offerings {bad}"
_CONFIGURATION = "kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration"
_BOTH = "autoscale {bad} --snapshot {cluster} --groups {groups} --catalogue {catalogue} --until-quiet --orders 1"
_DESCHEDULER = "descheduler/v1alpha2 DeschedulerPolicy"
_MEASURED = "deschedule --descheduler-policy {policy} --snapshot {cluster} --metrics {bad}"
_DESCHEDULE = "deschedule --descheduler-policy {bad} --snapshot {cluster}"
_USAGE = "rightsize --snapshot {cluster} --usage {bad}"
_RESUME = "outage --snapshot {cluster} --each nodes --workers 1 --out {rows} --resume"
_POD = ".spec.template.spec"
_EDITED = next(command for command in COMMANDS["snapshot"] if "--scale" in command)
_CLAIM = "ephemeral.volumeClaimTemplate"
_AUTOSCALED = "rightsize --snapshot {bad} --usage {usage} --autoscale {groups}"
_ZONES = "outage -f {bad} --snapshot {cluster} --each zones --workers 1"


@pytest.mark.parametrize(
    ("sort", "name", "place", "value", "command"),
    [
        ("snapshot", "v1 LimitRange", ".spec.limits", '"x"', _PLACE),
        ("snapshot", "v1 LimitRange", ".spec.limits[0].max", "[1]", _PLACE),
        ("snapshot", "v1 ResourceQuota", ".spec.hard", "[1]", _PLACE),
        ("snapshot", "v1 ResourceQuota", ".spec.scopes", "7", _PLACE),
        ("snapshot", "v1 ResourceQuota", ".spec.scopeSelector.matchExpressions[0]", '"x"', _PLACE),
        ("snapshot", "node.k8s.io/v1 RuntimeClass", ".scheduling.tolerations", '"x"', _PLACE),
        ("snapshot", "node.k8s.io/v1 RuntimeClass", ".overhead.podFixed", "[1]", _PLACE),
        ("snapshot", "apps/v1 Deployment", ".spec", "1.5", _PLACE),
        ("snapshot", "apps/v1 Deployment", ".spec.strategy.rollingUpdate.maxUnavailable", '"1e10"', _PLACE),
        ("snapshot", "apps/v1 Deployment", ".spec.strategy.rollingUpdate.maxSurge", '"x"', _SCALE),
        ("manifest", "apps/v1 Deployment", ".spec.strategy.rollingUpdate.maxUnavailable", '"1e10"', _EXPAND),
        ("snapshot", "apps/v1 Deployment", ".spec.strategy.rollingUpdate", '{"a": {}}', _SCALE),
        ("snapshot", "apps/v1 ReplicaSet", ".metadata.ownerReferences", "[null]", _PLACE),
        ("snapshot", "apps/v1 ReplicaSet", ".metadata.ownerReferences", "null", _SCALE),
        ("custom", "example.com/v1 Job", ".spec", '"x"', _EXPAND_CUSTOM),
        ("custom", "example.com/v1 Job", ".spec.replicas", '"3"', _EXPAND_CUSTOM),
        ("custom", "example.com/v1 Job", f"{_POD}.containers[0].resources.requests", "[1]", _EXPAND_CUSTOM),
        ("custom", "example.com/v1 Job", ".spec.template.metadata", '"x"', _EXPAND_CUSTOM),
        ("snapshot", "v1 Pod", f"{_POD[:5]}.affinity.nodeAffinity", '{"x": null}', _REDACT),
        ("snapshot", "apps/v1 DaemonSet", ".spec.selector.matchExpressions[0].operator", "{}", _REDACT),
        ("snapshot", "apps/v1 DaemonSet", ".spec.selector.matchExpressions[0].operator", "7", _REDACT),
        ("page", "apps/v1 ReplicaSet", f"{_POD}.containers[0]", '"x"', _DUMP),
        ("page", "apps/v1 DaemonSet", ".metadata.annotations", '"x"', _DUMP),
        ("page", "v1 Node", ".status", "1e999", _DUMP),
        ("snapshot", "v1 Pod", ".spec.priority", "1e999", _PLACE),
        ("snapshot", "policy/v1 PodDisruptionBudget", ".spec.selector.matchExpressions", "[null]", _DRAIN),
        ("snapshot", "apps/v1 DaemonSet", f"{_POD}.volumes[0].fc.targetWWNs", "1e999", _PLACE),
        ("manifest", "v1 Pod", ".spec.containers[0].ports[0].name", "{}", _EXPAND),
        ("gate", "kwhatif.dev/v1 GatePolicy", ".kubernetesVersion", '"-50%"', "gate {release} --config {bad}"),
        ("manifest", "batch/v1 CronJob", ".spec.jobTemplate.spec.template.spec.tolerations", "[null]", _GATE),
        ("snapshot", "policy/v1 PodDisruptionBudget", ".spec.selector.matchExpressions[0]", '{"name": 1}', _AUTOSCALE),
        ("gate", "kwhatif.dev/v1 GatePolicy", ".policy", f'"{"x" * 5000}"', "gate {release} --config {bad}"),
        ("ec2", "ec2", ".InstanceTypes[0].MemoryInfo.SizeInMiB", "1" + "0" * 400, _EC2),
        ("configuration", _CONFIGURATION, ".profiles[0].schedulerName", "1e999", _REDACT.replace("json", "yaml")),
        ("scenario", "Karpenter", ".expected.nodeClaims[0].requirements", '"*"', "conformance {bad}"),
        ("scenario", "Karpenter", ".expected.errors", '"1e3%"', "conformance {bad}"),
        ("scenario", "cluster-autoscaler, removing", ".expected.scaleDown", '"x"', "conformance {bad}"),
        ("scenario", "cluster-autoscaler, removing", ".objects[10].metadata.name", "{}", "conformance {bad}"),
        ("scenario", "cluster-autoscaler", ".objects[15].metadata", '{"x": []}', "conformance {bad}"),
        ("scenario", "Karpenter, disrupting", ".instanceTypes[1].capacity.pods", str(2**63), "conformance {bad}"),
        ("scenario", "Karpenter, disrupting", ".objects[7].spec.selector.matchLabels.app", '"٣"', "conformance {bad}"),
        ("recording", "recording", ".lines[38].event.object.reason", "7", "backtest {bad}"),
        ("recording", "recording", ".lines[4].list.metadata.resourceVersion", f'"{"9" * 5000}"', "backtest {bad}"),
        ("recording", "recording", ".lines[15].event.object.spec.schedulerName", '"x"', "backtest {bad}"),
        ("recording", "recording", ".lines[19].event.object.eventTime", '"x"', "backtest {bad}"),
        ("descheduler", _DESCHEDULER, ".profiles[0].pluginConfig[8].args.thresholds.cpu", "1" + "0" * 400, _DESCHEDULE),
        ("descheduler", _DESCHEDULER, ".profiles[0].pluginConfig[8].args.targetThresholds", "7", _DESCHEDULE),
        (
            "measured",
            "nodes",
            ".items",
            "1e999",
            _MEASURED,
        ),
        ("usage", "prometheus", ".data.result[0].values[2][0]", str(2**64), _USAGE),
        ("rows", "rows", ".lines[0].row.headroom[0].allocatable", "1" + "0" * 400, _RESUME),
        ("manifest", "v1 Pod", ".metadata.creationTimestamp", '"x"', _BOTH),
        ("manifest", "apps/v1 Deployment", ".spec.template.metadata.creationTimestamp", '"-1"', _BOTH),
        ("manifest", "batch/v1 Job", ".spec.template.spec.initContainers[0].tty", '"true"', _BOTH),
        ("snapshot", "apps/v1 DaemonSet", f"{_POD}.volumes[0].{_CLAIM}.metadata.deletionTimestamp", '"x"', _AUTOSCALED),
        ("manifest", "scheduling.x-k8s.io/v1alpha1 ElasticQuota", ".spec", "7", "queue {bad} --snapshot {cluster}"),
        ("snapshot", "v1 Pod", f".spec.volumes[0].{_CLAIM}.spec.selector", '{"matchExpressions": [null]}', _EDITED),
        ("manifest", "keda.sh/v1alpha1 ScaledObject", ".spec.minReplicaCount", '"null"', _ZONES),
    ],
)
def test_a_value_that_was_too_much_once_is_no_more(
    trial: Trial, sort: str, name: str, place: str, value: str, command: str
) -> None:
    assert trial.of(case_of(sort, name, place, value, command)).failure == ""


def test_every_kind_has_places_where_something_may_be_wrong() -> None:
    kinds = {(subject.sort, subject.name) for subject in subjects()}
    types = newest_types()
    served = {f"{version} {kind}" for kind, versions in types.versions.items() for version in versions}
    assert served <= {name for sort, name in kinds if sort in ("manifest", "rules", "custom")}
    read = {kind.kind for kind in READ_KINDS}
    assert read <= {name.rpartition(" ")[2] for _, name in kinds}
