"""What counts of the pods that are there: bound but not running, on their way out, over, waiting, nominated, gated.

Upstream: the scheduler hears of every pod but those that succeeded or failed, and keeps those with a node in its cache,
whatever else is the matter with them (pkg/scheduler/scheduler.go and eventhandlers.go). Only PodTopologySpread looks
at whether a pod is being deleted (countPodsMatchSelector of its common.go).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kwhatif import capacity, drain, explain, place
from kwhatif.api.core import Pod
from kwhatif.errors import FidelityError
from kwhatif.results.place import Placement, PlaceResult
from tests import device_builders, storage_builders
from tests.builders import HOSTNAME, Json, budget, node, pod, pods_like, select, spread
from tests.simulation.snapshots import snapshot_of

SET = ("apps/v1", "ReplicaSet", "web-1")
OLD, BOTH = {"app": "old"}, {"app": "both"}
GATES: Json = {"schedulingGates": [{"name": "later"}]}


def unscheduled(reason: str) -> Json:
    return {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": reason}]}


TRIED = unscheduled("Unschedulable")

THERE: dict[str, Json] = {
    "it runs": {"status": {"phase": "Running"}},
    "it is bound and has not started": {"status": {"phase": "Pending"}},
    "it is bound and no kubelet has said anything": {},
    "its node is out of reach": {"status": {"phase": "Unknown"}},
    "it fails to start": {"status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]}},
}
LEAVING: dict[str, Json] = {
    "it is on its way out": {"status": {"phase": "Running"}, "terminating": True},
    "it is on its way out before it started": {"status": {"phase": "Pending"}, "terminating": True},
}
OVER: dict[str, Json] = {
    "it succeeded": {"status": {"phase": "Succeeded"}},
    "it failed": {"status": {"phase": "Failed"}},
    "it failed and is being deleted": {"status": {"phase": "Failed"}, "terminating": True},
}
STATES = [
    *(pytest.param(state, True, True, id=name) for name, state in THERE.items()),
    *(pytest.param(state, True, False, id=name) for name, state in LEAVING.items()),
    *(pytest.param(state, False, False, id=name) for name, state in OVER.items()),
]
"""A pod that has a node: what it is like, whether it is in the scheduler's cache, and whether it counts for spread."""


def manifest(name: str = "new", *, cpu: str = "", ports: Sequence[int] = (), app: str = "new", **spec: Any) -> Json:
    """A pod as somebody would write it."""
    container: Json = {"name": "main", "image": "registry.example/app:1"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    container["ports"] = [{"containerPort": port, "hostPort": port} for port in ports]
    metadata = {"name": name, "namespace": "default", "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def near(app: str) -> Json:
    term = {"labelSelector": select(app=app), "topologyKey": HOSTNAME}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def told(result: PlaceResult) -> dict[str, str]:
    """Pod -> its node, or what became of it instead."""
    return {each.pod.removeprefix("default/"): each.node or each.outcome for each in result.placements}


def only(result: PlaceResult) -> Placement:
    (found,) = result.placements
    return found


# --- pods that have a node

LIMITED = storage_builders.csi_node("a", {storage_builders.DRIVER: 1})


def disk(name: str) -> tuple[Any, Any]:
    """A claim and its volume, which a driver attaches."""
    bound = storage_builders.claim(name, bound_to=f"pv-{name}", modes=["ReadWriteOncePod"])
    source = storage_builders.csi(name)
    return bound, storage_builders.volume(
        f"pv-{name}", source=source, modes=["ReadWriteOncePod"], kept_for=name, phase="Bound"
    )


HOLDS: dict[str, tuple[Json, Json, Sequence[Any]]] = {
    "cpu": ({"cpu": "3"}, manifest(cpu="2"), ()),
    "a host port": ({"ports": [80]}, manifest(ports=[80]), ()),
    "others away by its anti-affinity": ({"far": [pods_like(select(app="new"), HOSTNAME)]}, manifest(), ()),
    "a claim for one pod alone": (
        {"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "mine"}}]}},
        manifest(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "mine"}}]),
        disk("mine"),
    ),
    "an attached volume": (
        {"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "mine"}}]}},
        manifest(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "other"}}]),
        (LIMITED, *disk("mine"), *disk("other")),
    ),
}


