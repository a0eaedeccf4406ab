"""Makes the replacement plan of an upgrade from its strategy and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kwhatif.commands.upgrade.evictions import EvictionTimes
from kwhatif.commands.upgrade.options import UpgradeOptions
from kwhatif.errors import UsageError
from kwhatif.upgrading.replacement_plan import ReplacementPlan, nodes_of
from kwhatif.upgrading.strategies import plan_of


def replacement_plan(options: UpgradeOptions, size: int, zones: int) -> ReplacementPlan:
    """The plan for a pool of ``size`` nodes in a number of ``zones``. Raises UsageError."""
    strategy, surge, unavailable = options.strategy, options.surge, options.unavailable
    plan = plan_of(strategy, size, zones).with_values(
        surge=None if surge is None else nodes_of(str(surge), size, up=True, option="--surge"),
        unavailable=None if unavailable is None else nodes_of(str(unavailable), size, up=False, option="--unavailable"),
        parallel=options.parallel,
        drain_timeout=options.drain_timeout_seconds,
        after_timeout=options.after_timeout,
        node_soak=options.node_soak_seconds,
        pool_soak=options.pool_soak_seconds,
        delete_policy=options.delete_policy,
    )
    if strategy == "eks" and unavailable is not None:
        # What EKS calls maxUnavailable is how many are drained at a time; as many more nodes are there.
        parallel = max(plan.unavailable, 1)
        plan = replace(plan, parallel=parallel, surge=max(plan.surge, parallel), unavailable=0)
    if plan.keeps_old and not (surge is unavailable is None):
        raise UsageError(f"{strategy} makes a whole new pool first: --surge and --unavailable are not for it")
    if options.delete_policy is not None and strategy != "capi":
        raise UsageError(f"--delete-policy is Cluster API's, and not for {strategy}")
    plan.check()
    return plan


def eviction_times(options: UpgradeOptions) -> EvictionTimes:
    """How long pods take to go and to become ready."""
    ready = options.ready_after_seconds
    return EvictionTimes(options.grace_seconds, ready if isinstance(ready, Mapping) else {"": ready})
