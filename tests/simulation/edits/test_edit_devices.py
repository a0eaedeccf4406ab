"""What becomes of the devices of pods that edits take away."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.api.devices import ClaimConsumer, ResourceClaim
from kwhatif.api.meta import OwnerReference
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.edits.document import EditedSnapshot
from kwhatif.simulation.session import PodToSchedule, Session
from tests.builders import FEATURES, Json, node, pod
from tests.commands.answers import place
from tests.device_builders import claim, device_class, devices_of, pod_with, request, template
from tests.simulation.edits.editing import after, snapshot_of, workload
from tests.simulation.sessions import asking

NODES = [node("a"), node("b")]
CARDS = [device_class(), devices_of("a", ["g0", "g1"]), devices_of("b", ["g0"])]


def shared(*users: str, **more: Any) -> ResourceClaim:
    return claim(has=["g0"], node="a", used_by=users, **more)


def owned(by: str) -> ResourceClaim:
    """A claim as it is made for a pod from a template."""
    made = claim(f"{by}-gpu", has=["g1"], node="a", used_by=[by])
    owner = OwnerReference(kind="Pod", name=by, uid=f"uid-default-{by}", controller=True)
    return replace(made, metadata=replace(made.metadata, owner_references=[owner]))


def for_group(*users: str) -> ResourceClaim:
    """A claim that a group of pods has, too."""
    made = shared(*users)
    group = ClaimConsumer(api_group="scheduling.k8s.io", resource="podgroups", name="p", uid="group")
    return replace(made, status=replace(made.status, reserved_for=[*(made.status.reserved_for or ()), group]))


def state(result: EditedSnapshot) -> dict[str, tuple[bool, list[str]]]:
    """Of each claim: whether it has devices, and for whom it is reserved."""
    return {
        each.name: (each.status.allocation is not None, [user.name for user in each.status.reserved_for or ()])
        for each in result.snapshot.objects.list_all(ResourceClaim)
    }


CASES: dict[str, tuple[list[ResourceClaim], Json, dict[str, tuple[bool, list[str]]]]] = {
    "a claim that another pod uses stays allocated for it alone": (
        [shared("p", "q")],
        {"deletePods": "p"},
        {"c": (True, ["q"])},
    ),
    "the last pod gives the devices back": ([shared("p")], {"deletePods": "p"}, {"c": (False, [])}),
    "so do all of them at once": ([shared("p", "q")], {"deletePods": "[app=it]"}, {"c": (False, [])}),
    "so do those of a node that is gone": ([shared("p", "q")], {"removeNodes": "a"}, {"c": (False, [])}),
    "and those that a taint drives off": (
        [shared("p", "q")],
        {"taint": {"nodes": "a", "key": "bad", "effect": "NoExecute"}},
        {"c": (False, [])},
    ),
    "a claim that was made for the pod goes with it": (
        [owned("p"), owned("q")],
        {"deletePods": "p"},
        {"q-gpu": (True, ["q"])},
    ),
    "a claim that a group of pods has as well stays allocated": (
        [for_group("p")],
        {"deletePods": "p"},
        {"c": (True, ["p"])},
    ),
    "a claim that nobody used before keeps its devices": ([shared()], {"deletePods": "p"}, {"c": (True, [])}),
    "a pod of another namespace does not count": (
        [shared("p", namespace="other")],
        {"deletePods": "p"},
        {"c": (True, ["p"])},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_claims_of_pods_that_go(case: str) -> None:
    claims, edit, expected = CASES[case]
    pods = [pod_with("c", name=name, on="a", labels={"app": "it"}) for name in ("p", "q")]
    snapshot = snapshot_of(NODES, pods, [*CARDS, *claims])
    assert state(after(snapshot, edit)) == expected


def test_devices_that_were_given_back_go_to_the_pod_that_wants_them() -> None:
    (wanting,) = asking(pod_with("mine", name="new"))
    objects = [*CARDS, shared("p"), claim("mine", request(count=2))]
    snapshot = snapshot_of(NODES, [pod_with("c", name="p", on="a")], objects)
    assert placed(after(snapshot), wanting) == {"new": ("", [])}
    assert placed(after(snapshot, {"deletePods": "p"}), wanting) == {"new": ("a", ["a/g0", "a/g1"])}


def placed(result: EditedSnapshot, *more: PodToSchedule) -> dict[str, tuple[str, list[str]]]:
    """Where pods land that wait because of edits, and others, and with which devices."""
    session = Session(result.snapshot, Setup(load_configuration(None, source=""), FEATURES))
    return {
        each.pod.partition("/")[2]: (
            each.node,
            [use.name.partition("/")[2] for one in each.devices for use in one.devices],
        )
        for each in place(session, [*result.waiting_pods, *more]).placements
    }


def test_a_pod_made_again_gets_a_claim_of_its_own_where_there_still_are_devices() -> None:
    spec = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}
    status = {"phase": "Running", "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu"}]}
    running = pod("p", on="a", owner=("apps/v1", "ReplicaSet", "web"), spec=spec, status=status)
    result = after(snapshot_of(NODES, [running], [*CARDS, template("t", request()), owned("p")]), {"removeNodes": "a"})
    assert state(result) == {}
    assert placed(result) == {"web-r1": ("b", ["b/g0"])}


def test_a_workload_that_shrinks_leaves_a_shared_claim_to_nobody_only_at_zero() -> None:
    spec = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}
    pods = [
        pod(name, namespace="shop", labels={"app": "web"}, on="a", owner=("apps/v1", "ReplicaSet", "web"), spec=spec)
        for name in ("web-1", "web-2")
    ]
    sized = workload("ReplicaSet", "web", 2, pod=spec)
    snapshot = snapshot_of(NODES, pods, [*CARDS, shared("web-1", "web-2", namespace="shop")], [sized])
    (one,) = state(after(snapshot, {"scale": {"kind": "rs", "name": "web", "replicas": 1}})).values()
    assert (one[0], len(one[1])) == (True, 1)
    assert state(after(snapshot, {"scale": {"kind": "rs", "name": "web", "replicas": 0}})) == {"c": (False, [])}