@pytest.mark.parametrize("what", HOLDS)
@pytest.mark.parametrize(("state", "held", "spreads"), STATES)
def test_a_pod_holds_what_it_has_until_it_is_over(what: str, state: Json, held: bool, spreads: bool) -> None:
    has, wanted, objects = HOLDS[what]
    snapshot = snapshot_of(node("a"), pod("old", on="a", labels=OLD, **has, **state), *objects)
    assert told(place(wanted, snapshot=snapshot)) == {"new": "unschedulable" if held else "a"}


@pytest.mark.parametrize(("state", "held", "spreads"), STATES)
def test_a_pod_attracts_others_until_it_is_over(state: Json, held: bool, spreads: bool) -> None:
    snapshot = snapshot_of(node("a"), node("b"), pod("old", on="b", labels=OLD, **state))
    assert told(place(manifest(affinity=near("old")), snapshot=snapshot)) == {"new": "b" if held else "unschedulable"}


@pytest.mark.parametrize(("state", "held", "spreads"), STATES)
def test_a_pod_counts_for_spread_until_it_is_told_to_go(state: Json, held: bool, spreads: bool) -> None:
    snapshot = snapshot_of(node("a"), node("b", cpu="1"), pod("old", on="a", labels=BOTH, **state))
    wanted = manifest(app="both", cpu="1", topologySpreadConstraints=[spread(select(app="both"), HOSTNAME)])
    assert told(place(wanted, snapshot=snapshot)) == {"new": "b" if spreads else "a"}


@pytest.mark.parametrize(("state", "held", "spreads"), STATES)
def test_capacity_leaves_room_to_a_pod_until_it_is_over(state: Json, held: bool, spreads: bool) -> None:
    result = capacity(manifest(), snapshot=snapshot_of(node("a", pods=3), pod("old", on="a", **state)))
    assert result.fits == (2 if held else 3)


def test_pods_of_a_node_that_is_not_there_take_no_room() -> None:
    stray = pod("stray", on="gone", cpu="4", labels=OLD)
    snapshot = snapshot_of(node("a"), stray)
    assert told(place(manifest(cpu="4"), snapshot=snapshot)) == {"new": "a"}
    assert told(place(manifest(affinity=near("old")), snapshot=snapshot)) == {"new": "unschedulable"}


# --- pods that wait for a node


@pytest.mark.parametrize(
    ("waiting", "kept"),
    [
        pytest.param(pod("old", cpu="1"), False, id="a pod without a node holds nothing"),
        pytest.param(pod("old", cpu="1", nominated="a"), True, id="unless a place is kept for it"),
        pytest.param(pod("old", cpu="1", nominated="a", priority=-1), False, id="which a lesser pod leaves to others"),
        pytest.param(pod("old", cpu="1", nominated="a", spec=GATES), False, id="and pods with gates do not queue for"),
        pytest.param(
            pod("old", cpu="1", nominated="a", spec={"schedulerName": "else"}),
            False,
            id="nor those of others",
        ),
        pytest.param(
            pod("old", cpu="1", nominated="a", status={"phase": "Failed"}), False, id="nor those that failed before"
        ),
        pytest.param(
            pod("old", cpu="1", nominated="a", terminating=True), True, id="one that is being deleted has it to the end"
        ),
    ],
)
def test_a_place_that_is_kept(waiting: Pod, kept: bool) -> None:
    snapshot = snapshot_of(node("a", cpu="2"), waiting)
    assert told(place(manifest(cpu="2"), snapshot=snapshot)) == {"new": "unschedulable" if kept else "a"}
    assert capacity(manifest(cpu="1"), snapshot=snapshot).fits == (1 if kept else 2)


