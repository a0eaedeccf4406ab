"""``capacity`` as a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, Manifests, ask, build_scenario

if TYPE_CHECKING:
    from kwhatif.commands.capacity.result import CapacityResult

from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.commands.capacity.capacity import measure_capacity
from kwhatif.commands.capacity.result import CapacityResult
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import PendingResult, Question, Scenario


@dataclass(frozen=True)
class Capacity(Question[CapacityResult]):
    """How many more of a pod, or of a ``release``, fit? Fewer than ``at_least`` is a "no"; ``limit`` ends the count."""

    anew = True

    release: bool = False
    at_least: int = 1
    limit: int | None = None

    def check(self, case: Scenario) -> None:
        if self.limit is not None and self.limit < self.at_least:
            raise UsageError(f"--limit {self.limit} ends the count before --at-least {self.at_least} can be reached")

    def answer(self, cases: Sequence[Scenario], notes: Notes) -> PendingResult[CapacityResult]:
        (case,) = cases
        return measure_capacity(
            case.session,
            case.expanded,
            release=self.release,
            at_least=self.at_least,
            limit=self.limit,
            others=case.unknown_kinds,
            first=case.edited.waiting_pods,
            scaler=case.scaler,
        )


def capacity(
    manifests: Manifests,
    *,
    snapshot: ClusterSource,
    release: bool = False,
    at_least: int = 1,
    limit: int | None = None,
    **options: Unpack[AutoscaledKeywords],
) -> CapacityResult:
    """How many more of a pod fit, or with ``release`` of all pods of the manifests together?

    ``limit`` ends the count; fewer than ``at_least`` make the exit code 1.
    """

    question = Capacity(release=release, at_least=at_least, limit=limit)
    return ask(question, build_scenario(manifests, snapshot, options))
