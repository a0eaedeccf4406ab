"""The question of ``drain``, and its Python function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Unpack

from kwhatif.api.core import Node
from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, Manifests, ask, build_scenario
from kwhatif.commands.drain.drain import drain_nodes
from kwhatif.commands.drain.filters import Filters
from kwhatif.commands.drain.options import DrainOptions
from kwhatif.results.disruption import DrainResult
from kwhatif.simulation.edits.cordon import cordon_node
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.edits.selection import chosen_nodes
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.runs import merge_placed, place_scenario
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario


@dataclass(frozen=True)
class Drain(DrainOptions, Question[DrainResult]):
    """What would draining nodes do? ``nodes`` are names or label selectors, in this order.

    Pods of manifests, and those that edits left without a node, are placed before.
    """

    several_runs: ClassVar[bool] = True

    nodes: Sequence[str] = ()

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def _cordon(self, scenario: PreparedScenario) -> PreparedScenario:
        draft = Draft(scenario.snapshot)
        draft.put_nodes(map(cordon_node, self._select_nodes(scenario)))
        return scenario.with_snapshot(draft.snapshot)

    def _select_nodes(self, scenario: PreparedScenario) -> list[Node]:
        return [node for text in self.nodes for node in chosen_nodes(text, scenario.snapshot.objects.list_all(Node))]

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[DrainResult]:
        (scenario,) = scenarios
        scaler = scenario.scaler
        scenario, before = place_scenario(scenario, scaler)
        scenario = self._cordon(scenario)
        known = scenario.snapshot.whole.get("DaemonSet")
        daemon_sets = None
        if known is not None:
            daemon_sets = {f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in known}
        filters = Filters(self.ignore_daemonsets, self.delete_emptydir_data, self.force, daemon_sets)
        names = dict.fromkeys(node.name for node in self._select_nodes(scenario))
        session = scenario.new_session()
        answer = drain_nodes(session, list(names), filters, scaler, before, **scenario.refusal_fields)
        return merge_placed(before, answer)


def drain(
    nodes: str | Sequence[str],
    *,
    snapshot: ClusterSource,
    ignore_daemonsets: bool = False,
    delete_emptydir_data: bool = False,
    force: bool = False,
    manifests: Manifests = (),
    **options: Unpack[AutoscaledKeywords],
) -> DrainResult:
    """What would draining nodes do? They are names or label selectors, in this order; the flags are kubectl's.

    Pods of ``manifests``, and those that edits leave without a node, are placed before.
    """

    names = [nodes] if isinstance(nodes, str) else list(nodes)
    question = Drain(
        ignore_daemonsets=ignore_daemonsets, delete_emptydir_data=delete_emptydir_data, force=force, nodes=names
    )
    return ask(question, build_scenario(manifests, snapshot, options))
