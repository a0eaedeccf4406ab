"""``expand`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from kwhatif.results.amounts import counts
from kwhatif.results.expand import ExpandResult
from kwhatif.whatif.expand.as_result import summarized
from kwhatif.whatif.fidelity.left_out import template_gap
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Case, Question


@dataclass(frozen=True)
class Expand(Question[ExpandResult]):
    """What pods do manifests become?"""

    schedules: ClassVar[bool] = False

    def answer(self, cases: Sequence[Case], notes: Notes) -> ExpandResult:
        (case,) = cases
        unknown = case.expanded.unknown
        if unknown and not case.inputs.reading.ignore_unknown:
            notes.note(f"no pods are made of {counts(unknown)}")
        assumed = [rollout.name for rollout in case.expanded.rollouts if rollout.assumed]
        if assumed:
            notes.warn(str(template_gap(case.snapshot.dropped, assumed)))
        return replace(summarized(case.expanded), edits=tuple(case.snapshot.edits))
