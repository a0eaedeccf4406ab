"""The question of ``diff --deschedule``: what do two policies of the descheduler differ in?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from kwhatif.commands.deschedule.options import ComparePoliciesOptions
from kwhatif.commands.deschedule.question import Deschedule
from kwhatif.commands.deschedule.result import DescheduleDiff, DescheduledPod, DescheduleResult, EvictionDifference
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_count
from kwhatif.results.outcome import DIFFERS, Outcome
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario


@dataclass(frozen=True, kw_only=True)
class ComparePolicies(ComparePoliciesOptions, Question[DescheduleDiff]):
    """Both policies of ``deschedule`` run on the same cluster, each until no pod is evicted or a state comes back."""

    several_runs: ClassVar[bool] = True

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if len(self.deschedule) != 2:
            raise UsageError(f"--deschedule is given {len(self.deschedule)} times: there are two sides")

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[DescheduleDiff]:
        sides = [
            Deschedule(descheduler_policy=policy, metrics=self.metrics, until_quiet=True).answer(scenarios, notes)
            for policy in self.deschedule
        ]
        a, b = (side.result for side in sides)
        deschedule_diff = DescheduleDiff(
            outcome=Outcome(good=True, verdict=""), a=a, b=b, pods=tuple(_differences(a, b))
        )
        return Answer(replace(deschedule_diff, outcome=_outcome_of(deschedule_diff)), sides[-1].ends)


def _outcome_of(result: DescheduleDiff) -> Outcome:
    """Good if nothing differs. Who waits is in the outcome of each side."""
    words = "both policies evict the same pods"
    if result.differs:
        pods = format_count(len(result.pods), "pod")
        words = f"{pods} evicted differently" if result.pods else "only after the first cycle"
    unknown = tuple(dict.fromkeys((*result.a.outcome.unknown, *result.b.outcome.unknown)))
    return Outcome.from_words(words, unknown, good=not result.differs, lead=DIFFERS)


def _differences(a: DescheduleResult, b: DescheduleResult) -> Iterator[EvictionDifference]:
    left, right = _first_cycle(a), _first_cycle(b)
    for pod in sorted({**left, **right}):
        one, other = left.get(pod), right.get(pod)
        some = one or other
        assert some is not None
        eviction_difference = EvictionDifference(
            pod=pod,
            node=some.node,
            plugin_a=one.plugin if one else "",
            plugin_b=other.plugin if other else "",
            lands_on_a=one.lands_on or one.outcome if one else "",
            lands_on_b=other.lands_on or other.outcome if other else "",
        )
        if (eviction_difference.plugin_a, eviction_difference.lands_on_a) != (
            eviction_difference.plugin_b,
            eviction_difference.lands_on_b,
        ):
            yield eviction_difference


def _first_cycle(result: DescheduleResult) -> dict[str, DescheduledPod]:
    return {pod.pod: pod for pod in result.pods if pod.cycle == 1}
