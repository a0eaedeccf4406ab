"""How many nodes of a NodePool may be disrupted at once, for a reason.

Upstream: pkg/apis/v1/nodepool.go, BuildDisruptionBudgetMapping in pkg/controllers/disruption/helpers.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from kwhatif.api.node_pools import DisruptionBudget, NodePool
from kwhatif.autoscaling.karpenter.state import StateNode
from kwhatif.golang.cron import CronError, parse
from kwhatif.golang.duration import SECOND, Duration

NO_LIMIT = 2**31 - 1
_DEFAULT = (DisruptionBudget(nodes="10%"),)


def allowed_disruptions(
    pools: Iterable[NodePool], nodes: Iterable[StateNode], now: int, reason: str
) -> Mapping[str, int]:
    """NodePool -> how many more of its nodes may be disrupted now. Nodes not ready or going count already."""
    there: Counter[str] = Counter()
    disrupted: Counter[str] = Counter()
    for node in nodes:
        if not node.managed or not node.initialized or node.terminating or node.node is None:
            continue
        there[node.pool] += 1
        ready = any(each.type == "Ready" and each.status == "True" for each in node.node.status.conditions or ())
        disrupted[node.pool] += not ready or node.deleting
    return {pool.name: max(_allowed(pool, there[pool.name], now, reason) - disrupted[pool.name], 0) for pool in pools}


def _allowed(pool: NodePool, nodes: int, now: int, reason: str) -> int:
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


def _of_budget(budget: DisruptionBudget, nodes: int, now: int) -> int:
    """Raises ValueError for a budget that cannot be read."""
    if not _active(budget, now):
        return NO_LIMIT
    text = str(budget.nodes)
    if text.endswith("%"):
        return -(-int(text[:-1]) * nodes // 100)
    return int(text)


def _active(budget: DisruptionBudget, now: int) -> bool:
    """Whether the budget's schedule was due within its duration."""
    if budget.schedule is None and budget.duration is None:
        return True
    schedule = parse(budget.schedule or "")
    if schedule is None:
        raise CronError("a budget's schedule is of fixed times")
    moment = datetime.fromtimestamp(now / SECOND, UTC)
    minutes = int(Duration.parse(budget.duration or "0") // (60 * SECOND))
    start = moment.replace(second=0, microsecond=0)
    whole = timedelta(minutes=minutes)
    # Due after the moment one duration ago, and not after now.
    return any(
        schedule.due(hit) for back in range(minutes + 1) if moment - (hit := start - timedelta(minutes=back)) < whole
    )
