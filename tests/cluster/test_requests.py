from __future__ import annotations

from typing import Any

import pytest

from kwhatif.cluster.pod_requests import (
    NON_ZERO,
    amounts,
    is_extended,
    is_scalar,
    non_zero_requests,
    overhead_drift,
    pod_requests,
)
from kwhatif.versions import features_of
from tests.builders import FEATURES, GIB, GPU, MIB, Json, container, features_with, pod


def needs(kind: dict[str, Any], *, with_status: bool = False, **gates: bool) -> dict[str, int]:
    return amounts(pod_requests(pod(**kind), features_with(**gates), with_status=with_status))


def sidecar(**asked: Any) -> Json:
    return container(name="sidecar", restart="Always", **asked)


def first(**asked: Any) -> Json:
    return container(name="first", **asked)


def second(**asked: Any) -> Json:
    return container(name="second", **asked)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"cpu": "500m", "memory": "1Gi"}, {"cpu": 500, "memory": GIB}, id="one container"),
        pytest.param(
            {"containers": [first(cpu="500m"), second(cpu="250m", memory="1Mi")]},
            {"cpu": 750, "memory": MIB},
            id="containers add up",
        ),
        pytest.param({"cpu": "1", "init": [first(cpu="3")]}, {"cpu": 3000}, id="a larger init container"),
        pytest.param({"cpu": "4", "init": [first(cpu="3")]}, {"cpu": 4000}, id="a smaller init container"),
        pytest.param(
            {"cpu": "1", "init": [first(cpu="3"), second(cpu="2")]},
            {"cpu": 3000},
            id="init containers run one by one",
        ),
        pytest.param(
            {"cpu": "1", "memory": "5Mi", "init": [first(cpu="3", memory="2Mi")]},
            {"cpu": 3000, "memory": 5 * MIB},
            id="the largest of each resource",
        ),
        pytest.param(
            {"cpu": "1", "init": [sidecar(cpu="500m")]}, {"cpu": 1500}, id="a sidecar runs beside the containers"
        ),
        pytest.param(
            {"cpu": "1", "init": [sidecar(cpu="1"), first(cpu="3")]},
            {"cpu": 4000},
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            {"cpu": "1", "init": [first(cpu="3"), sidecar(cpu="1")]},
            {"cpu": 3000},
            id="and not beside those after it",
        ),
        pytest.param(
            {"cpu": "1", "init": [sidecar(cpu="1"), first(cpu="3"), sidecar(cpu="2"), second(cpu="2")]},
            {"cpu": 5000},
            id="sidecars pile up",
        ),
        pytest.param({"cpu": "1", "overhead": {"cpu": "250m"}}, {"cpu": 1250}, id="overhead is added"),
        pytest.param(
            {"cpu": "1", "init": [first(cpu="3")], "overhead": {"cpu": "250m", "memory": "1Mi"}},
            {"cpu": 3250, "memory": MIB},
            id="overhead is added to the larger of both",
        ),
        pytest.param(
            {"cpu": "1", "memory": "1Gi", "pod_level": {"cpu": "3"}},
            {"cpu": 3000, "memory": GIB},
            id="the pod's own request stands for that of its containers",
        ),
        pytest.param({"cpu": "3", "pod_level": {"cpu": "1"}}, {"cpu": 1000}, id="even when it is less"),
        pytest.param(
            {"cpu": "1", "pod_level": {"cpu": "3"}, "overhead": {"cpu": "1"}},
            {"cpu": 4000},
            id="overhead comes on top of it",
        ),
        pytest.param(
            {"pod_level": {"hugepages-2Mi": "4Mi", GPU: "2", "ephemeral-storage": "1Gi"}},
            {"hugepages-2Mi": 4 * MIB},
            id="pods ask for cpu, memory and huge pages, and for nothing else",
        ),
        pytest.param({"pod_level": {}, "cpu": "1"}, {"cpu": 1000}, id="a pod that asks for nothing itself"),
        pytest.param({"requests": {"plain": "1"}}, {}, id="what is no resource is left out"),
        pytest.param(
            {"containers": [first(cpu="0.3m"), second(cpu="0.3m")]},
            {"cpu": 1},
            id="fractions are added before they are rounded up",
        ),
        pytest.param({"memory": "100m"}, {"memory": 1}, id="a tenth of a byte is a byte"),
    ],
)
def test_what_a_pod_asks_for(kind: dict[str, Any], expected: dict[str, int]) -> None:
    assert needs(kind) == expected


def test_without_the_feature_gate_pods_ask_for_nothing_themselves() -> None:
    assert needs({"cpu": "1", "pod_level": {"cpu": "3"}}, pod_level_resources=False) == {"cpu": 1000}


# --- resizes


