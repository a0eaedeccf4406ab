"""``drain`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from kwhatif.api.core import Node
from kwhatif.results.drain import DrainResult
from kwhatif.snapshot.chosen import chosen_nodes
from kwhatif.whatif.drain.drain import drained
from kwhatif.whatif.drain.filters import Filters
from kwhatif.whatif.edits.cordon import cordoned
from kwhatif.whatif.edits.draft import Draft
from kwhatif.whatif.place.placed_first import after, placed_first
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question


@dataclass(frozen=True)
class Drain(Question[DrainResult]):
    """What would draining nodes do? ``nodes`` are names or label selectors, in this order.

    Pods of manifests, and those that edits left without a node, are placed before.
    """

    several_runs: ClassVar[bool] = True

    nodes: Sequence[str] = ()
    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False

    def needs_pods(self, case: Case) -> bool:
        return False

    def _cordon(self, case: Case) -> None:
        draft = Draft(case.snapshot)
        draft.put_nodes(map(cordoned, self._chosen(case)))
        case.edited = replace(case.edited, snapshot=draft.snapshot)

    def _chosen(self, case: Case) -> list[Node]:
        return [node for text in self.nodes for node in chosen_nodes(text, case.snapshot.objects.of(Node))]

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[DrainResult]:
        (case,) = cases
        scaler = case.scaler
        before = placed_first(case, scaler)
        self._cordon(case)
        known = case.snapshot.whole.get("DaemonSet")
        daemon_sets = None
        if known is not None:
            daemon_sets = {f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in known}
        filters = Filters(self.ignore_daemonsets, self.delete_emptydir_data, self.force, daemon_sets)
        names = dict.fromkeys(node.name for node in self._chosen(case))
        earlier = () if before is None else before.placements
        case.session = case.new_session()
        answer, case.after = drained(case.session, list(names), filters, scaler, earlier)
        return after(before, answer)
