"""Every message of upstream's validation of plugin arguments, each from a file that earns it."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.golang.field_validation import ROOT
from kwhatif.golang.parsing import Duration
from kwhatif.plugins.dynamic_resources import DynamicResources, DynamicResourcesArgs
from kwhatif.plugins.volume_binding import VolumeBinding, VolumeBindingArgs
from kwhatif.policy import examine
from kwhatif.versions import features_of

GROUP = "kubescheduler.config.k8s.io"
NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def problems(**fields: Any) -> list[str]:
    document = {"apiVersion": f"{GROUP}/v1", "kind": "KubeSchedulerConfiguration", **fields}
    return list(examine(document).problems)


def spread(*constraints: dict[str, Any], kind: str = "List") -> dict[str, Any]:
    good = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"defaultingType": kind, "defaultConstraints": [{**good, **given} for given in constraints]}


def required(expressions: Any = (), fields: Any = ()) -> dict[str, Any]:
    term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}, term]}}}


TERM = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1]"
OPERATORS = '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'

ARGUMENTS: list[tuple[str, dict[str, Any], str]] = [
    (
        "DefaultPreemption",
        {"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1},
        "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]\n"
        "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
    ),
    (
        "DefaultPreemption",
        {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
        "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as "
        "minCandidateNodesAbsolute\n"
        "minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as "
        "minCandidateNodesPercentage",
    ),
    (
        "InterPodAffinity",
        {"hardPodAffinityWeight": 120},
        "hardPodAffinityWeight: Invalid value: 120: not in valid range [0, 100]",
    ),
    ("InterPodAffinity", {"hardPodAffinityWeight": 0}, ""),
    (
        "NodeResourcesBalancedAllocation",
        {"resources": [{"name": "cpu"}, {"name": "memory", "weight": 2}, {"name": "cpu"}]},
        'resources[1].weight: Invalid value: 2: must be 1\nresources[2].name: Duplicate value: "cpu"',
    ),
    (
        "PodTopologySpread",
        {"defaultingType": "none"},
        'defaultingType: Unsupported value: "none": supported values: "System", "List"',
    ),
    (
        "PodTopologySpread",
        spread({}, kind="System"),
        'defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
    ),
    ("PodTopologySpread", spread({}, {"topologyKey": "host"}), ""),
    (
        "PodTopologySpread",
        spread({"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "", "labelSelector": {}}),
        "defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)\n"
        "defaultConstraints[0].topologyKey: Required value: can not be empty\n"
        "defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty\n"
        "defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they "
        "deduced "
        "for each pod",
    ),
    (
        "PodTopologySpread",
        spread({"whenUnsatisfiable": "Perhaps", "topologyKey": "a b"}),
        f'defaultConstraints[0].topologyKey: Invalid value: "a b": name part {NAME_RULE}\n'
        'defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Perhaps": supported values: '
        '"DoNotSchedule", "ScheduleAnyway"',
    ),
    (
        "PodTopologySpread",
        spread({}, {"maxSkew": 2}),
        'defaultConstraints[1]: Duplicate value: "{zone, DoNotSchedule}"',
    ),
    (
        "VolumeBinding",
        {"bindTimeoutSeconds": -10},
        "bindTimeoutSeconds: Invalid value: -10: invalid BindTimeoutSeconds, should not be a negative value",
    ),
    (
        "VolumeBinding",
        {"shape": [{"utilization": 1, "score": 2}]},
        'shape: Invalid value: [{"Utilization":1,"Score":2}]: unexpected field `shape`, remove it or turn '
        "on the "
        "feature gate StorageCapacityScoring",
    ),
    (
        "VolumeBinding",
        {"shape": []},
        "shape: Invalid value: []: unexpected field `shape`, remove it or turn on the feature gate "
        "StorageCapacityScoring",
    ),
    (
        "DynamicResources",
        {"filterTimeout": "-1s"},
        'filterTimeout: Invalid value: "-1s": must be zero or positive',
    ),
    ("DynamicResources", {"filterTimeout": "0s"}, ""),
    (
        "DynamicResources",
        {"bindingTimeout": "999ms"},
        'bindingTimeout: Invalid value: "999ms": must be at least 1 second',
    ),
    (
        "NodeAffinity",
        required([{"key": "a", "operator": "Near", "values": ["b"]}]),
        f'{TERM}.matchExpressions[0].operator: Unsupported value: "Near": supported values: {OPERATORS}',
    ),
    (
        "NodeAffinity",
        required([{"key": "a", "operator": "In"}, {"key": "a", "operator": "NotIn", "values": []}]),
        f"{TERM}.matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values set "
        f"can't be "
        "empty\n"
        f"{TERM}.matchExpressions[1].values: Invalid value: []: for 'in', 'notin' operators, values set "
        f"can't be "
        "empty",
    ),
    (
        "NodeAffinity",
        required([{"key": "a", "operator": "Exists", "values": ["b"]}]),
        f'{TERM}.matchExpressions[0].values: Invalid value: ["b"]: values set must be empty for exists and '
        f"does "
        "not exist",
    ),
    (
        "NodeAffinity",
        required([{"key": "a", "operator": "Gt", "values": ["1", "x"]}]),
        f"{TERM}.matchExpressions[0].values: Invalid value: [\"1\",\"x\"]: for 'Gt', 'Lt' operators, "
        f"exactly one "
        "value is required\n"
        f"{TERM}.matchExpressions[0].values[1]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value "
        f"must be "
        "an integer",
    ),
    (
        "NodeAffinity",
        required([{"key": "a", "operator": "Lt", "values": [str(2**63)]}]),
        f"{TERM}.matchExpressions[0].values[0]: Invalid value: \"9223372036854775808\": for 'Gt', 'Lt' "
        "operators, the value must be an integer",
    ),
    ("NodeAffinity", required([{"key": "a", "operator": "Lt", "values": ["5"]}]), ""),
    (
        "NodeAffinity",
        required([{"key": "a/", "operator": "In", "values": ["b c"]}]),
        f'{TERM}.matchExpressions[0].key: Invalid value: "a/": name part must be non-empty; name part '
        f"{NAME_RULE}\n"
        f'{TERM}.matchExpressions[0].values[0][a/]: Invalid value: "b c": {VALUE_RULE}',
    ),
    (
        "NodeAffinity",
        required(
            fields=[
                {"key": "metadata.name", "operator": "Exists"},
                {"key": "metadata.name", "operator": "In", "values": ["a", "b"]},
            ]
        ),
        f'{TERM}.matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"\n'
        f'{TERM}.matchFields[1].values: Invalid value: ["a","b"]: must have one element',
    ),
    (
        "NodeAffinity",
        {
            "addedAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 0, "preference": {"matchExpressions": [{"operator": "Near"}]}},
                    {"weight": 1, "preference": {"matchExpressions": [{"operator": "Near"}]}},
                ]
            }
        },
        "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].matchExpressions[0].operator: "
        f'Unsupported value: "Near": supported values: {OPERATORS}',
    ),
]


@pytest.mark.parametrize(("plugin", "args", "problem"), ARGUMENTS)
def test_arguments_are_validated(plugin: str, args: dict[str, Any], problem: str) -> None:
    config = [{"name": "Other", "args": {}}, {"name": plugin, "args": args}]
    prefix = "profiles[0].pluginConfig[1].args."
    expected = [prefix + line for line in problem.split("\n") if line]
    assert problems(profiles=[{"pluginConfig": config}]) == expected


def test_arguments_are_validated_even_where_the_plugin_is_disabled() -> None:
    profile = {
        "plugins": {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}},
        "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": -1}}],
    }
    assert len(problems(profiles=[profile])) == 1


# --- what depends on feature gates


GATES = {"StorageCapacityScoring": True, "DRASchedulerFilterTimeout": False, "DRADeviceBindingConditions": False}
FEATURES = features_of(gates=GATES)


def test_timeouts_are_forbidden_where_their_gate_is_off() -> None:
    given = DynamicResourcesArgs(filter_timeout=Duration(1), binding_timeout=Duration(1))
    assert list(DynamicResources.problems(ROOT.child("args"), given, FEATURES)) == [
        "args.filterTimeout: Forbidden: DRASchedulingFilterTimeout feature gate is disabled",
        "args.bindingTimeout: Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature "
        "gate "
        "is disabled",
    ]


def test_the_shape_for_volumes_is_looked_at_where_its_gate_is_on() -> None:
    given = VolumeBindingArgs(shape=None)
    assert list(VolumeBinding.problems(ROOT.child("args"), given, FEATURES)) == [
        "args.shape: Required value: at least one point must be specified"
    ]


# --- NodeResourcesFit: upstream's validation misses it, the plugin itself refuses when it starts


def fit(problem: str, scheduler: str = "default-scheduler") -> str:
    start = f"initializing profiles: creating profile for scheduler name {scheduler}"
    return f'{start}: initializing plugin "NodeResourcesFit": {problem}'


def strategy(kind: str, **fields: Any) -> dict[str, Any]:
    return {"scoringStrategy": {"type": kind, **fields}}


def ratio(*points: tuple[int, int]) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return strategy("RequestedToCapacityRatio", requestedToCapacityRatio={"shape": shape})


SHAPE = "scoringStrategy.requestedToCapacityRatio.shape"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            {"ignoredResources": ["a b"]},
            f'ignoredResources[0]: Invalid value: "a b": name part {NAME_RULE}',
        ),
        (
            {"ignoredResourceGroups": ["example.com/gpu"]},
            "ignoredResourceGroups[0]: Invalid value: \"example.com/gpu\": resource group name can't contain '/'",
        ),
        (
            {"ignoredResourceGroups": ["-"]},
            f'ignoredResourceGroups[0]: Invalid value: "-": name part {NAME_RULE}',
        ),
        (
            strategy("Best"),
            'scoringStrategy.type: Unsupported value: "Best": supported values: "LeastAllocated", '
            '"MostAllocated", '
            '"RequestedToCapacityRatio"',
        ),
        (
            {"scoringStrategy": {"resources": []}},
            'scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", '
            '"MostAllocated", '
            '"RequestedToCapacityRatio"',
        ),
        (
            strategy("LeastAllocated", resources=[{"name": "cpu", "weight": -1}, {"name": "x", "weight": 101}]),
            "[scoringStrategy.resources[0].weight: Invalid value: -1: resource weight of cpu not in valid "
            "range "
            "(0, 100], scoringStrategy.resources[1].weight: Invalid value: 101: resource weight of x not in "
            "valid "
            "range (0, 100]]",
        ),
        (
            strategy("RequestedToCapacityRatio"),
            "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
            "RequestedToCapacityRatio",
        ),
        (
            strategy("MostAllocated", requestedToCapacityRatio={}),
            "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not "
            "RequestedToCapacityRatio",
        ),
        (ratio(), f"{SHAPE}: Required value: at least one point must be specified"),
        (
            ratio((0, 1), (5, 2), (3, 3), (1, 4)),
            f"{SHAPE}[2].utilization: Invalid value: 3: values must be sorted in increasing order",
        ),
        (
            ratio((5, 1), (5, 2)),
            f"{SHAPE}[1].utilization: Invalid value: 5: values must be sorted in increasing order",
        ),
        (
            ratio((-1, 11), (101, -1)),
            f"[{SHAPE}[0].utilization: Invalid value: -1: not in valid range [0, 100], "
            f"{SHAPE}[0].score: Invalid value: 11: not in valid range [0, 10], "
            f"{SHAPE}[1].utilization: Invalid value: 101: not in valid range [0, 100], "
            f"{SHAPE}[1].score: Invalid value: -1: not in valid range [0, 10]]",
        ),
    ],
)
def test_the_arguments_of_noderesourcesfit(args: dict[str, Any], problem: str) -> None:
    config = [{"name": "NodeResourcesFit", "args": args}]
    assert problems(profiles=[{"pluginConfig": config}]) == [fit(problem)]


def test_noderesourcesfit_may_have_any_arguments_where_it_does_not_start() -> None:
    profile = {
        "plugins": {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}},
        "pluginConfig": [{"name": "NodeResourcesFit", "args": strategy("Best")}],
    }
    assert problems(profiles=[profile]) == []


def test_noderesourcesfit_is_not_reached_when_validation_fails() -> None:
    config = [{"name": "NodeResourcesFit", "args": ratio()}]
    assert problems(parallelism=0, profiles=[{"pluginConfig": config}]) == [
        "parallelism: Invalid value: 0: should be an integer value greater than zero"
    ]
