"""Manifests that the API server refuses: the field, and the one line that it says of it."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.admission.response import RequestRefusal
from tests.admission.objects import asking, claim, container, job, make, pod, server, template, workload

Json = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODE_TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
POD_TERM = f"spec.affinity.podAffinity.{REQUIRED}[0]"
SPREAD = "spec.topologySpreadConstraints[0]"
LABEL = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
DNS_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)


def on_nodes(expression: Json, key: str = "matchExpressions") -> Json:
    return pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{key: [expression]}]}}})


def beside(**term: Any) -> Json:
    return pod(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "zone", **term}]}})


def spread(**constraint: Any) -> Json:
    whole = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **constraint}
    return pod(topologySpreadConstraints=[whole])


def tolerating(**toleration: Any) -> Json:
    return pod(tolerations=[toleration])


def ports(*listed: Json, **spec: Any) -> Json:
    return pod(containers=[container(ports=list(listed))], **spec)


REFUSED: list[tuple[str, Json, str, str]] = [
    (
        "a finalizer without a domain",
        {**pod(), "metadata": {"name": "p", "namespace": "default", "finalizers": ["kubernetes", "mine"]}},
        "metadata.finalizers[1]",
        'Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
    ),
    # --- containers
    ("a pod without containers", pod(containers=[]), "spec.containers", "Required value"),
    (
        "a container without a name",
        pod(containers=[{"image": "x"}]),
        "spec.containers[0].name",
        "Required value",
    ),
    ("a container without an image", pod(containers=[{"name": "c"}]), "spec.containers[0].image", "Required value"),
    (
        "a container whose name is no DNS label",
        pod(containers=[container("Web")]),
        "spec.containers[0].name",
        f'Invalid value: "Web": {DNS_LABEL} ',
    ),
    (
        "an init container that is named like a container",
        pod(initContainers=[container()]),
        "spec.initContainers[0].name",
        'Duplicate value: "c"',
    ),
    (
        "a sidecar with a restart policy that there is not",
        pod(initContainers=[container("s", restartPolicy="Sometimes")]),
        "spec.initContainers[0].restartPolicy",
        'Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
    ),
    # --- ports
    ("a port without a number", ports({"name": "http"}), "spec.containers[0].ports[0].containerPort", "Required value"),
    (
        "a port beyond all ports",
        ports({"containerPort": 70000}),
        "spec.containers[0].ports[0].containerPort",
        "Invalid value: 70000: must be between 1 and 65535, inclusive",
    ),
    (
        "a protocol that there is not",
        ports({"containerPort": 1, "protocol": "HTTP"}),
        "spec.containers[0].ports[0].protocol",
        'Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
    ),
    (
        "two ports of one name",
        ports({"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}),
        "spec.containers[0].ports[1].name",
        'Duplicate value: "a"',
    ),
    (
        "a host port that is not the container's on the host's network",
        ports({"containerPort": 1, "hostPort": 2}, hostNetwork=True),
        "spec.containers[0].ports[0].hostPort",
        "Invalid value: 2: must match `containerPort` when `hostNetwork` is true",
    ),
    (
        "the host's network without the host's users",
        pod(hostNetwork=True, hostUsers=False),
        "spec.hostNetwork",
        "Forbidden: when `hostUsers` is false",
    ),
    # --- resources
    (
        "a resource that containers cannot ask for",
        pod(containers=[asking({"pods": "1"})]),
        "spec.containers[0].resources.requests[pods]",
        'Invalid value: "pods": must be a standard resource for containers',
    ),
    (
        "a resource whose owner is not said",
        pod(containers=[asking({"gpu": "1"}, {"gpu": "1"})]),
        "spec.containers[0].resources.limits[gpu]",
        'Invalid value: "gpu": must be a standard resource type or fully qualified',
    ),
    (
        "an extended resource whose request is not its limit",
        pod(containers=[asking({"example.com/gpu": "1"}, {"example.com/gpu": "2"})]),
        "spec.containers[0].resources.requests",
        'Invalid value: "1": must be equal to example.com/gpu limit of 2',
    ),
    (
        "huge pages that are not whole pages",
        pod(containers=[asking(None, {"cpu": "1", "hugepages-2Mi": "3Mi"})]),
        "spec.containers[0].resources.limits[hugepages-2Mi]",
        'Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    ),
    (
        "a pod that asks as a whole for what only containers can",
        pod(resources={"requests": {"ephemeral-storage": "1Gi"}}),
        "spec.resources.requests[ephemeral-storage]",
        'Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
    ),
    (
        "a pod that asks as a whole for less than its containers",
        pod(containers=[asking({"cpu": "2"})], resources={"requests": {"cpu": "1"}}),
        "spec.resources.requests[cpu]",
        'Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
    ),
    (
        "a container whose limit is above the pod's",
        pod(containers=[asking({"cpu": "1"}, {"cpu": "3"})], resources={"limits": {"cpu": "2"}}),
        "spec.resources.containers[0][cpu].limits",
        'Invalid value: "3": must be less than or equal to pod limits of 2',
    ),
    (
        "a container that uses a claim the pod does not have",
        pod(containers=[container(resources={"claims": [{"name": "gpu"}]})]),
        "spec.containers[0].resources.claims[0]",
        'Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty',
    ),
    (
        "a claim that says neither claim nor template",
        pod(resourceClaims=[{"name": "gpu"}]),
        "spec.resourceClaims[0]",
        'Invalid value: {"Name":"gpu","ResourceClaimName":null,"ResourceClaimTemplateName":null}: '
        "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
    ),
    # --- where it may run
    (
        "a node selector with a key that is no label",
        pod(nodeSelector={"-disk": "ssd"}),
        "spec.nodeSelector",
        f'Invalid value: "-disk": name part {LABEL} ',
    ),
    (
        "a node selector with a value that is no label",
        pod(nodeSelector={"disk": "very fast"}),
        "spec.nodeSelector",
        f'Invalid value: "very fast": {VALUE} ',
    ),
    (
        "a required node affinity without terms",
        pod(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}),
        NODE_TERMS,
        "Required value: must have at least one node selector term",
    ),
    (
        "Exists with values",
        on_nodes({"key": "disk", "operator": "Exists", "values": ["ssd"]}),
        f"{NODE_TERMS}[0].matchExpressions[0].values",
        "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ),
    (
        "Gt with two values",
        on_nodes({"key": "cores", "operator": "Gt", "values": ["1", "2"]}),
        f"{NODE_TERMS}[0].matchExpressions[0].values",
        "Required value: must be specified single value when `operator` is 'Lt' or 'Gt'",
    ),
    (
        "an expression without a key",
        on_nodes({"operator": "Exists"}),
        f"{NODE_TERMS}[0].matchExpressions[0].key",
        'Invalid value: "": name part must be non-empty',
    ),
    (
        "a field of nodes that cannot be selected by",
        on_nodes({"key": "spec.unschedulable", "operator": "In", "values": ["x"]}, "matchFields"),
        f"{NODE_TERMS}[0].matchFields[0].key",
        'Invalid value: "spec.unschedulable": not a valid field selector key',
    ),
    (
        "a field with two values",
        on_nodes({"key": "metadata.name", "operator": "In", "values": ["a", "b"]}, "matchFields"),
        f"{NODE_TERMS}[0].matchFields[0].values",
        "Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    ),
    (
        "a preference of weight 101",
        pod(affinity={"podAffinity": {PREFERRED: [{"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}]}}),
        f"spec.affinity.podAffinity.{PREFERRED}[0].weight",
        "Invalid value: 101: must be in the range 1-100",
    ),
    (
        "a namespace that is no name",
        beside(namespaces=["Team A"]),
        f"{POD_TERM}.namespace",
        f'Invalid value: "Team A": {DNS_LABEL} ',
    ),
    (
        "an operator that label selectors do not have",
        beside(labelSelector={"matchExpressions": [{"key": "app", "operator": "Gt", "values": ["1"]}]}),
        f"{POD_TERM}.labelSelector.matchExpressions[0].operator",
        'Invalid value: "Gt": not a valid selector operator',
    ),
    (
        "label keys without a selector",
        beside(matchLabelKeys=["app"]),
        f"{POD_TERM}.matchLabelKeys",
        "Forbidden: must not be specified when labelSelector is not set",
    ),
    (
        "a label key that is to match and not to match",
        beside(labelSelector={}, matchLabelKeys=["app"], mismatchLabelKeys=["app"]),
        f"{POD_TERM}.matchLabelKeys[0]",
        'Invalid value: "app": exists in both matchLabelKeys and mismatchLabelKeys',
    ),
    # --- spread
    (
        "a constraint without what to do",
        spread(whenUnsatisfiable=None),
        f"{SPREAD}.whenUnsatisfiable",
        'Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"',
    ),
    (
        "a minimum of no domains",
        spread(minDomains=0),
        f"{SPREAD}.minDomains",
        "Invalid value: 0: must be greater than zero",
    ),
    (
        "a policy that there is not",
        spread(nodeTaintsPolicy="Respect"),
        f"{SPREAD}.nodeTaintsPolicy",
        'Unsupported value: "Respect": supported values: "Honor", "Ignore"',
    ),
    (
        "a label key that the selector has already",
        {
            **spread(labelSelector={"matchLabels": {"app": "a"}}, matchLabelKeys=["app"]),
            "metadata": pod(labels={"app": "a"})["metadata"],
        },
        f"{SPREAD}[0]",
        'Invalid value: "app": exists in both matchLabelKeys and labelSelector',
    ),
    (
        "a deletion cost that is no number",
        {
            **pod(),
            "metadata": {**pod()["metadata"], "annotations": {"controller.kubernetes.io/pod-deletion-cost": "+5"}},
        },
        "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]",
        'Invalid value: "+5": must be a 32bit integer',
    ),
    # --- tolerations
    (
        "a toleration of nothing in particular that is not for everything",
        tolerating(operator="Equal", value="x"),
        "spec.tolerations[0].operator",
        'Invalid value: "Equal": operator must be Exists when `key` is empty, '
        'which means "match all values and all keys"',
    ),
    (
        "a toleration of an effect that there is not",
        tolerating(key="a", operator="Exists", effect="NoStart"),
        "spec.tolerations[0].effect",
        'Unsupported value: "NoStart": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ),
    (
        "a toleration that compares numbers",
        tolerating(key="a", operator="Gt", value="3"),
        "spec.tolerations[0].operator",
        'Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"',
    ),
    (
        "a toleration with an operator that there is not",
        tolerating(key="a", operator="In"),
        "spec.tolerations[0].operator",
        'Unsupported value: "In": supported values: "Equal", "Exists"',
    ),
    # --- the rest of a pod
    (
        "a restart policy that there is not",
        pod(restartPolicy="Sometimes"),
        "spec.restartPolicy",
        'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
    ),
    ("two gates of one name", pod(schedulingGates=[{"name": "a"}, {"name": "a"}]), "spec.schedulingGates[1]", "Dup"),
    ("a deadline of no time", pod(activeDeadlineSeconds=0), "spec.activeDeadlineSeconds", "Invalid value: 0: must be"),
    (
        "a volume of two kinds",
        pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]),
        "spec.volumes[0].hostPath",
        "Forbidden: may not specify more than 1 volume type",
    ),
    (
        "two volumes of one name",
        pod(volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
        "spec.volumes[1].name",
        'Duplicate value: "v"',
    ),
    (
        "a volume of a claim without a name",
        pod(volumes=[{"name": "v", "persistentVolumeClaim": {}}]),
        "spec.volumes[0].persistentVolumeClaim.claimName",
        "Required value",
    ),
    (
        "a volume of a claim that is made for another volume",
        pod(
            volumes=[
                {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}},
                {"name": "w", "persistentVolumeClaim": {"claimName": "p-v"}},
            ]
        ),
        "spec.volumes[1].persistentVolumeClaim.claimName",
        'Invalid value: "p-v": must not reference a PVC that gets created for an ephemeral volume',
    ),
    ("a pod without a name", make("Pod", "", spec=pod()["spec"]), "metadata.name", "Required value: name or"),
    (
        "a label that is none",
        pod(labels={"app": "a b"}),
        "metadata.labels",
        f'Invalid value: "a b": {VALUE} ',
    ),
    # --- claims
    (
        "a claim without access modes",
        claim(accessModes=[]),
        "spec.accessModes",
        "Required value: at least 1 access mode is required",
    ),
    (
        "a claim for nothing",
        claim(storage="0"),
        "spec.resources[storage]",
        'Invalid value: "0": must be greater than zero',
    ),
    (
        "a claim for one pod and for many",
        claim(accessModes=["ReadWriteOncePod", "ReadWriteMany"]),
        "spec.accessModes",
        "Forbidden: may not use ReadWriteOncePod with other access modes",
    ),
    # --- workloads
    (
        "fewer than no replicas",
        workload("Deployment", replicas=-1),
        "spec.replicas",
        "Invalid value: -1: must be greater than or equal to 0",
    ),
    ("a deployment without a selector", workload("Deployment", selector=None), "spec.selector", "Required value"),
    (
        "a selector that selects everything",
        workload("StatefulSet", selector={}),
        "spec.selector",
        "Invalid value: {}: empty selector is invalid for statefulset",
    ),
    (
        "a rollout that can neither add nor remove",
        workload("Deployment", strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
        "spec.strategy.rollingUpdate.maxUnavailable",
        "Invalid value: 0: may not be 0 when `maxSurge` is 0",
    ),
    (
        "a surge for a deployment that is recreated",
        workload("Deployment", strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
        "spec.strategy.rollingUpdate",
        "Forbidden: may not be specified when strategy `type` is 'Recreate'",
    ),
    (
        "a daemon set that surges and removes",
        workload("DaemonSet", updateStrategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}),
        "spec.updateStrategy.rollingUpdate.maxSurge",
        "Invalid value: 1: may not be set when maxUnavailable is non-zero",
    ),
    (
        "a deployment whose pods do not restart",
        workload("Deployment", template=template(restartPolicy="Never")),
        "spec.template.spec.restartPolicy",
        'Unsupported value: "Never": supported values: "Always"',
    ),
    (
        "a template with a fault",
        workload("DaemonSet", template=template(nodeSelector={"disk": "-"})),
        "spec.template.spec.nodeSelector",
        f'Invalid value: "-": {VALUE} ',
    ),
    (
        "a job whose pods restart forever",
        job(template=template()),
        "spec.template.spec.restartPolicy",
        'Required value: valid values: "OnFailure", "Never"',
    ),
    (
        "an indexed job without an end",
        job(completionMode="Indexed", parallelism=3),
        "spec.completions",
        "Required value: when completion mode is Indexed",
    ),
    (
        "a job with another job's label",
        job(template=template({"job-name": "other"}, restartPolicy="Never")),
        "spec.template.metadata.labels[job-name]",
        "Invalid value: {",
    ),
    (
        "a cron job without a schedule",
        make("CronJob", "j", "batch/v1", spec={"jobTemplate": {"spec": job()["spec"]}}),
        "spec.schedule",
        "Required value",
    ),
]


@pytest.mark.parametrize(
    ("manifest", "field", "line"), [row[1:] for row in REFUSED], ids=[f"{row[0]} is refused" for row in REFUSED]
)
def test_refused(manifest: Json, field: str, line: str) -> None:
    answer = server().create(manifest)
    assert isinstance(answer, RequestRefusal)
    assert (answer.code, answer.reason) == (422, "Invalid")
    said = [cause.message for cause in answer.causes if cause.field == field]
    assert any(text.startswith(line) for text in said), answer.message
    assert f"{field}: {line}" in answer.message


def test_there_are_more_than_fifty() -> None:
    assert len(REFUSED) > 50
    assert len({row[0] for row in REFUSED}) == len(REFUSED)


MISSHAPEN: list[tuple[str, Json, str]] = [
    ("replicas in words", workload("Deployment", replicas="three"), "spec.replicas"),
    ("containers by name", pod(containers={"c": {"image": "x"}}), "spec.containers"),
    ("cpu in words", pod(containers=[asking({"cpu": "one"})]), "spec.containers[0].resources.requests"),
    ("a number as a label", pod(labels={"version": 1}), "metadata.labels"),
    ("seconds in words", pod(tolerations=[{"tolerationSeconds": "5m"}]), "spec.tolerations[0].tolerationSeconds"),
]


@pytest.mark.parametrize(
    ("manifest", "field"), [row[1:] for row in MISSHAPEN], ids=[f"{row[0]} is no object at all" for row in MISSHAPEN]
)
def test_misshapen(manifest: Json, field: str) -> None:
    answer = server().create(manifest)
    assert isinstance(answer, RequestRefusal)
    assert (answer.code, answer.reason) == (400, "BadRequest")
    assert answer.causes[0].field.startswith(field)
    assert answer.message.startswith(f'{manifest["kind"]} in version "v1" cannot be handled as a {manifest["kind"]}: ')
