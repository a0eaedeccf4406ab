"""NodePools: the requirements of their machines, and their disruption budgets.

Upstream: pkg/apis/v1/nodepool.go, nodeclaimtemplate.go in pkg/controllers/provisioning/scheduling, and
BuildDisruptionBudgetMapping in pkg/controllers/disruption/helpers.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property

import msgspec

from kwhatif.api.meta import Labels
from kwhatif.api.node_provisioning import DisruptionBudget, NodePool
from kwhatif.autoscaling.karpenter.requirements import (
    NODE_POOL,
    NONE,
    Requirement,
    Requirements,
    merge_requirements,
    of_labels,
)
from kwhatif.autoscaling.karpenter.state import StateNode
from kwhatif.golang.cron import CronError, parse
from kwhatif.golang.parsing import SECOND, Duration


class NodeClaimTemplate(msgspec.Struct, frozen=True, dict=True):
    """The template of every new NodeClaim of a NodePool."""

    pool: NodePool

    @property
    def name(self) -> str:
        return self.pool.name

    @cached_property
    def labels(self) -> Labels:
        reference = self.pool.spec.template.spec.node_class_ref
        return {
            **(self.pool.spec.template.metadata.labels or {}),
            NODE_POOL: self.pool.name,
            f"{reference.group}/{reference.kind.lower()}": reference.name,
        }

    @cached_property
    def requirements(self) -> Requirements:
        return merge_requirements(pool_requirements(self.pool), *of_labels(self.labels).values())


def pool_requirements(pool: NodePool) -> Requirements:
    """The requirements of the pool, without its labels."""
    written = pool.spec.template.spec.requirements or ()
    return merge_requirements(
        NONE,
        *(
            Requirement.from_selector(
                pool_requirement.key,
                pool_requirement.operator,
                pool_requirement.values or (),
                pool_requirement.min_values,
            )
            for pool_requirement in written
        ),
    )


def by_weight(pools: list[NodePool]) -> list[NodePool]:
    """By falling weight; of equal weight, by falling name."""
    ordered = sorted(pools, key=lambda pool: pool.name, reverse=True)
    return sorted(ordered, key=lambda pool: -(pool.spec.weight or 0))


NO_LIMIT = 2**31 - 1
_DEFAULT = (DisruptionBudget(nodes="10%"),)


def allowed_disruptions(
    pools: Iterable[NodePool], nodes: Iterable[StateNode], now: int, reason: str
) -> Mapping[str, int]:
    """NodePool -> how many more of its nodes may be disrupted now. Nodes that are not ready or being deleted count
    already.
    """
    there: Counter[str] = Counter()
    disrupted: Counter[str] = Counter()
    for node in nodes:
        if not node.is_managed or not node.is_initialized or node.is_terminating or node.node is None:
            continue
        there[node.pool] += 1
        ready = any(
            condition.type == "Ready" and condition.status == "True" for condition in node.node.status.conditions or ()
        )
        disrupted[node.pool] += not ready or node.is_deleting
    return {
        pool.name: max(_allowed_disruptions_of(pool, there[pool.name], now, reason) - disrupted[pool.name], 0)
        for pool in pools
    }


def _allowed_disruptions_of(pool: NodePool, nodes: int, now: int, reason: str) -> int:
    budgets = pool.spec.disruption.budgets
    least = NO_LIMIT
    for budget in _DEFAULT if budgets is None else budgets:
        try:
            allowed = _of_budget(budget, nodes, now)
        except ValueError:
            return 0
        if budget.reasons is None or reason in budget.reasons:
            least = min(least, allowed)
    return least


_SOUGHT_MINUTES = 5 * 366 * 24 * 60
"""A run of a schedule is sought in five years, as upstream does; in them every day of a calendar comes."""


def _of_budget(budget: DisruptionBudget, nodes: int, now: int) -> int:
    """Raises ValueError for a budget that cannot be read."""
    if not _active(budget, now):
        return NO_LIMIT
    text = str(budget.nodes)
    if text.endswith("%"):
        return -(-int(text[:-1]) * nodes // 100)
    return int(text)


def _active(budget: DisruptionBudget, now: int) -> bool:
    """Whether the budget is active: its schedule was due within its duration."""
    if budget.schedule is None and budget.duration is None:
        return True
    schedule = parse(budget.schedule or "")
    if schedule is None:
        raise CronError("a budget's schedule is of fixed times")
    moment = datetime.fromtimestamp(now / SECOND, UTC)
    minutes = int(Duration.parse(budget.duration or "0") // (60 * SECOND))
    start = moment.replace(second=0, microsecond=0)
    # Due after the moment one duration ago, and not after now.
    first = moment - timedelta(minutes=min(minutes, _SOUGHT_MINUTES))
    day = start
    while day >= first.replace(hour=0, minute=0, second=0, microsecond=0):
        if schedule.due_on(day):
            hit = day
            while hit > first and hit.date() == day.date():
                if schedule.due(hit):
                    return True
                hit -= timedelta(minutes=1)
        day = day.replace(hour=23, minute=59) - timedelta(days=1)
    return False
