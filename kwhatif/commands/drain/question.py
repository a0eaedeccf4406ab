"""The question of ``drain``; the flags are those of kubectl drain."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec.structs import replace

from kwhatif.api.objects import part_of
from kwhatif.commands.common_options import CLUSTER, ManifestsBefore, WrittenSnapshot, refuse_standard_output
from kwhatif.errors import UsageError
from kwhatif.results.disruption import DrainResult
from kwhatif.simulation.flag import Argument, Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions

if TYPE_CHECKING:
    from kwhatif.api.core import Node


@dataclass(frozen=True, kw_only=True)
class Drain(Question[DrainResult]):
    """Drain nodes as kubectl does: cordon them, then evict their pods as far as disruption budgets allow.

    Recreated pods are placed at once, and assumed to become ready where they land; then budgets allow more. Pods of
    manifests, and those that what-if edits leave without a node, are placed before.
    """

    takes = AutoscaledOptions
    exit_1_when = "a node is not drained, or a pod finds no node"
    examples = (
        f"general-b-1 {CLUSTER} --ignore-daemonsets --delete-emptydir-data",
        f"topology.kubernetes.io/zone=eu-west-1a {CLUSTER} --ignore-daemonsets --delete-emptydir-data --force",
        f"-l pool=general {CLUSTER} --ignore-daemonsets --delete-emptydir-data --one-by-one",
    )
    several_runs: ClassVar[bool] = True

    nodes: Annotated[
        Sequence[str],
        Argument(
            metavar="NODE|SELECTOR",
            help="The nodes, in this order: names, or label selectors such as 'pool=batch'.",
            completion="node",
        ),
    ] = ()
    selector: Annotated[
        str, Flag("--selector", short="-l", metavar="SELECTOR", help="Also the nodes whose labels match.")
    ] = ""
    manifests: ManifestsBefore = ()
    ignore_daemonsets: Annotated[bool, Flag("--ignore-daemonsets", help="Leave DaemonSet pods where they are.")] = False
    delete_emptydir_data: Annotated[
        bool, Flag("--delete-emptydir-data", help="Go on even if pods lose the data of emptyDir volumes.")
    ] = False
    force: Annotated[bool, Flag("--force", help="Go on even if there are pods that no controller recreates.")] = False
    one_by_one: Annotated[
        bool,
        Flag("--one-by-one", help="Cordon and drain one node after the other; each is uncordoned before the next."),
    ] = False
    write_snapshot: WrittenSnapshot = ""

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if not self.nodes and not self.selector:
            raise UsageError("name the nodes to drain: NODE, or -l SELECTOR")
        refuse_standard_output(self.write_snapshot)

    def _cordon(self, scenario: PreparedScenario) -> PreparedScenario:
        from kwhatif.simulation.edits.cordon import cordon_node
        from kwhatif.simulation.edits.draft import Draft

        draft = Draft(scenario.snapshot)
        draft.put_nodes(map(cordon_node, self._select_nodes(scenario)))
        return scenario.with_snapshot(draft.snapshot)

    def _select_nodes(self, scenario: PreparedScenario) -> list[Node]:
        from kwhatif.api.core import Node
        from kwhatif.simulation.edits.selection import chosen_nodes

        nodes = scenario.snapshot.objects.list_all(Node)
        texts = [*self.nodes, *([f"[{self.selector}]"] if self.selector else [])]
        return [node for text in texts for node in chosen_nodes(text, nodes)]

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[DrainResult]:
        answer = self._drain(*scenarios)
        if self.write_snapshot:
            from kwhatif.commands.written_snapshot import write_afterwards

            what = f"drain {', '.join(node.node for node in answer.result.nodes)}"
            write_afterwards(self.write_snapshot, scenarios[0], answer.ends[0], what, notes)
        from kwhatif.commands.budget_fixes import try_budget_fixes

        budgets = try_budget_fixes(answer.result, scenarios[0], self, lambda changed: self._drain(changed).result)
        return dataclasses.replace(answer, result=replace(answer.result, budgets=budgets))

    def _drain(self, scenario: PreparedScenario) -> Answer[DrainResult]:
        from kwhatif.commands.drain.drain import drain_nodes
        from kwhatif.commands.drain.filters import Filters
        from kwhatif.simulation.placement.runs import place_scenario

        scaler = scenario.scaler
        scenario, before = place_scenario(scenario, scaler)
        scenario = scenario if self.one_by_one else self._cordon(scenario)
        known = scenario.snapshot.whole.get("DaemonSet")
        daemon_sets = None
        if known is not None:
            daemon_sets = {
                f"{part_of(manifest, 'metadata').get('namespace', '')}/{part_of(manifest, 'metadata', 'name')}"
                for manifest in known
            }
        filters = Filters(self.ignore_daemonsets, self.delete_emptydir_data, self.force, daemon_sets)
        names = dict.fromkeys(node.name for node in self._select_nodes(scenario))
        session = scenario.new_session()
        return drain_nodes(
            session, list(names), filters, scaler, before, one_by_one=self.one_by_one, **scenario.refusal_fields
        )