def test_pods_with_gates_and_pods_that_are_being_deleted_are_not_scheduled() -> None:
    snapshot = snapshot_of(
        node("a"), pod("gated", spec=GATES), pod("going", terminating=True), pod("over", status={"phase": "Failed"})
    )
    result = place(manifest(**GATES), snapshot=snapshot, with_pending=True)
    assert told(result) == {"new": "gated", "gated": "gated", "going": "skipped"}
    assert result.exit_code == 1
    assert capacity(manifest(**GATES), snapshot=snapshot).fits == 0


# --- pods that came between


def test_who_came_before_and_was_not_tried_yet_goes_first() -> None:
    snapshot = snapshot_of(node("a", cpu="2"), pod("between", cpu="1"), pod("tried", cpu="1", status=TRIED))
    result = place(manifest(cpu="1"), snapshot=snapshot, with_pending=True)
    assert told(result) == {"between": "a", "new": "a", "tried": "unschedulable"}
    assert [each.pod for each in result.placements] == ["default/between", "default/new", "default/tried"]


BETWEEN = "1 pod ahead in the queue is left out: default/old"


@pytest.mark.parametrize(
    ("waiting", "touched"),
    [
        pytest.param(pod("old"), True, id="not tried yet"),
        pytest.param(pod("old", priority=-1), False, id="of lower priority"),
        pytest.param(pod("old", status=TRIED), False, id="tried in vain"),
        pytest.param(pod("old", spec=GATES), False, id="held back by a gate"),
        pytest.param(
            pod("old", status=unscheduled("SchedulingGated")),
            True,
            id="let go by its gates",
        ),
        pytest.param(pod("old", nominated="a"), False, id="with a place that is kept for it"),
        pytest.param(pod("old", terminating=True), False, id="being deleted"),
        pytest.param(pod("old", spec={"schedulerName": "else"}), False, id="of another scheduler"),
        pytest.param(pod("old", on="a"), False, id="with a node"),
    ],
)
def test_that_others_come_first_is_a_gap(waiting: Pod, touched: bool) -> None:
    snapshot = snapshot_of(node("a"), waiting)
    gaps = [
        [gap.pods for gap in ask(manifest(), snapshot=snapshot).fidelity.gaps if gap.what == BETWEEN]
        for ask in (place, capacity, explain)
    ]
    assert gaps == [[("default/new",)] if touched else []] * 3


def test_a_drain_moves_pods_after_those_that_came_before() -> None:
    running = pod("web", on="a", owner=SET, status={"phase": "Running"})
    result = drain("a", snapshot=snapshot_of(node("a"), node("b"), running, pod("old")))
    (gap,) = (gap for gap in result.fidelity.gaps if gap.what == BETWEEN)
    assert gap.pods == ("default/web-1-r1",)
    assert gap.effect.startswith("the room that it would take counts as free")


def test_strict_answers_count_those_that_came_before() -> None:
    snapshot = snapshot_of(node("a"), pod("old"), covers=("ReplicaSet", "Service", "StatefulSet"))
    with pytest.raises(FidelityError, match="ahead in the queue is left out"):
        place(manifest(), snapshot=snapshot, strict=True)


# --- preemption


def leaving(reason: str) -> Json:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    return {"terminating": True, "status": {"phase": "Running", "conditions": [condition]}}