def status(
    *, actual: Json | None = None, allocated: Json | None = None, name: str = "main", reason: str | None = None
) -> Json:
    """A container's status in the middle of a resize."""
    found: Json = {"name": name, "resources": {"requests": actual}, "allocatedResources": allocated}
    result: Json = {"containerStatuses": [found]}
    if reason is not None:
        result["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return result


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param({}, 1000, id="no status"),
        pytest.param(status(actual={"cpu": "2"}), 2000, id="what is in force"),
        pytest.param(status(allocated={"cpu": "3"}), 3000, id="what was promised"),
        pytest.param(status(actual={"cpu": "2"}, allocated={"cpu": "3"}), 3000, id="the most of all"),
        pytest.param(status(actual={"cpu": "500m"}), 1000, id="what is asked for"),
        pytest.param(status(actual={"cpu": "2"}, name="other"), 1000, id="another container's status"),
        pytest.param(
            {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "3"}}]},
            1000,
            id="a status without resources is none",
        ),
        pytest.param(
            status(actual={"cpu": "500m"}, allocated={"cpu": "600m"}, reason="Infeasible"),
            600,
            id="a wish that cannot be met does not count",
        ),
        pytest.param(status(actual={"cpu": "500m"}, reason="Deferred"), 1000, id="one that has to wait does count"),
    ],
)
def test_resizes_count_for_pods_that_run(state: Json, expected: int) -> None:
    kind = {"cpu": "1", "status": state}
    assert needs(kind, with_status=True) == {"cpu": expected}
    assert needs(kind) == {"cpu": 1000}
    assert needs(kind, with_status=True, in_place_pod_vertical_scaling=False) == {"cpu": 1000}


def test_sidecars_are_resized_and_other_init_containers_are_not() -> None:
    state = {
        "initContainerStatuses": [
            {"name": "sidecar", "resources": {"requests": {"cpu": "2"}}},
            {"name": "first", "resources": {"requests": {"cpu": "9"}}},
        ]
    }
    kind = {"cpu": "1", "init": [sidecar(cpu="1"), first(cpu="1")], "status": state}
    assert needs(kind, with_status=True) == {"cpu": 3000}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param({}, {"cpu": 2000}, id="no status"),
        pytest.param({"resources": {"requests": {"cpu": "3"}}}, {"cpu": 3000}, id="what is in force"),
        pytest.param({"resources": {}, "allocatedResources": {"cpu": "4"}}, {"cpu": 4000}, id="what was promised"),
        pytest.param({"allocatedResources": {"cpu": "4"}}, {"cpu": 2000}, id="a promise without resources is none"),
        pytest.param(
            {
                "resources": {"requests": {"cpu": "1"}},
                "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}],
            },
            {"cpu": 1000},
            id="a wish that cannot be met does not count",
        ),
        pytest.param(
            {"resources": {}, "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]},
            {"cpu": 0},
            id="and leaves nothing where nothing is in force",
        ),
    ],
)
def test_the_pods_own_request_is_resized(state: Json, expected: dict[str, int]) -> None:
    kind = {"cpu": "500m", "pod_level": {"cpu": "2"}, "status": state}
    assert needs(kind, with_status=True) == expected
    gate_off = needs(kind, with_status=True, in_place_pod_level_resources_vertical_scaling=False)
    assert gate_off == {"cpu": 2000}


# --- defaults for what containers leave out

DEFAULT_MEMORY = 200 * MIB


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        pytest.param({}, (100, DEFAULT_MEMORY), id="a container that asks for nothing"),
        pytest.param({"cpu": "1"}, (1000, DEFAULT_MEMORY), id="one that asks for cpu"),
        pytest.param({"memory": "1Mi"}, (100, MIB), id="one that asks for memory"),
        pytest.param({"cpu": "0", "memory": "0"}, (0, 0), id="zero is an answer"),
        pytest.param({"containers": [first(), second()]}, (200, 2 * DEFAULT_MEMORY), id="two that ask for nothing"),
        pytest.param({"init": [first()]}, (100, DEFAULT_MEMORY), id="an init container beside nobody"),
        pytest.param({"init": [sidecar()]}, (200, 2 * DEFAULT_MEMORY), id="a sidecar"),
        pytest.param({"overhead": {"cpu": "50m"}}, (150, DEFAULT_MEMORY), id="overhead comes on top"),
        pytest.param(
            {"pod_level": {"cpu": "2"}}, (2000, DEFAULT_MEMORY), id="where the pod asks for cpu, memory is missing"
        ),
        pytest.param(
            {"pod_level": {"cpu": "2", "memory": "1Gi"}}, (2000, GIB), id="where it asks for both, nothing is"
        ),
        pytest.param(
            {"containers": [first(memory="5Mi"), second()], "pod_level": {"cpu": "2"}},
            (2000, 5 * MIB),
            id="where one container asks for memory, the other gets no default",
        ),
    ],
)
def test_defaults_keep_quiet_pods_from_piling_up(kind: dict[str, Any], expected: tuple[int, int]) -> None:
    assert non_zero_requests(pod(**kind), FEATURES) == expected


def test_what_stands_in_for_missing_requests_can_be_chosen() -> None:
    found = pod_requests(pod(cpu="1"), FEATURES, with_status=False, pod_level=False, missing=NON_ZERO)
    assert amounts(found) == {"cpu": 1000, "memory": DEFAULT_MEMORY}


