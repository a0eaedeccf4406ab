"""A user's plugin that derives from one of scheduler-plugins."""

from __future__ import annotations

import pytest

from kwhatif.errors import PolicyError
from kwhatif.plugins.outoftree.node_resources_allocatable import NodeResourcesAllocatable
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup
from kwhatif.versions import features_of
from tests.builders import Json, cluster_of, node, pod


class RoomyNodes(NodeResourcesAllocatable):
    name = "RoomyNodes"


def driver_of(args: object) -> Driver:
    """A scheduler that scores by RoomyNodes alone, over a small node and a large one."""
    features = features_of("1.35")
    profile: Json = {
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"enabled": [{"name": "RoomyNodes"}], "disabled": [{"name": "*"}]}},
        "pluginConfig": [{"name": "RoomyNodes", "args": args}] if args is not None else [],
    }
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    configuration = load_configuration({**kind, "profiles": [profile]}, source="", features=features)
    setup = Setup(configuration, features, {"RoomyNodes": RoomyNodes})
    return Driver(cluster_of([node("large", cpu="64"), node("small", cpu="2")]), setup)


@pytest.mark.parametrize(
    ("args", "best"),
    [
        pytest.param(None, "small", id="without arguments its defaults are those of what it derives from"),
        pytest.param({"mode": "Most"}, "large", id="its arguments are decoded"),
        pytest.param({"resources": [{"name": "cpu", "weight": 1}]}, "small", id="and completed"),
    ],
)
def test_a_derived_plugin_scores_by_its_arguments(args: object, best: str) -> None:
    driver = driver_of(args)
    (attempt,) = driver.schedule_with_preemption(driver.cluster.shapes.info(pod("p")))
    assert attempt.row is not None
    assert driver.cluster.columns.names[attempt.row] == best


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        pytest.param(
            {"mode": "Some"},
            'initializing plugin "RoomyNodes": mode: Invalid value: "Some": invalid support ModeType',
            id="a value that the plugin refuses",
        ),
        pytest.param({"mood": "Most"}, 'strict decoding error: unknown field "mood"', id="a field that is not there"),
        pytest.param([1], "expected an object, found array", id="arguments that are no object"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_plugin_named(args: object, reason: str) -> None:
    with pytest.raises(PolicyError) as caught:
        driver_of(args).set_up_all()
    assert reason in str(caught.value)
    assert "RoomyNodes" in str(caught.value)