@pytest.mark.parametrize(
    ("victim", "outcome", "message"),
    [
        pytest.param(
            leaving("PreemptionByScheduler"),
            "unschedulable",
            "preemption: not eligible due to a terminating pod on the nominated node.",
            id="who has evicted a pod waits until it has gone",
        ),
        pytest.param(leaving("EvictionByEvictionAPI"), "placed", "", id="who waits for a drained pod looks further"),
        pytest.param({"terminating": True}, "placed", "", id="as does who waits for a pod that somebody deletes"),
    ],
)
def test_a_nominated_pod_evicts_others_unless_its_victims_are_leaving(victim: Json, outcome: str, message: str) -> None:
    snapshot = snapshot_of(
        node("a", cpu="2"),
        node("b", cpu="1"),
        pod("victim", on="a", cpu="2", **victim),
        pod("vip", cpu="2", priority=9, nominated="a", status=TRIED),
    )
    placement = only(place(snapshot=snapshot, with_pending=True))
    assert placement.outcome == outcome
    assert placement.message.endswith(message)


def test_victims_that_are_leaving_are_told_as_such_and_not_evicted_again() -> None:
    snapshot = snapshot_of(
        node("a", cpu="2"),
        pod("leaver", on="a", cpu="1", terminating=True, labels=OLD, owner=SET),
        pod("victim", on="a", cpu="1", labels=OLD, owner=SET),
        budget("old", select(app="old"), allowed=1),
    )
    placement = only(place(manifest(cpu="2", priority=9), snapshot=snapshot))
    assert sorted((each.pod, each.terminating) for each in placement.victims) == [
        ("default/leaver", True),
        ("default/victim", False),
    ]


# --- drain


@pytest.mark.parametrize(
    ("state", "outcome", "lands_on", "reason"),
    [
        pytest.param(THERE["it runs"], "blocked", "", "Cannot evict", id="a running pod is held by its budget"),
        pytest.param(
            THERE["it is bound and has not started"], "evicted", "b", "", id="one that has not started needs no budget"
        ),
        pytest.param(
            LEAVING["it is on its way out"],
            "evicted",
            "",
            "it was being deleted and is replaced already",
            id="nor one on its way out, for which there is another one already",
        ),
        pytest.param(OVER["it succeeded"], "evicted", "", "it had finished", id="one that is over is only removed"),
    ],
)
def test_a_drain_evicts(state: Json, outcome: str, lands_on: str, reason: str) -> None:
    there = pod("web", on="a", labels=OLD, owner=SET, **state)
    result = drain("a", snapshot=snapshot_of(node("a"), node("b"), there, budget("old", select(app="old"))))
    (drained,) = result.pods
    assert (drained.outcome, drained.lands_on) == (outcome, lands_on)
    assert drained.reason.startswith(reason)


def test_a_stateful_set_s_pod_that_leaves_comes_back_under_its_name() -> None:
    there = pod("db-0", on="a", owner=("apps/v1", "StatefulSet", "db"), **LEAVING["it is on its way out"])
    (drained,) = drain("a", snapshot=snapshot_of(node("a"), node("b"), there)).pods
    assert (drained.replacement, drained.lands_on) == ("default/db-0", "b")


@pytest.mark.parametrize(("state", "held", "spreads"), STATES)
def test_pods_that_move_find_no_room_where_others_have_it(state: Json, held: bool, spreads: bool) -> None:
    moving = pod("web", on="a", cpu="2", owner=SET, status={"phase": "Running"})
    other = pod("old", on="b", cpu="3", **state)
    (drained,) = drain("a", snapshot=snapshot_of(node("a"), node("b"), moving, other)).pods
    assert drained.lands_on == ("" if held else "b")


# --- devices


@pytest.mark.parametrize(("state", "held", "spreads"), STATES)
def test_devices_are_their_claim_s_whatever_becomes_of_the_pod(state: Json, held: bool, spreads: bool) -> None:
    made = device_builders
    snapshot = snapshot_of(
        node("a"),
        made.device_class(),
        made.devices_of("a", ["gpu-0"]),
        made.claim("mine", has=["gpu-0"], node="a", used_by=["old"]),
        made.claim("other"),
        made.pod_with("mine", name="old", on="a", **state),
    )
    wanted = manifest(resourceClaims=[{"name": "other", "resourceClaimName": "other"}])
    assert told(place(wanted, snapshot=snapshot)) == {"new": "unschedulable"}
