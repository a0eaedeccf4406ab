"""What Kueue's webhooks say of its own objects, in their words."""

from __future__ import annotations

from typing import Any

import pytest

import kwhatif
from kwhatif.api.kinds import struct_for
from kwhatif.api.kueue import KueueWorkload
from kwhatif.api.times import convert_object
from kwhatif.errors import InputError
from kwhatif.kueue.object_webhooks import PROBLEMS
from tests.commands.queue.test_queue import cluster_queue, job, kueue, queues, there, workload

Json = dict[str, Any]


def problems(kind: str, **spec: Any) -> list[str]:
    struct = struct_for("kueue.x-k8s.io/v1beta2", kind)
    assert struct is not None
    _, problems_of = PROBLEMS[struct]
    return list(problems_of(convert_object(kueue(kind, "a", spec=spec), struct)))


def group(*flavors: Json, covered: tuple[str, ...] = ("cpu",)) -> Json:
    return {"coveredResources": list(covered), "flavors": list(flavors)}


def flavor(name: str = "default", **quota: Any) -> Json:
    return {"name": name, "resources": [{"name": "cpu", "nominalQuota": "4", **quota}]}


QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"
CHECKS = "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]"
BORROWS = {"borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 5}}
TRY_NEXT = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}
QUEUES: dict[str, tuple[Json, list[str]]] = {
    "in order": ({"resourceGroups": [group(flavor())], "cohortName": "all"}, []),
    "a limit without a cohort": (
        {"resourceGroups": [group(flavor(borrowingLimit="1"))]},
        [f'{QUOTA}.borrowingLimit: Invalid value: "1": must be nil when cohort is empty'],
    ),
    "more lent than there is": (
        {"resourceGroups": [group(flavor(lendingLimit="5000m"))], "cohort": "all"},
        [f'{QUOTA}.lendingLimit: Invalid value: "5": must be less than or equal to the nominalQuota'],
    ),
    "less than nothing": (
        {"resourceGroups": [group(flavor(nominalQuota="-1", borrowingLimit="-2"))], "cohort": "all"},
        [
            f'{QUOTA}.nominalQuota: Invalid value: "-1": must be greater than or equal to 0',
            f'{QUOTA}.borrowingLimit: Invalid value: "-2": must be greater than or equal to 0',
        ],
    ),
    "another order": (
        {"resourceGroups": [group(flavor(), covered=("memory", "cpu"))]},
        [f'{QUOTA}.name: Invalid value: "cpu": must match the name in coveredResources'],
    ),
    "twice": (
        {"resourceGroups": [group(flavor()), group(flavor())]},
        [
            'spec.resourceGroups[1].coveredResources[0]: Duplicate value: "cpu"',
            'spec.resourceGroups[1].flavors[0].name: Duplicate value: "default"',
        ],
    ),
    "borrows, but reclaims nothing": (
        {"preemption": BORROWS},
        [
            'spec.preemption: Invalid value: {"reclaimWithinCohort":"Never","borrowWithinCohort":'
            '{"policy":"LowerPriority","maxPriorityThreshold":5},"withinClusterQueue":"Never"}: '
            "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"
        ],
    ),
    "borrows and reclaims": ({"preemption": {**BORROWS, "reclaimWithinCohort": "Any"}}, []),
    "a preference that decides nothing": (
        {"flavorFungibility": {"preference": "PreemptionOverBorrowing"}},
        [
            'spec.flavorFungibility.preference: Invalid value: "PreemptionOverBorrowing": preference '
            '"PreemptionOverBorrowing" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor'
        ],
    ),
    "a preference": ({"flavorFungibility": {"preference": "PreemptionOverBorrowing", **TRY_NEXT}}, []),
    "a weight that is none": (
        {"fairSharing": {"weight": "1n"}},
        ['spec.fairSharing: Invalid value: "1n": When not 0, weight must be > 10e-9'],
    ),
    "a check for a flavor that is not here": (
        {
            "resourceGroups": [group(flavor())],
            "admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["spot"]}]},
        },
        [f'{CHECKS}: Unsupported value: "spot": supported values: "default"'],
    ),
    "a check for a flavor where there is none": (
        {"admissionChecksStrategy": {"admissionChecks": [{"name": "c", "onFlavors": ["spot"]}]}},
        [f'{CHECKS}: Unsupported value: "spot"'],
    ),
    "a selector that names no values": (
        {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In"}]}},
        [
            "spec.namespaceSelector.matchExpressions[0].values: Required value: "
            "must be specified when `operator` is 'In' or 'NotIn'"
        ],
    ),
    "too many flavors": (
        {"resourceGroups": [group(*({"name": f"f{number}"} for number in range(257)))]},
        [
            "spec.resourceGroups: Invalid value: 257: total number of flavors across all resourceGroups must be ≤ 256, "
            "got 257"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), QUEUES.values(), ids=QUEUES)
def test_a_cluster_queue(spec: Json, expected: list[str]) -> None:
    assert problems("ClusterQueue", **spec) == expected


def test_a_stored_queue_whose_selector_nobody_can_read_is_named() -> None:
    stored = cluster_queue("a", "4", namespaceSelector={"matchLabels": {"team^": "red"}})
    with pytest.raises(InputError, match=r"ClusterQueue a: spec\.namespaceSelector: 'team\^' is not a valid label key"):
        kwhatif.queue([job("train", **{"queue-name": "a"})], snapshot=there(*queues(stored)))


def test_a_cohort_may_lend_more_than_it_has_itself_but_only_to_others() -> None:
    lending = {"resourceGroups": [group(flavor(lendingLimit="9"))]}
    alone = f'{QUOTA}.lendingLimit: Invalid value: "9": must be nil when parent is empty'
    assert problems("Cohort", **lending) == [alone]
    assert problems("Cohort", **lending, parentName="org") == []


def test_taints_of_a_flavor_are_valid_and_each_there_once() -> None:
    spot = {"key": "spot", "value": "no", "effect": "NoSchedule"}
    taints = [{**spot, "value": "yes"}, spot, {**spot, "effect": "NoExecute"}]
    (twice,) = problems("ResourceFlavor", nodeTaints=taints)
    assert twice == (
        'spec.nodeTaints[1]: Duplicate value: {"key":"spot","value":"no","effect":"NoSchedule"}: '
        "taints must be unique by key and effect pair"
    )
    (key,) = problems("ResourceFlavor", tolerations=[{"key": "-", "operator": "Exists"}])
    assert key.startswith('spec.tolerations[0].key: Invalid value: "-": name part must consist of')


def test_labels_of_the_nodes_of_a_flavor_are_labels() -> None:
    key, value = problems("ResourceFlavor", nodeLabels={"@abc": "x", "zone": "@abc"})
    assert key.startswith('spec.nodeLabels: Invalid value: "@abc": name part must consist of')
    assert value.startswith('spec.nodeLabels: Invalid value: "@abc": a valid label must be an empty string or')


TEMPLATE = "spec.podSets[0].template.metadata"
TOPOLOGY = "spec.podSets[0].topologyRequest"


@pytest.mark.parametrize(
    ("pod_set", "annotations", "expected"),
    [
        ({"template": {"metadata": {"labels": {"a": "b c"}}}}, {}, f'{TEMPLATE}.labels: Invalid value: "b c": '),
        (
            {"template": {"metadata": {"annotations": {"a/b/c": "d"}}}},
            {},
            f'{TEMPLATE}.annotations: Invalid value: "a/b',
        ),
        ({"template": {"metadata": {"annotations": {"Capital": "d"}}}}, {}, ""),
        (
            {"topologyRequest": {"podSetSliceRequiredTopology": "rack"}},
            {},
            f"{TOPOLOGY}.podSetSliceSize: Required value: must be set when podSetSliceRequiredTopology is specified",
        ),
        (
            {"topologyRequest": {"podSetSliceSize": 2}},
            {},
            f"{TOPOLOGY}.podSetSliceSize: Forbidden: may not be set when podSetSliceRequiredTopology is not specified",
        ),
        (
            {"topologyRequest": {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 0}]}},
            {},
            f"{TOPOLOGY}.podsetSliceRequiredTopologyConstraints[0].size: Invalid value: 0: must be greater than 0",
        ),
        (
            {"minCount": 1},
            {"elastic-job": "true"},
            "spec.podSets: Invalid value: 1: partial admission and elastic job cannot be used together",
        ),
        (
            {},
            {"admission-gated-by": "mine"},
            "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: ",
        ),
    ],
    ids=[
        *("a label that is none", "an annotation that is none", "capitals in an annotation", "slices of no size"),
        *("a size of no slices", "an empty layer", "an elastic job that shrinks", "a gate without a domain"),
    ],
)
def test_a_workload_that_is_wrong(pod_set: Json, annotations: Json, expected: str) -> None:
    made = kueue("Workload", "a", spec={"podSets": [{"name": "main", "count": 2, **pod_set}]})
    made["metadata"]["annotations"] = {f"kueue.x-k8s.io/{key}": value for key, value in annotations.items()}
    _, problems_of = PROBLEMS[KueueWorkload]
    said = "; ".join(problems_of(convert_object(made, KueueWorkload)))
    assert said.startswith(expected)
    assert bool(said) == bool(expected)


