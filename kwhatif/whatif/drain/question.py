"""``drain`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kwhatif.api.core import Node
from kwhatif.errors import UsageError
from kwhatif.results.drain import DrainResult
from kwhatif.snapshot.chosen import chosen_nodes
from kwhatif.whatif.drain.drain import drain
from kwhatif.whatif.drain.filters import Filters
from kwhatif.whatif.edits.cordon import cordoned
from kwhatif.whatif.edits.draft import Draft
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case, Question


@dataclass(frozen=True)
class Drain(Question[DrainResult]):
    """What would draining nodes do? ``nodes`` are names or label selectors, in this order."""

    nodes: Sequence[str] = ()
    ignore_daemonsets: bool = False
    delete_emptydir_data: bool = False
    force: bool = False

    def check_edited(self, case: Case) -> None:
        if case.edited.moves_pods:
            raise UsageError(
                "what-if edits that move pods cannot be mixed with drain: their pods would have to be placed first"
            )

    def session(self, case: Case) -> None:
        """Set up the cluster with all these nodes cordoned."""
        draft = Draft(case.snapshot)
        draft.put_nodes(map(cordoned, self._chosen(case)))
        case.edited = replace(case.edited, snapshot=draft.snapshot)
        super().session(case)

    def _chosen(self, case: Case) -> list[Node]:
        return [node for text in self.nodes for node in chosen_nodes(text, case.snapshot.objects.of(Node))]

    def answer(self, cases: Sequence[Case], notes: Notes) -> DrainResult:
        (case,) = cases
        known = case.snapshot.whole.get("DaemonSet")
        daemon_sets = None
        if known is not None:
            daemon_sets = {f"{each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in known}
        filters = Filters(self.ignore_daemonsets, self.delete_emptydir_data, self.force, daemon_sets)
        names = dict.fromkeys(node.name for node in self._chosen(case))
        return drain(case.session, list(names), filters)
