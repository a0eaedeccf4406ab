"""What changed that scheduling can see, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.core import Condition, Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import KINDS
from kwhatif.api.meta import OwnerReference, Resource
from kwhatif.commands.snapshot.diff.diff import diff, field_changes
from kwhatif.commands.snapshot.diff.result import DiffResult, FieldChange
from tests.builders import budget, container, node, pod, replica_set, select
from tests.simulation.snapshots import snapshot_of

WEB = ("apps/v1", "ReplicaSet", "web")


def changed(before: Sequence[Resource], after: Sequence[Resource]) -> DiffResult:
    return diff(snapshot_of(*before), snapshot_of(*after))


def rows(result: DiffResult) -> list[tuple[str, str, str, list[str]]]:
    return [
        (c.change, f"{c.kind} {c.object}", c.note, [f"{f.path}: {f.before} -> {f.after}" for f in c.fields])
        for c in result.changes
    ]


def labelled(old: Node, **labels: str) -> Node:
    return replace(old, metadata=replace(old.metadata, labels={**(old.metadata.labels or {}), **labels}))


N = node("n", cpu="4", taints=["gpu:NoSchedule"])
P = pod("p", on="n", cpu="1")

CHANGES: dict[str, tuple[Resource, Resource, tuple[str, str, str, list[str]]]] = {
    "a taint's effect": (
        N, node("n", cpu="4", taints=["gpu:NoExecute"]),
        ("changed", "Node n", "", ["spec.taints[0].effect: NoSchedule -> NoExecute"]),
    ),
    "one more taint in front": (
        N, node("n", cpu="4", taints=["spot:NoSchedule", "gpu:NoSchedule"]),
        ("changed", "Node n", "", ["spec.taints[0]: None -> {'key': 'spot', 'effect': 'NoSchedule'}"]),
    ),
    "the only taint gone": (
        N, node("n", cpu="4"),
        ("changed", "Node n", "", ["spec.taints[0]: {'key': 'gpu', 'effect': 'NoSchedule'} -> None"]),
    ),
    "allocatable": (
        N, node("n", cpu="3900m", taints=["gpu:NoSchedule"]),
        ("changed", "Node n", "", ["status.allocatable.cpu: 4 -> 3900m"]),
    ),
    "a label": (
        N, labelled(N, **{"example.com/pool": "b"}),
        ("changed", "Node n", "", ['metadata.labels["example.com/pool"]: None -> b']),
    ),
    "a cordon": (
        node("n"), node("n", cordoned=True), ("changed", "Node n", "", ["spec.unschedulable: False -> True"]),
    ),
    "an image": (
        node("n", images={"web:1": 10}), node("n", images={"db:1": 20, "web:1": 10}),
        ("changed", "Node n", "", ['status.images["db:1"]: None -> 20']),
    ),
    "a pod that moved": (
        P, pod("p", on="m", cpu="1"),
        ("moved", "Pod default/p", "on n -> on m", ["spec.nodeName: n -> m"]),
    ),
    "a pod that got its node": (
        pod("p", cpu="1"), P, ("bound", "Pod default/p", "pending -> on n", ["spec.nodeName: None -> n"]),
    ),
    "a pod that finished": (
        P, pod("p", on="n", cpu="1", status={"phase": "Succeeded"}),
        ("finished", "Pod default/p", "no phase -> Succeeded", []),
    ),
    "requests and priority": (
        P, pod("p", on="n", cpu="2", priority=7),
        (
            "changed", "Pod default/p", "",
            ["spec.containers[0].resources.requests.cpu: 1 -> 2", "spec.priority: None -> 7"],
        ),
    ),
    "a pod that is told to go": (
        P, pod("p", on="n", cpu="1", terminating=True),
        ("changed", "Pod default/p", "", ["metadata.deletionTimestamp: None -> set"]),
    ),
    "a budget": (
        budget("b", select(app="web"), allowed=1), budget("b", select(app="web")),
        ("changed", "PodDisruptionBudget default/b", "", ["status.disruptionsAllowed: 1 -> 0"]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_it_shows(what: str) -> None:
    before, after, wanted = CHANGES[what]
    result = changed([before], [after])
    assert rows(result) == [wanted]
    assert result.exit_code == 1


def test_objects_come_and_go() -> None:
    result = changed([node("a"), node("b"), pod("p", on="a")], [node("b"), node("c"), pod("q")])
    assert [row[:3] for row in rows(result)] == [
        ("removed", "Node a", ""),
        ("added", "Node c", ""),
        ("removed", "Pod default/p", "on a"),
        ("added", "Pod default/q", "pending"),
    ]
    assert result.totals == {"Node": {"added": 1, "removed": 1}, "Pod": {"added": 1, "removed": 1}}


def noisy(old: Pod) -> Pod:
    """What changes in a pod though it is still the same to the scheduler, even if it was made anew."""
    condition = Condition(type="Ready", status="True", last_transition_time="2026-03-01T00:00:00Z")
    meta = replace(
        old.metadata, uid="another", creation_timestamp="2026-03-01T00:00:00Z", annotations={"checksum": "2"}
    )
    return replace(old, metadata=meta, status=replace(old.status, phase="Running", conditions=[condition]))


def test_noise_is_no_change() -> None:
    heartbeat = Condition(type="Ready", status="True", last_transition_time="2026-03-01T00:00:00Z")
    beaten = replace(
        N,
        metadata=replace(N.metadata, uid="another", annotations={"x": "y"}),
        status=replace(N.status, conditions=[heartbeat], capacity=N.status.allocatable),
    )
    result = changed([N, P], [beaten, noisy(P)])
    assert (rows(result), result.exit_code, result.totals) == ([], 0, {})


def test_quantities_are_the_same_however_they_are_spelt() -> None:
    assert rows(changed([node("n", cpu="4")], [node("n", cpu="4000m")])) == []


def test_annotations_that_are_read_count() -> None:
    def claim(**annotations: str) -> Resource:
        meta = {"name": "c", "namespace": "default", "annotations": annotations}
        return convert({"metadata": meta}, KINDS["PersistentVolumeClaim"])

    selected = "volume.kubernetes.io/selected-node"
    result = changed([claim(note="x")], [claim(**{selected: "n", "note": "y"})])
    assert rows(result)[0][3] == [f'metadata.annotations["{selected}"]: None -> n']


# --- replaced


def web(name: str, on: str, **kind: Any) -> Pod:
    volumes = [{"name": f"kube-api-access-{name}"}]
    return pod(name, on=on, owner=WEB, labels={"app": "web"}, spec={"volumes": volumes}, **kind)


def test_pods_of_the_same_template_replace_each_other() -> None:
    before = [web("web-a", "n1"), web("web-b", "n2"), web("web-c", "n3")]
    after = [web("web-x", "n1"), web("web-y", "n4"), web("web-c", "n3")]
    result = changed(before, after)
    assert rows(result) == []
    assert [(r.controller, r.pods, r.moved) for r in result.replaced] == [("ReplicaSet default/web", 2, 1)]
    assert result.totals == {"Pod": {"replaced": 2}}
    assert result.exit_code == 1


def test_who_is_one_too_many_was_added_or_removed() -> None:
    result = changed([web("a", "n1")], [web("x", "n2"), web("y", "n1")])
    assert [row[:3] for row in rows(result)] == [("added", "Pod default/x", "on n2")]
    assert [(r.pods, r.moved) for r in result.replaced] == [(1, 0)]
    back = changed([web("x", "n2"), web("y", "n1")], [web("a", "n1")])
    assert [row[:3] for row in rows(back)] == [("removed", "Pod default/x", "on n2")]


def test_pods_of_another_template_or_of_nobody_replace_nobody() -> None:
    assert changed([web("a", "n1", cpu="1")], [web("x", "n1", cpu="2")]).replaced == ()
    assert changed([pod("a", on="n1")], [pod("x", on="n1")]).replaced == ()
    owner = OwnerReference(kind="ReplicaSet", name="web")
    orphan = replace(web("a", "n1"), metadata=replace(web("a", "n1").metadata, owner_references=[owner]))
    assert changed([orphan], [web("x", "n1")]).replaced == ()


# --- what can be compared


def test_kinds_that_one_side_lacks_are_not_compared() -> None:
    result = changed([N, replica_set("r", select())], [N, budget("b", select())])
    assert (result.only_before, result.only_after) == (("ReplicaSet",), ("PodDisruptionBudget",))
    assert result.exit_code == 0


def test_versions_and_sources_are_told() -> None:
    before, after = snapshot_of(N), snapshot_of(N)
    before.kubernetes_version, after.kubernetes_version = "v1.35.1", "v1.36.0"
    result = diff(before, after)
    assert (result.version_before, result.version_after) == ("v1.35.1", "v1.36.0")
    assert result.before == "a test"


PLAIN = st.recursive(
    st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("xyz"), PLAIN), st.dictionaries(st.sampled_from("xyz"), PLAIN))
def test_only_different_values_have_differences_and_each_place_is_told_once(old: Any, new: Any) -> None:
    found = list(field_changes(old, new))
    assert len({change.path for change in found}) == len(found)
    if old == new:
        assert found == []
    assert all(change.before != change.after for change in found)


def test_of_lists_only_the_middle_is_compared() -> None:
    assert list(field_changes({"l": [1, 2, 3, 4]}, {"l": [1, 9, 4]})) == [
        FieldChange(path="l[1]", before=2, after=9),
        FieldChange(path="l[2]", before=3, after=None),
    ]


@given(st.permutations([node("a"), node("b"), pod("p", on="a"), pod("q", containers=[container(cpu="1")])]))
def test_the_order_of_objects_is_no_difference(objects: list[Resource]) -> None:
    assert changed(sorted(objects, key=lambda obj: obj.name), objects).exit_code == 0


def test_a_pod_that_waits_for_a_node_has_not_moved() -> None:
    before = [pod("web-a", on="n1", cpu="1", owner=WEB), pod("web-b", on="n2", cpu="1", owner=WEB)]
    after = [pod("web-c", on="n1", cpu="1", owner=WEB), pod("web-d", cpu="1", owner=WEB)]
    (replaced,) = changed(before, after).replaced
    assert (replaced.pods, replaced.moved) == (2, 0)
