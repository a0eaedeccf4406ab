"""The question of ``capacity``, and its Python function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, Manifests, ask, build_scenario
from kwhatif.commands.capacity.capacity import measure_capacity
from kwhatif.commands.capacity.options import CapacityOptions
from kwhatif.commands.capacity.result import CapacityResult
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.scenario import PreparedScenario, Scenario


@dataclass(frozen=True)
class Capacity(CapacityOptions, Question[CapacityResult]):
    """How many more of all that is in the manifests fit, or of a single ``pod``?

    Fewer than ``at_least`` is a "no"; ``limit`` ends the count."""

    as_new = True

    def check(self, scenario: Scenario) -> None:
        if self.limit is not None and self.limit < self.at_least:
            raise UsageError(f"--limit {self.limit} ends the count before --at-least {self.at_least} can be reached")

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[CapacityResult]:
        (scenario,) = scenarios
        return measure_capacity(
            scenario.session,
            scenario.expanded,
            single=self.pod,
            at_least=self.at_least,
            limit=self.limit,
            others=scenario.unknown_kinds,
            first=scenario.edited.waiting_pods,
            scaler=scenario.scaler,
            **scenario.refusal_fields,
        )


def capacity(
    manifests: Manifests,
    *,
    snapshot: ClusterSource,
    pod: bool = False,
    at_least: int = 1,
    limit: int | None = None,
    at: str = "",
    **options: Unpack[AutoscaledKeywords],
) -> CapacityResult:
    """How many more of all pods of the manifests together fit, or with ``pod`` of the pods of their one workload?

    ``limit`` ends the count; fewer than ``at_least`` make the exit code 1. ``at`` is as for ``place``.
    """

    question = Capacity(pod=pod, at_least=at_least, limit=limit)
    return ask(question, build_scenario(manifests, snapshot, {**options, "at": at}))
