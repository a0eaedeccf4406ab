"""Scale-down: which nodes are unneeded, and what keeps the others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.meta import Resource
from kwhatif.autoscaling.cluster_autoscaler.planner import ScaleDown
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import StaticAutoscaler
from kwhatif.golang.parsing import SECOND
from tests.autoscaling.worlds import group, ready_node, world
from tests.builders import budget, pod, replica_set

OWNER = ("apps/v1", "ReplicaSet", "web")
WEB = replica_set("web", {"matchLabels": {"app": "web"}})


def worker(**more: Any) -> Pod:
    return pod("w", on="n0", labels={"app": "web"}, **{"owner": OWNER, "cpu": "100m", **more})


def scaled_down(
    *running: Pod, objects: tuple[Resource, ...] = (WEB,), flags: dict[str, Any] | None = None, after: int = 601
) -> list[ScaleDown]:
    """Two loops, so many seconds apart, of a cluster with two nodes of one group."""
    nodes = [ready_node("n0"), ready_node("n1")]
    seen = world(nodes, [group("g", nodes, least=1)], running=running, objects=objects, flags=flags)
    autoscaler = StaticAutoscaler()
    later = replace(seen, now=seen.now + after * SECOND)
    return [autoscaler.loop(each, up=False, down=True).scale_down for each in (seen, later)]


def annotated(found: Pod, **annotations: str) -> Pod:
    names = {f"cluster-autoscaler.kubernetes.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, annotations=names))


BLOCKED: list[tuple[str, Pod, dict[str, Any]]] = [
    ("NotReplicated", worker(owner=None), {}),
    ("NotReplicated", worker(owner=("example.com/v1", "Own", "web")), {}),
    ("ControllerNotFound", worker(owner=("apps/v1", "ReplicaSet", "gone")), {}),
    ("MinReplicasReached", worker(), {"flags": {"min-replica-count": 2}}),
    ("LocalStorageRequested", worker(spec={"volumes": [{"name": "v", "emptyDir": {}}]}), {}),
    ("LocalStorageRequested", worker(spec={"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}), {}),
    ("NotSafeToEvictAnnotation", annotated(worker(), safe_to_evict="false"), {}),
    ("UnmovableKubeSystemPod", worker(namespace="kube-system"), {}),
    ("NotEnoughPdb", worker(), {"objects": (budget("b", {"matchLabels": {"app": "web"}}),)}),
]


@pytest.mark.parametrize(("reason", "running", "more"), BLOCKED, ids=[f"{n}-{row[0]}" for n, row in enumerate(BLOCKED)])
def test_a_pod_keeps_its_node(reason: str, running: Pod, more: dict[str, Any]) -> None:
    few = replica_set("web", {"matchLabels": {"app": "web"}}, running.namespace)
    few = msgspec.structs.replace(few, spec=msgspec.structs.replace(few.spec, replicas=1))
    first, _ = scaled_down(running, objects=(few, *more.get("objects", ())), flags=more.get("flags"))
    why = first.unremovable["n0"]
    assert (why.reason, why.pod, why.pod_reason) == ("BlockedByPod", running.key, reason)


MOVABLE = [
    worker(),
    annotated(worker(owner=None), safe_to_evict="true"),
    worker(spec={"volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]}),
    annotated(worker(spec={"volumes": [{"name": "v", "emptyDir": {}}]}), safe_to_evict_local_volumes="a,v"),
]


@pytest.mark.parametrize("running", MOVABLE, ids=["replicated", "safe to evict", "in memory", "spared volume"])
def test_a_pod_that_may_be_moved_goes_to_another_node(running: Pod) -> None:
    first, second = scaled_down(running)
    assert "n1" in first.unneeded, "the empty node is the first to go"
    assert second.removable == (["n1"], [])


@pytest.mark.parametrize(
    ("after", "reason", "deleted"),
    [(599, "NotUnneededLongEnough", ([], [])), (600, "NotUnneededLongEnough", ([], [])), (601, None, (["n1"], []))],
)
def test_a_node_goes_when_it_was_unneeded_for_longer_than_its_time(
    after: int, reason: str | None, deleted: Any
) -> None:
    _, second = scaled_down(worker(), after=after)
    assert second.deleted == deleted
    assert (second.unremovable["n1"].reason if "n1" in second.unremovable else None) == reason


def test_a_group_keeps_its_least_number_of_nodes() -> None:
    _, second = scaled_down()
    assert second.removable == (["n0"], [])
    assert second.unremovable["n1"].reason == "NodeGroupMinSizeReached"


def test_a_node_that_is_used_enough_stays() -> None:
    first, _ = scaled_down(worker(cpu="2500m"))
    assert first.unremovable["n0"].reason == "NotUnderutilized"
    assert first.utilization["n0"].share == 0.625


def test_a_pod_that_fits_nowhere_keeps_its_node_and_is_not_tried_again_soon() -> None:
    alone = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    other = pod("other", on="n1", cpu="100m", labels={"app": "web"}, far=[alone], owner=OWNER)
    first, second = scaled_down(worker(far=[alone]), other, after=60)
    assert {why.reason for why in first.unremovable.values()} == {"NoPlaceToMovePods"}
    assert {why.reason for why in second.unremovable.values()} == {"RecentlyUnremovable"}
