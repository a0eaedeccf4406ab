"""``autoscale`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.results.autoscale import AutoscaleResult
from kwhatif.whatif.autoscale.autoscale import autoscale, groups_of
from kwhatif.whatif.place.place import place
from kwhatif.whatif.session import Asked
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case, Question


@dataclass(frozen=True)
class Autoscale(Question[AutoscaleResult]):
    """What would cluster-autoscaler do with these pods, and with those that wait in the snapshot?

    ``groups`` is the file with the node groups. With ``scale_down`` also: which nodes are unneeded? ``orders`` is in
    how many other orders nodes and pods are listed, to tell what is left to chance. If nodes take ``provision`` seconds
    to come up, scheduler and autoscaler go on in turns until nothing more happens.
    """

    groups: str
    scale_down: bool = False
    orders: int = 6
    provision: int | None = None
    with_pending: bool = True

    def needs_pods(self, case: Case) -> bool:
        return bool(case.inputs.manifests)

    def pods(self, case: Case) -> list[Asked]:
        return [item for item in super().pods(case) if not item.pod.metadata.deletion_timestamp]

    def answer(self, cases: Sequence[Case], notes: Notes) -> AutoscaleResult:
        (case,) = cases
        known = groups_of(self.groups, case.snapshot, notes)
        placed = place(case.session, case.asked, rollouts=case.expanded.rollouts, others=case.others)
        result = autoscale(
            case.session,
            placed,
            case.asked,
            known,
            scale_down=self.scale_down,
            orders=self.orders,
            provision=self.provision,
            now=case.inputs.now,
        )
        return replace(result, **case.refused)