# --- earlier minors


@pytest.mark.parametrize(
    ("minor", "resize", "expected"),
    [
        pytest.param("1.31", "InProgress", 3000, id="the most of asked and allocated"),
        pytest.param("1.31", "Infeasible", 3000, id="allocated alone"),
        pytest.param("1.32", "InProgress", 2000, id="the most of asked and in force"),
        pytest.param("1.32", "Infeasible", 1500, id="in force alone"),
        pytest.param("1.33", "Infeasible", 3000, id="the field no longer counts"),
    ],
)
def test_what_counted_of_a_resize(minor: str, resize: str, expected: int) -> None:
    in_force = "1500m" if resize == "Infeasible" else "2"
    state = {**status(actual={"cpu": in_force}, allocated={"cpu": "3"}), "resize": resize}
    asked = pod(cpu="2" if resize == "Infeasible" else "1", status=state)
    found = pod_requests(asked, features_of(minor, {"InPlacePodVerticalScaling": True}), with_status=True)
    assert amounts(found) == {"cpu": expected}


@pytest.mark.parametrize(("minor", "expected"), [("1.32", 1000), ("1.33", 2000)])
def test_sidecars_could_not_be_resized(minor: str, expected: int) -> None:
    state = {"initContainerStatuses": [{"name": "sidecar", "resources": {"requests": {"cpu": "2"}}}]}
    features = features_of(minor, {"InPlacePodVerticalScaling": True})
    found = pod_requests(pod(init=[sidecar(cpu="1")], status=state), features, with_status=True)
    assert amounts(found) == {"cpu": expected}


@pytest.mark.parametrize(("minor", "expected"), [("1.32", {}), ("1.33", {"hugepages-2Mi": 4 * MIB})])
def test_pods_could_not_ask_for_huge_pages_themselves(minor: str, expected: dict[str, int]) -> None:
    features = features_of(minor, {"PodLevelResources": True})
    assert amounts(pod_requests(pod(pod_level={"hugepages-2Mi": "4Mi"}), features, with_status=False)) == expected


@pytest.mark.parametrize(
    ("kind", "before", "since"),
    [
        pytest.param(
            {"cpu": "1", "memory": "1Mi", "init": [sidecar(cpu="500m", memory="1Mi")]}, 1000, 1500, id="beside"
        ),
        pytest.param({"cpu": "1", "init": [sidecar(cpu="1"), first(cpu="3")]}, 4000, 4000, id="while starting"),
        pytest.param({"containers": [first(cpu="0.3m"), second(cpu="0.3m")]}, 2, 1, id="rounding"),
        pytest.param({"overhead": {"cpu": "1"}}, 1100, 1100, id="overhead"),
        pytest.param({"cpu": "0"}, 0, 0, id="to ask for nothing is not the same as not to ask"),
    ],
)
def test_sidecars_in_requests_that_are_never_zero(kind: dict[str, Any], before: int, since: int) -> None:
    found = [non_zero_requests(pod(**kind), features_of(minor))[0] for minor in ("1.31", "1.32")]
    assert found == [before, since]


# --- drift


@pytest.mark.parametrize(
    ("kind", "drift"),
    [
        pytest.param({"memory": "1.5Gi", "overhead": {"memory": "1Mi"}}, {}, id="containers' requests stay"),
        pytest.param(
            {"pod_level": {"memory": "1.5Gi"}, "overhead": {"memory": "1Mi", "cpu": "1"}},
            {"memory": MIB},
            id="a big decimal grows by the overhead",
        ),
        pytest.param({"pod_level": {"memory": "1Gi"}, "overhead": {"memory": "1Mi"}}, {}, id="a small number does not"),
        pytest.param({"pod_level": {"memory": "1.5Gi"}}, {}, id="nor does one without overhead"),
    ],
)
def test_drift(kind: dict[str, Any], drift: dict[str, int]) -> None:
    assert overhead_drift(pod(**kind), FEATURES) == drift


# --- names


@pytest.mark.parametrize(
    ("name", "extended", "scalar"),
    [
        ("cpu", False, False),
        ("memory", False, False),
        ("pods", False, False),
        ("example.com/gpu", True, True),
        ("hugepages-2Mi", False, True),
        ("kubernetes.io/batch", False, True),
        ("sub.kubernetes.io/x", False, True),
        ("requests.example.com/gpu", False, False),
        ("attachable-volumes-aws-ebs", False, True),
        ("example.com/", False, False),
        ("example.com/a/b", False, False),
        (f"example.com/{'x' * 63}", True, True),
        (f"example.com/{'x' * 64}", False, False),
        ("Example.com/gpu", False, False),
        ("example.com/-gpu", False, False),
    ],
)
def test_which_names_are_counted(name: str, extended: bool, scalar: bool) -> None:
    assert is_extended(name) is extended
    assert is_scalar(name) is scalar