def test_a_workload_asks_for_no_pods_and_shrinks_in_one_pod_set() -> None:
    made = workload("w", "a", "-1")["spec"]["podSets"][0]
    made["template"]["spec"]["containers"][0]["resources"]["limits"] = {"pods": "1"}
    where = "template.spec.containers[0].resources"
    assert problems("Workload", podSets=[{**made, "minCount": 1}, {"name": "b", "count": 2, "minCount": 1}]) == [
        f'spec.podSets[0].{where}.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        f'spec.podSets[0].{where}.limits[pods]: Invalid value: "pods": the key is reserved for internal kueue use',
        "spec.podSets: Invalid value: 2: at most one podSet can use minCount",
    ]


def test_what_is_refused_changes_nothing_and_every_answer_says_so() -> None:
    snapshot = there(*queues(cluster_queue("a", "1")))
    refused = cluster_queue("a", "9")
    refused["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["borrowingLimit"] = "1"
    asked = [refused, job("train", "2", **{"queue-name": "a"})]
    result = kwhatif.queue(asked, snapshot=snapshot)
    assert [each.status for each in result.workloads] == ["pending"]
    assert result.outcome.verdict.endswith("Kueue refuses 1 object of its own.")
    (said,) = result.refusals
    assert said.object == "ClusterQueue a"
    assert said.message.startswith('admission webhook "vclusterqueue.kb.io" denied the request: spec.resourceGroups[0]')
    assert list(kwhatif.place(asked, snapshot=snapshot, assume_empty=True).refusals) == [said]
