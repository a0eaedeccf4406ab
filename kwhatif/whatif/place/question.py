"""``place`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.errors import UsageError
from kwhatif.results.place import PlaceResult
from kwhatif.whatif.place.place import place
from kwhatif.whatif.place.timeline import simulate
from kwhatif.whatif.session import Asked, Session
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case, Question


@dataclass(frozen=True)
class Place(Question[PlaceResult]):
    """Where would these pods go?

    Those of the manifests, those that edits took their node from, and ``with_pending`` those that wait in the snapshot.
    With a ``timeline`` the queue is simulated, and ``recreate`` lets the controllers of victims make new pods.
    ``detailed`` answers have every plugin's score.
    """

    with_pending: bool = False
    timeline: bool = False
    recreate: bool = True
    seed: int | None = None
    detailed: bool = True

    def check(self, case: Case) -> None:
        if not case.inputs.manifests and not self.with_pending and case.inputs.edits is None:
            raise _nothing_to_place()
        if not self.recreate and not self.timeline:
            raise UsageError("--no-recreate is about --timeline: without it nothing is recreated")

    def check_edited(self, case: Case) -> None:
        if not case.inputs.manifests and self.needs_pods(case):
            raise _nothing_to_place()

    def needs_pods(self, case: Case) -> bool:
        return not (self.with_pending or case.edited.moves_pods)

    def pods(self, case: Case) -> list[Asked]:
        if self.timeline and case.expanded.rollouts:
            name = case.expanded.rollouts[0].name
            raise UsageError(f"{name} is in the cluster already: updates are planned step by step, not with --timeline")
        return super().pods(case)

    def session(self, case: Case) -> None:
        case.session = Session(
            case.snapshot, case.setup, seed=self.seed, detailed=self.detailed, covered=case.edited.covered
        )

    def answer(self, cases: Sequence[Case], notes: Notes) -> PlaceResult:
        (case,) = cases
        if self.timeline:
            result = simulate(case.session, case.asked, recreate=self.recreate, others=case.others)
        else:
            result = place(case.session, case.asked, rollouts=case.expanded.rollouts, others=case.others)
        return replace(result, **case.refused)


def _nothing_to_place() -> UsageError:
    return UsageError("name the files with the pods to place, or ask for --with-pending")
