"""``expand`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from kwhatif.results.amounts import counts, some
from kwhatif.results.expand import ExpandResult
from kwhatif.whatif.expand.as_result import summarized
from kwhatif.whatif.fidelity.assess import insist
from kwhatif.whatif.fidelity.left_out import template_gap
from kwhatif.whatif.fidelity.server_gaps import doubt_gaps, server_gaps
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
        result = summarized(case.expanded)
        pods = case.expanded.pods
        gaps = [gap for gap in server_gaps(case.snapshot, case.edited.covered, pods) if gap.pods]
        gaps += doubt_gaps(case.expanded.doubts, {item.pod.key for item in pods})
        if case.engine.strict:
            insist(gaps)
        # Whoever names no cluster knows that nothing is known of it.
        for gap in gaps if case.inputs.snapshot else ():
            notes.warn(f"{gap} [{some(gap.pods)}]")
        assumed = [rollout.name for rollout in case.expanded.rollouts if rollout.assumed]
        if assumed:
            notes.warn(str(template_gap(case.snapshot.dropped, assumed)))
        return replace(result, edits=tuple(case.snapshot.edits), gaps=tuple(gaps))
