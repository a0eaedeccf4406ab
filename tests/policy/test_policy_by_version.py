"""What kube-scheduler of one minor takes and that of another refuses."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif.policy import examine
from kwhatif.versions import features_of

GROUP = "kubescheduler.config.k8s.io"
SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]


def problems(minor: str, profile: dict[str, Any], **gates: bool) -> str:
    document = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "a", **profile}],
    }
    return "\n".join(examine(document, features=features_of(minor, gates)).problems)


def enabled(point: str, name: str) -> dict[str, Any]:
    return {"plugins": {point: {"enabled": [{"name": name}]}}}


def arguments(name: str, **values: Any) -> dict[str, Any]:
    return {"pluginConfig": [{"name": name, "args": values}]}


def unknown(field: str) -> str:
    return f'unknown field "{field}"'


@pytest.mark.parametrize(
    ("minor", "profile", "problem"),
    [
        ("1.35", enabled("placementGenerate", "Own"), unknown("profiles[0].plugins.placementGenerate")),
        ("1.36", enabled("placementGenerate", "Own"), ""),
        ("1.30", enabled("filter", "EBSLimits"), ""),
        ("1.31", enabled("filter", "EBSLimits"), f'"EBSLimits": was invalid in version "{GROUP}/v1"'),
        ("1.33", arguments("DynamicResources", bindingTimeout="10s"), ""),
        ("1.34", arguments("DynamicResources", bindingTimeout="10s"), unknown("bindingTimeout")),
        (
            "1.35",
            arguments("DynamicResources", bindingTimeout="10s"),
            "Forbidden: DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled",
        ),
        ("1.36", arguments("DynamicResources", bindingTimeout="10s"), ""),
        (
            "1.35",
            arguments("NodeResourcesFit", scoringStrategy={"type": "RequestedToCapacityRatio"}),
            "it panics without a requestedToCapacityRatio",
        ),
        (
            "1.36",
            arguments("NodeResourcesFit", scoringStrategy={"type": "RequestedToCapacityRatio"}),
            "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is "
            "RequestedToCapacityRatio",
        ),
        ("1.32", arguments("VolumeBinding", shape=SHAPE), "turn on the feature gate VolumeCapacityPriority"),
        ("1.33", arguments("VolumeBinding", shape=SHAPE), "turn on the feature gate StorageCapacityScoring"),
    ],
)
def test_what_changed(minor: str, profile: dict[str, Any], problem: str) -> None:
    found = problems(minor, profile)
    assert problem in found
    assert bool(found) == bool(problem)


@pytest.mark.parametrize(("minor", "gate"), [("1.32", "VolumeCapacityPriority"), ("1.33", "StorageCapacityScoring")])
def test_a_shape_for_volumes_needs_its_gate(minor: str, gate: str) -> None:
    assert not problems(minor, arguments("VolumeBinding", shape=SHAPE), **{gate: True})
