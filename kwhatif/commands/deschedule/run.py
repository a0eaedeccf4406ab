"""``deschedule`` as a question."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Unpack

from kwhatif.api.times import parse_time
from kwhatif.api.workloads_and_storage import PodDisruptionBudget, PriorityClass
from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, Path, ask, build_scenario
from kwhatif.commands.deschedule.cycles import MOST_CYCLES, Cycles
from kwhatif.commands.deschedule.deschedule import follow_cycles
from kwhatif.commands.deschedule.moves import Moves
from kwhatif.commands.deschedule.placement_before import add_placement_before
from kwhatif.commands.deschedule.policy_document import load_descheduler_policy
from kwhatif.commands.deschedule.result import DescheduleResult
from kwhatif.commands.deschedule.usage_files import read_usage
from kwhatif.commands.drain.eviction import EvictionBudgets
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.runs import place_scenario
from kwhatif.simulation.question import PendingResult, Question, Scenario
from kwhatif.snapshot.format.model import Snapshot

INTERVAL = 300.0
"""Seconds from one cycle to the next, as the chart and the documentation have it (``deschedulingInterval``)."""


@dataclass(frozen=True)
class Deschedule(Question[DescheduleResult]):
    """What would the descheduler evict by a ``policy``, a file or plain values, and what follows?

    ``cycles`` are followed, or as many as it takes with ``until_quiet``. ``metrics`` are files with what was measured.
    With ``dry_run`` budgets are not asked, as ``descheduler --dry-run`` does not.
    """

    several_runs: ClassVar[bool] = True

    policy: str | Mapping[str, Any] = ""
    metrics: Sequence[str] = ()
    cycles: int = 1
    until_quiet: bool = False
    interval: float = INTERVAL
    dry_run: bool = False

    def needs_pods(self, case: Scenario) -> bool:
        return False

    def check(self, case: Scenario) -> None:
        if not self.policy:
            raise UsageError("name the descheduler's policy: with --policy FILE")
        if case.inputs.manifests:
            raise UsageError("deschedule asks about pods that run: it takes no manifests")

    def answer(self, cases: Sequence[Scenario], notes: Notes) -> PendingResult[DescheduleResult]:
        (case,) = cases
        scaler = case.scaler
        before = place_scenario(case, scaler)
        snapshot = case.snapshot
        policy, source = load_descheduler_policy(self.policy, priorities_of(snapshot))
        session = case.session = case.new_session()
        now = moment_of(snapshot, notes)
        budgets = EvictionBudgets(snapshot.objects.list_all(PodDisruptionBudget))
        moves = Moves(session, budgets, scaler)
        usage = read_usage(self.metrics)
        found = Cycles(policy, moves, now, self.interval, usage, reviews=not self.dry_run)
        return add_placement_before(
            before, follow_cycles(found, source, MOST_CYCLES if self.until_quiet else self.cycles)
        )


def priorities_of(snapshot: Snapshot) -> dict[str, int]:
    """The values of the priority classes, by name."""
    return {each.name: each.value for each in snapshot.objects.list_all(PriorityClass)}


def moment_of(snapshot: Snapshot, notes: Notes) -> datetime:
    """When the first cycle is: when the snapshot was taken, else now."""
    if snapshot.taken_at:
        return parse_time(snapshot.taken_at)
    notes.note("the snapshot does not say when it was taken: ages of pods are those of today")
    return datetime.now(UTC)


def deschedule(
    descheduler_policy: Path | Mapping[str, Any],
    *,
    snapshot: ClusterSource,
    cycles: int = 1,
    until_quiet: bool = False,
    interval_seconds: float = 300.0,
    metrics: Sequence[Path] = (),
    dry_run: bool = False,
    **options: Unpack[AutoscaledKeywords],
) -> DescheduleResult:
    """What would the descheduler evict by a policy, and what follows?

    ``cycles`` are followed, or as many as it takes until nobody is evicted. ``metrics`` are files with what was
    measured. With ``dry_run`` budgets are not asked. The other ``policy`` is the scheduler's.
    """

    given = descheduler_policy if isinstance(descheduler_policy, Mapping) else os.fspath(descheduler_policy)
    files = [os.fspath(file) for file in metrics]
    question = Deschedule(given, files, cycles, until_quiet, interval_seconds, dry_run)
    return ask(question, build_scenario((), snapshot, options))
