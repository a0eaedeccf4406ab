"""How many replicas HorizontalPodAutoscalers and ScaledObjects leave a workload with."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.admission.object_store import ObjectStore
from kwhatif.errors import InputError, UsageError
from kwhatif.workloads.pod_autoscalers import parse_scale, pod_autoscaler_of, pod_autoscalers_of
from tests.builders import Json


def hpa(name: str = "web", owner: str = "", api: str = "autoscaling/v2", **spec: Any) -> Json:
    target = spec.pop("target", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
    owners = [{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": owner, "controller": True}]
    metadata = {"name": name, "namespace": "shop", **({"ownerReferences": owners} if owner else {})}
    body = {"scaleTargetRef": target, "maxReplicas": 10, **spec}
    return {"apiVersion": api, "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": body}


def scaled_object(name: str = "web", annotations: dict[str, str] | None = None, **spec: Any) -> Json:
    metadata: Json = {"name": name, "namespace": "shop", "annotations": annotations or {}}
    body = {"scaleTargetRef": {"name": "web"}, **spec}
    return {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": metadata, "spec": body}


PAUSED = "autoscaling.keda.sh/paused"


@pytest.mark.parametrize(
    ("obj", "running", "replicas"),
    [
        pytest.param(hpa(minReplicas=3), 1, 3, id="fewer than the lower bound become it"),
        pytest.param(hpa(minReplicas=3), 7, 7, id="what runs within the bounds stays"),
        pytest.param(hpa(minReplicas=3), 12, 10, id="more than the upper bound become it"),
        pytest.param(hpa(), 1, 1, id="without a lower bound it is one"),
        pytest.param(hpa(minReplicas=3), 0, 0, id="what was set to zero is not scaled"),
        pytest.param(hpa(minReplicas=3, api="autoscaling/v1"), 1, 3, id="autoscaling/v1 means the same"),
        pytest.param(scaled_object(), 0, 0, id="KEDA leaves what is idle at zero"),
        pytest.param(scaled_object(), 101, 100, id="KEDA scales to a hundred unless told otherwise"),
        pytest.param(scaled_object(minReplicaCount=2), 0, 2, id="KEDA has the lower bound run"),
        pytest.param(scaled_object(minReplicaCount=2, idleReplicaCount=0), 0, 0, id="or what is said to be idle"),
        pytest.param(scaled_object(annotations={f"{PAUSED}-replicas": "4"}), 1, 4, id="paused at a number"),
    ],
)
def test_replicas_under_the_load_of_today(obj: Json, running: int, replicas: int) -> None:
    found = pod_autoscaler_of(obj)
    assert found is not None
    assert found.replicas(running) == replicas


@pytest.mark.parametrize(
    ("obj", "text", "replicas"),
    [
        pytest.param(hpa(minReplicas=3), "max", 10, id="the upper bound"),
        pytest.param(hpa(minReplicas=3), "min", 3, id="the lower bound"),
        pytest.param(hpa(minReplicas=3), "50%", 7, id="half of the way, rounded up"),
        pytest.param(scaled_object(maxReplicaCount=4), "max", 4, id="KEDA's upper bound"),
        pytest.param(scaled_object(maxReplicaCount=4), "min", 0, id="KEDA's lower bound"),
    ],
)
def test_replicas_between_the_bounds(obj: Json, text: str, replicas: int) -> None:
    found, position = pod_autoscaler_of(obj), parse_scale(text)
    assert found is not None
    assert isinstance(position, int)
    assert found.replicas_at(position, 5) == replicas


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 100), st.integers(0, 200))
def test_replicas_never_leave_the_bounds(least: int, more: int, percent: int, running: int) -> None:
    found = pod_autoscaler_of(hpa(minReplicas=least, maxReplicas=least + more))
    assert found is not None
    if running:
        assert least <= found.replicas(running) <= least + more
        assert found.replicas(found.replicas(running)) == found.replicas(running)
        assert least <= found.replicas_at(percent, running) <= least + more


def test_a_paused_object_scales_nothing_and_nor_does_one_without_a_target() -> None:
    assert pod_autoscaler_of(scaled_object(annotations={PAUSED: "true"})) is None
    assert pod_autoscaler_of(hpa(target={})) is None


def test_what_keda_made_counts_as_its_scaled_object() -> None:
    made = hpa("keda-hpa-web", owner="web", minReplicas=1)
    web = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}
    assert [each.kind for each in pod_autoscalers_of(web, ObjectStore([made, scaled_object()]))] == ["ScaledObject"]
    assert [each.name for each in pod_autoscalers_of(web, ObjectStore([made]))] == ["keda-hpa-web"]
    other = {**web, "metadata": {"name": "other", "namespace": "shop"}}
    assert pod_autoscalers_of(other, ObjectStore([made])) == []


def test_bounds_that_are_no_numbers_are_named() -> None:
    with pytest.raises(InputError, match=r"\$.spec.minReplicaCount: .* for ScaledObject shop/web, found \"two\""):
        pod_autoscaler_of(scaled_object(minReplicaCount="two"))


@pytest.mark.parametrize("text", ["5", "101%", "-1%", "most", "%"])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected min, max or a percentage"):
        parse_scale(text)
