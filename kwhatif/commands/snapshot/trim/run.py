"""The question of ``snapshot trim``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from kwhatif.commands.snapshot.trim.result import TrimResult
from kwhatif.commands.snapshot.trim.trim import build_trim_result, check_and_write, trim, unbind_pods
from kwhatif.errors import InputError, UsageError
from kwhatif.results.base import Fidelity
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.pod_selection import PodQuestion
from kwhatif.simulation.question import PendingResult
from kwhatif.simulation.scenario import PreparedScenario, Scenario
from kwhatif.simulation.session import PodToSchedule


@dataclass(frozen=True)
class Trim(PodQuestion[TrimResult]):
    """What is the smallest snapshot that gives the same decision? It is written to ``out``."""

    several_runs: ClassVar[bool] = True

    out: str = ""
    nodes_too: bool = False
    most_steps: int | None = None

    def check(self, scenario: Scenario) -> None:
        if not self.words and not self.offered:
            raise self.nothing
        if self.out == "-":
            raise UsageError("'-' is no file to write to: standard output is for the report")
        if scenario.scheduler_options.call_extenders:
            raise UsageError("--call-extenders: trim decides again and again, too often to ask extenders each time")

    @property
    def nothing(self) -> UsageError:
        return UsageError("name the pods to trim for: manifests, or pods of the snapshot")

    def select(
        self, scenario: PreparedScenario, names: Sequence[str], choice: Sequence[PodToSchedule]
    ) -> PreparedScenario:
        # Updates are not rolled out: all new pods are there at once.
        own = list(scenario.expanded.all_pods())
        given = {item.pod.key for item in own}
        named = self.find_named(scenario, names, choice)
        return replace(scenario, pods_to_schedule=[*own, *(item for item in named if item.pod.key not in given)])

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[TrimResult]:
        (scenario,) = scenarios
        for item in scenario.pods_to_schedule:
            name = item.pod.spec.scheduler_name
            if scenario.setup.configuration.profile_for(name or "default-scheduler") is None:
                problem = f"pod {item.pod.key}: schedulerName {name} is none of the configuration's profiles"
                raise InputError(problem, source=item.origin, place="$.spec.schedulerName")
        whole = scenario.snapshot
        before, waiting = unbind_pods(whole, scenario.pods_to_schedule)
        session = scenario.with_snapshot(before).new_session()

        def result(fidelity: Fidelity) -> TrimResult:
            for gap in fidelity.touching:
                notes.warn(f"the decision may be another: {gap.what}: {gap.effect}")
            trimmed = trim(session, waiting, nodes_too=self.nodes_too, most_steps=self.most_steps)
            decision = check_and_write(trimmed, session, waiting, self.out, loosely=self.nodes_too)
            return build_trim_result(whole, trimmed, decision, self.out)

        return PendingResult([place_pods(session, waiting)], result)
