"""``expand`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from kwhatif.results.amounts import some
from kwhatif.results.expand import ExpandResult
from kwhatif.whatif.expand.as_result import summarized
from kwhatif.whatif.fidelity.assess import insist
from kwhatif.whatif.fidelity.left_out import template_gap, unknown_gap
from kwhatif.whatif.fidelity.server_gaps import doubt_gaps, priority_gaps, server_gaps, update_gaps
from kwhatif.whatif.fidelity.strangers import stranger_gaps
from kwhatif.whatif.stages.merging import unknown_kinds
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question


@dataclass(frozen=True)
class Expand(Question[ExpandResult]):
    """What pods do manifests become?"""

    schedules: ClassVar[bool] = False

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[ExpandResult]:
        (case,) = cases
        result = summarized(case.expanded)
        pods = case.expanded.pods
        gaps = list(stranger_gaps(case.snapshot, pods))
        if others := unknown_kinds(case, notes):
            gaps.append(unknown_gap(others, pods))
        if assumed := [rollout.name for rollout in case.expanded.rollouts if rollout.assumed]:
            gaps.append(template_gap(case.snapshot.dropped, assumed))
        snapshot, covered = case.snapshot, case.edited.covered
        found = [*server_gaps(snapshot, covered, pods), *priority_gaps(snapshot, covered, pods)]
        found += update_gaps(snapshot, covered, case.expanded.rollouts)
        told = {gap.what for gap in gaps}
        found += doubt_gaps(case.expanded.doubts, {item.pod.key for item in pods})
        of_server = [gap for gap in found if gap.pods and gap.what not in told]
        # Whoever names no cluster knows that nothing is known of it.
        for gap in [*gaps, *(of_server if case.inputs.snapshot else ())]:
            notes.warn(f"{gap} [{some(gap.pods)}]")
        gaps += of_server
        if case.engine.strict:
            # The stage has nothing to assess: no scheduler ran, only the API server.
            insist(gaps)
        result = replace(result, edits=tuple(case.snapshot.edits), gaps=tuple(gaps))
        return Answer((), lambda: result)
