"""Questions about pods and nodes that move on purpose, for programs: the descheduler, and the upgrade of a pool."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from kwhatif.commands.api_options import AutoscaledKeywords, Path, ScenarioKeywords, Source, build_scenario
from kwhatif.simulation.pipeline import ask

if TYPE_CHECKING:
    from kwhatif.commands.deschedule.result import DescheduleResult
    from kwhatif.commands.upgrade.result import UpgradeResult


def deschedule(
    descheduler_policy: Path | Mapping[str, Any],
    *,
    snapshot: Source,
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
    from kwhatif.commands.deschedule.run import Deschedule

    given = descheduler_policy if isinstance(descheduler_policy, Mapping) else os.fspath(descheduler_policy)
    files = [os.fspath(file) for file in metrics]
    question = Deschedule(given, files, cycles, until_quiet, interval_seconds, dry_run)
    return ask(question, build_scenario((), snapshot, options))


def upgrade(
    pool: str,
    *,
    snapshot: Source,
    strategy: str = "surge",
    surge: int | str | None = None,
    unavailable: int | str | None = None,
    drain_timeout_seconds: float | None = None,
    grace_seconds: float | None = None,
    ready_after_seconds: float = 30.0,
    provision_seconds: float = 120.0,
    within_seconds: float | None = None,
    **options: Unpack[ScenarioKeywords],
) -> UpgradeResult:
    """What would replacing the nodes of a pool do, and would it end?

    The pool is a label selector, or the name of a node. ``strategy`` is one of those of the command, with its defaults.
    """
    from kwhatif.commands.upgrade.evictions import Times
    from kwhatif.commands.upgrade.run import PlanOptions, Upgrade

    plan = PlanOptions(
        None if surge is None else str(surge),
        None if unavailable is None else str(unavailable),
        drain_timeout=drain_timeout_seconds,
    )
    times = Times(grace_seconds, {"": ready_after_seconds})
    question = Upgrade(pool, strategy, plan, times, provision=provision_seconds, within=within_seconds)
    return ask(question, build_scenario((), snapshot, options))
