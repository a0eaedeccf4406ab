"""Laws of what-if edits, on clusters and pods of all sorts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.api.core import Node, Pod
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import FEATURES, Json
from tests.commands.answers import place
from tests.simulation.edits.editing import after, snapshot_of
from tests.strategies import GeneratedCluster, scenarios

pytestmark = pytest.mark.usefixtures("cluster_size")

SETUP = Setup(load_configuration(None, source=""), FEATURES)


def snapshot(scenario: GeneratedCluster) -> Snapshot:
    return snapshot_of(scenario.nodes, scenario.running, scenario.objects)


def answers(there: Snapshot, pods: Sequence[Pod]) -> list[Any]:
    """What becomes of the pods, but not where the answer says that it comes from."""
    result = place(Session(there, SETUP), [PodToSchedule(pod) for pod in pods])
    return [msgspec.to_builtins(placement) for placement in result.placements]


def edits_of(nodes: Sequence[Node]) -> st.SearchStrategy[Json]:
    """Edits of any of these nodes that leave them where they are."""
    names = st.sampled_from([node.name for node in nodes])
    taints = {"key": st.sampled_from("ab"), "effect": st.sampled_from(["NoSchedule", "NoExecute"]), "nodes": names}
    amounts = st.fixed_dictionaries({"cpu": st.sampled_from(["0", "500m", "64"])})
    return st.one_of(
        st.fixed_dictionaries({"cordon": names}),
        st.fixed_dictionaries({"uncordon": names}),
        st.fixed_dictionaries({"taint": st.fixed_dictionaries(taints)}),
        st.fixed_dictionaries({"set": st.fixed_dictionaries({"nodes": names, "allocatable": amounts})}),
        st.fixed_dictionaries({"addNodes": st.fixed_dictionaries({"count": st.integers(1, 3), "like": names})}),
    )


@pytest.mark.long
@given(scenarios(), st.data())
@settings(max_examples=40, deadline=None)
def test_a_cordon_that_is_lifted_changes_no_answer(scenario: GeneratedCluster, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([node.name for node in scenario.nodes]))
    lifted = after(snapshot(scenario), {"uncordon": name}).snapshot
    both = after(snapshot(scenario), {"cordon": name}, {"uncordon": name}).snapshot
    assert answers(both, scenario.pending) == answers(lifted, scenario.pending)


@pytest.mark.long
@given(scenarios(), st.integers(1, 4), st.data())
@settings(max_examples=40, deadline=None)
def test_nodes_that_are_added_and_removed_again_change_no_answer(
    scenario: GeneratedCluster, count: int, data: st.DataObject
) -> None:
    there = snapshot(scenario)
    name = data.draw(st.sampled_from([node.name for node in scenario.nodes]))
    add = {"addNodes": {"count": count, "like": name, "labels": {"brand": "new"}}}
    result = after(there, add, {"removeNodes": "brand=new"}).snapshot
    assert answers(result, scenario.pending) == answers(there, scenario.pending)


@pytest.mark.long
@given(scenarios(), st.data())
@settings(max_examples=40, deadline=None)
def test_a_node_that_is_removed_might_as_well_never_have_been_there(
    scenario: GeneratedCluster, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from([node.name for node in scenario.nodes]))
    result = after(snapshot(scenario), {"removeNodes": name}).snapshot
    nodes = [node for node in scenario.nodes if node.name != name]
    running = [pod for pod in scenario.running if pod.spec.node_name != name]
    never = snapshot_of(nodes, running, scenario.objects)
    assert answers(result, scenario.pending) == answers(never, scenario.pending)


@pytest.mark.long
@given(scenarios(), st.data())
@settings(max_examples=40, deadline=None)
def test_edits_made_one_by_one_or_together_come_to_the_same_and_nothing_given_changes(
    scenario: GeneratedCluster, data: st.DataObject
) -> None:
    there = snapshot(scenario)
    before = list(there.objects)
    plain = msgspec.to_builtins(before, enc_hook=str)
    edits = data.draw(st.lists(edits_of(scenario.nodes), max_size=4))
    together = after(there, *edits).snapshot
    one_by_one = there
    for edit in edits:
        one_by_one = after(one_by_one, edit).snapshot
    assert _by_kind(together) == _by_kind(one_by_one)
    assert together.edits == one_by_one.edits
    assert list(there.objects) == before
    assert msgspec.to_builtins(before, enc_hook=str) == plain


def _by_kind(there: Snapshot) -> list[Any]:
    return sorted(msgspec.to_builtins(list(there.objects), enc_hook=str), key=str)
