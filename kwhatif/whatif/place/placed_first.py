"""Pods of manifests and edits are placed before another question is asked of the cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import msgspec

from kwhatif.results.drain import DrainResult
from kwhatif.results.outage import OutageResult
from kwhatif.results.parts import Fidelity
from kwhatif.whatif.autoscale.scaler import Scaler
from kwhatif.whatif.place.afterwards import afterwards
from kwhatif.whatif.place.place import Placed, placed
from kwhatif.whatif.stages.question import Answer, Case

R = TypeVar("R", DrainResult, OutageResult)


def placed_first(case: Case, scaler: Scaler | None = None) -> Placed | None:
    """Place the pods of a case, if there are any: from then on its cluster is as it is afterwards."""
    if not case.asked and not case.expanded.rollouts:
        return None
    session, rollouts = case.new_session(), case.expanded.rollouts
    before = placed(session, case.asked, rollouts=rollouts, others=case.others, scaler=scaler)
    after = afterwards(session.snapshot, case.edited.covered, case.expanded, before.end)
    case.edited = replace(case.edited, snapshot=after)
    return before


def after(before: Placed | None, answer: Answer[R]) -> Answer[R]:
    """The answer to a question that was asked after pods were placed, if there were any."""
    if before is None:
        return answer

    def result(first: Fidelity, then: Fidelity) -> R:
        told = dict.fromkeys((*first.gaps, *then.gaps))
        return msgspec.structs.replace(
            answer.result(msgspec.structs.replace(then, gaps=tuple(told))),
            before=tuple(before.placements),
            rollouts=before.rollouts,
        )

    return Answer([before.basis, *answer.bases], result)
