"""The question of ``deschedule``, and its Python function."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Unpack

from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, Path, ask, build_scenario
from kwhatif.commands.deschedule.cycles import MOST_CYCLES, Cycles
from kwhatif.commands.deschedule.deschedule import follow_cycles
from kwhatif.commands.deschedule.moves import Moves
from kwhatif.commands.deschedule.options import INTERVAL, DescheduleOptions
from kwhatif.commands.deschedule.policy_document import require_descheduler_policy
from kwhatif.commands.deschedule.removals import Removals
from kwhatif.commands.deschedule.result import DescheduleResult
from kwhatif.commands.deschedule.usage_files import read_usage
from kwhatif.errors import UsageError
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.simulation.autoscalers.node_groups import observation_time_of
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.runs import add_placement_before, place_scenario
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.session import pending_pods
from kwhatif.snapshot.format.model import Snapshot


@dataclass(frozen=True)
class Deschedule(DescheduleOptions, Question[DescheduleResult]):
    """What would the descheduler evict by its policy (a file, plain values, or the snapshot's), and what follows?

    ``cycles`` are followed, or as many as it takes with ``until_quiet``. ``metrics`` are files with what was measured.
    With ``dry_run`` budgets are not asked, as ``descheduler --dry-run`` does not.
    """

    several_runs: ClassVar[bool] = True

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if scenario.inputs.manifests:
            raise UsageError("deschedule asks about pods that run: it takes no manifests")

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[DescheduleResult]:
        (scenario,) = scenarios
        scaler = scenario.scaler
        scenario, before = place_scenario(scenario, scaler)
        snapshot = scenario.snapshot
        policy, source = require_descheduler_policy(self.descheduler_policy, snapshot)
        session = scenario.new_session()
        now = moment_of(snapshot, scenario.inputs.now, notes)
        budgets = EvictionBudgets(snapshot.objects.list_all(PodDisruptionBudget))
        moves = Moves(session, budgets, scaler)
        usage = read_usage(self.metrics)
        found = Cycles(policy, moves, now, self.interval_seconds, usage, reviews=not self.dry_run)
        removals = self._removals(scenario)
        cycles = MOST_CYCLES if self.until_quiet else self.cycles
        answer = follow_cycles(found, source, cycles, removals, before, **scenario.refusal_fields)
        return add_placement_before(before, answer)

    @staticmethod
    def _removals(scenario: PreparedScenario) -> Removals | None:
        """What autoscalers, if there are any, would take away without the descheduler."""
        scaler = scenario.scaler
        if scaler is None:
            return None
        return Removals(scenario.new_session(), scaler, [asked.pod for asked in pending_pods(scenario.snapshot)])


def moment_of(snapshot: Snapshot, now: datetime | None, notes: Notes) -> datetime:
    """When the first cycle is: the given time, else when the snapshot was taken, else now."""
    if now is None and not snapshot.taken_at:
        notes.note("the snapshot does not say when it was taken: ages of pods are those of today")
    return observation_time_of(snapshot, now)


def deschedule(
    descheduler_policy: Path | Mapping[str, Any] = "",
    *,
    snapshot: ClusterSource,
    cycles: int = 1,
    until_quiet: bool = False,
    interval_seconds: float = INTERVAL,
    metrics: Sequence[Path] = (),
    dry_run: bool = False,
    **options: Unpack[AutoscaledKeywords],
) -> DescheduleResult:
    """What would the descheduler evict by a policy, and what follows?

    Without a policy it is the one that the snapshot has. ``cycles`` are followed, or as many as it takes until no pod
    is evicted. ``metrics`` are files with what was measured. With ``dry_run`` budgets are not asked. The other
    ``policy`` is the scheduler's.
    """

    given = descheduler_policy if isinstance(descheduler_policy, Mapping) else os.fspath(descheduler_policy)
    files = [os.fspath(file) for file in metrics]
    question = Deschedule(given, cycles, until_quiet, interval_seconds, files, dry_run)
    return ask(question, build_scenario((), snapshot, options))
