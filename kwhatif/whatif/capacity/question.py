"""``capacity`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.errors import UsageError
from kwhatif.results.capacity import CapacityResult
from kwhatif.whatif.capacity.capacity import capacity
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question


@dataclass(frozen=True)
class Capacity(Question[CapacityResult]):
    """How many more of a pod, or of a ``release``, fit? Fewer than ``at_least`` is a "no"; ``limit`` ends the count."""

    anew = True

    release: bool = False
    at_least: int = 1
    limit: int | None = None

    def check(self, case: Case) -> None:
        if self.limit is not None and self.limit < self.at_least:
            raise UsageError(f"--limit {self.limit} ends the count before --at-least {self.at_least} can be reached")

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[CapacityResult]:
        (case,) = cases
        return capacity(
            case.session,
            case.expanded,
            release=self.release,
            at_least=self.at_least,
            limit=self.limit,
            others=case.others,
            first=case.edited.asked,
            scaler=case.scaler,
        )
