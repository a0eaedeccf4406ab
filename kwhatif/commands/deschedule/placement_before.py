"""Pods that what-if edits leave without a node are placed before the cycles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import msgspec

from kwhatif.results.base import Fidelity, Result
from kwhatif.simulation.placement.run_result import Placed
from kwhatif.simulation.question import PendingResult

R = TypeVar("R", bound=Result)


def add_placement_before(before: Placed | None, answer: PendingResult[R]) -> PendingResult[R]:
    """The answer with the earlier placements, if there were any."""
    if before is None:
        return answer
    make: Callable[[Fidelity], R] = answer.result

    def result(first: Fidelity, then: Fidelity) -> R:
        gaps = tuple(dict.fromkeys((*first.gaps, *then.gaps)))
        return make(msgspec.structs.replace(then, gaps=gaps))

    return replace(answer, runs=[before.basis, *answer.runs], result=result)
