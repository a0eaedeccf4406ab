"""The outcome and the verdict line of a pool's upgrade, and its cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate

from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.commands.upgrade.result import UpgradeCost, UpgradeResult
from kwhatif.results.amounts import format_clock, format_count, format_some
from kwhatif.results.outcome import Outcome
from kwhatif.simulation.autoscalers.node_prices import Prices, prices_of
from kwhatif.simulation.placement.conclusion import conclude_in_words, words_of_driven_out
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.verdict import words_of_growth


def outcome_of_upgrade(result: UpgradeResult, run: Run, before: str = "") -> Outcome:
    """Good if the pool is replaced in time, nothing had to be forced, and every pod has a node in the end.

    The verdict says ``before`` the rest what became of pods that were placed first.
    """
    bad = result.phase != "done" or result.late or bool(result.forced)
    words = [before, *_words_of(result, run)]
    return conclude_in_words(run, result.fidelity, words, bad=bad, lead=("Safe to upgrade", "Not safe to upgrade"))


def _words_of(result: UpgradeResult, run: Run) -> Iterator[str]:
    """``3 nodes replaced in 8:40 (surge)``, ``4 nodes at most``, ``0.14 extra node hours``."""
    yield _words_of_end(result)
    if result.forced:
        yield f"{format_count(len(result.forced), 'pod')} deleted by force"
    yield from words_of_driven_out(run)
    if run.pending:
        yield f"{format_count(len(run.pending), 'pod')} pending afterwards"
    yield from [", ".join(words)] if (words := words_of_growth(result.scale_up)) else []
    peak = f"{format_count(result.peak_nodes, 'node')} at most"
    if result.more_node_hours is not None:
        yield f"{peak}, {result.more_node_hours:g} extra node hours"
    else:
        last = result.moments[-1]
        extra = last.old + last.new - len(result.nodes)
        yield f"{peak}, {extra} extra for as long as it hangs" if extra > 0 else peak
    yield from [] if result.cost is None else _words_of_cost(result.cost)


def _words_of_end(result: UpgradeResult) -> str:
    size = format_count(len(result.nodes), "node")
    if result.phase == "done":
        text = f"{size} replaced in {format_clock(result.time)} ({result.strategy})"
        return f"{text}, longer than {format_clock(result.within or 0.0)}" if result.late else text
    ends = "hangs" if result.phase == "hangs" else "fails"
    done = sum(node.deleted is not None for node in result.nodes)
    text = f"{done} of {size} replaced, {ends} after {format_clock(result.time)} ({result.strategy})"
    budgets = sorted({obstacle.budget for obstacle in result.obstacles if obstacle.budget})
    return f"{text}, blocked by budget {format_some(budgets)}" if budgets else text


def _words_of_cost(cost: UpgradeCost) -> Iterator[str]:
    if cost.usual is not None and cost.peak is not None:
        more = "" if cost.more is None else f"{cost.more:,.2f} more to pay, "
        yield f"{more}{cost.peak:,.2f} an hour at most in place of {cost.usual:,.2f}"


def cost_of(
    nodes: Iterable[Node],
    new: Mapping[str, float],
    deleted: Mapping[str, float],
    end: float | None,
    prices: Prices,
) -> UpgradeCost:
    """The cost of a pool's old and new ``nodes`` until the ``end``, if there is one; times are in seconds.

    ``new`` has when each new node came; what would come later is never there. Without all prices there are no sums.
    """
    there = list(nodes)
    known, unknown = prices_of(there, prices)
    if unknown:
        return UpgradeCost(unknown=unknown)
    old = [node.name for node in there if node.name not in new]
    usual = sum(known[name] for name in old)
    changes = sorted(_changes(known, new, deleted))
    running = list(accumulate((change for _, change in changes), initial=usual))
    cost = UpgradeCost(usual=round(usual, 4), peak=round(max(running), 4))
    if end is None:
        return cost
    more = sum(known[name] * (end - time) for name, time in new.items() if name in known)
    less = sum(known[name] * (end - time) for name, time in deleted.items() if name in known)
    return replace(cost, more=round((more - less) / 3600, 4))


def _changes(
    prices: Mapping[str, float], creations: Mapping[str, float], deleted: Mapping[str, float]
) -> Iterator[tuple[float, float]]:
    """Times and by how much an hour costs more from then on; at one time what is less comes first."""
    for name, time in creations.items():
        yield time, prices[name]
    for name, time in deleted.items():
        yield time, -prices[name]
