"""The result of descheduler cycles: evictions with reasons, new nodes, balance, and repeated evictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import is_of_daemon_set
from kwhatif.cluster.cluster import Cluster
from kwhatif.commands.deschedule.balance import compare_balance, list_removed_nodes, observe_balance
from kwhatif.commands.deschedule.cycles import Cycles, FollowedCycle, Move, Moves
from kwhatif.commands.deschedule.result import (
    DescheduledPod,
    DescheduleResult,
    NodeBalance,
    PluginOutcome,
    ProtectedPods,
    RefusedEviction,
    RemovedNode,
    Thrash,
)
from kwhatif.descheduling.descheduler import Cycle
from kwhatif.results.amounts import format_count
from kwhatif.results.outcome import NodeCount, Outcome
from kwhatif.results.place import Placement, ScaleUp
from kwhatif.simulation.autoscalers.scaler import apply_scale_up
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.placement.conclusion import conclude_in_words, words_of_driven_out
from kwhatif.simulation.placement.recreated_pods import owner_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.verdict import words_of_good, words_of_growth
from kwhatif.simulation.question import Answer

_SHARES = ("cpu", "memory")


def follow_cycles(
    cycles: Cycles,
    policy: str,
    at_most: int,
    removed_anyway: Collection[str] = (),
    before: Run | None = None,
    **never_made: Any,
) -> Answer[DescheduleResult]:
    """Run the cycles, and tell. ``policy`` is what messages call the policy; autoscalers would remove some nodes
    ``anyway``; what was ``never_made`` is so many fields of a run.
    """
    session, moves = cycles.moves.session, cycles.moves
    shares, observed = _shares_by_node(session.cluster), observe_balance(session.cluster)
    following = cycles.run(at_most)
    first = cycles.followed[0].cycle if cycles.followed else following
    placements = tuple(moves.run.placements)
    scale_up: ScaleUp | None = None
    if moves.scaler is not None:
        explained, scale_up = apply_scale_up(moves.scaler, session, placements)
        placements = tuple(explained)
    every = [followed_cycle.cycle for followed_cycle in cycles.followed]
    after, balance = _shares_by_node(session.cluster), compare_balance(observed, observe_balance(session.cluster))
    empty = _empty(session.cluster, moves.pods)
    removed, left = tuple[RemovedNode, ...](), session
    if moves.scaler is not None:
        waiting = [pod for pod in moves.pods.values() if not pod.spec.node_name and not pod.is_finished]
        removed, left = list_removed_nodes(session, moves.scaler, waiting, empty, removed_anyway)
    evicted = [eviction.pod.key for cycle in every for eviction in cycle.evictions]
    costs, counts = [node.cost for node in removed], Counter(node.group for node in removed)
    run = structs.replace(
        _run_of(moves, before),
        placements=placements,
        after=left,
        scale_up=scale_up,
        removed_nodes=tuple(NodeCount(group=group, nodes=nodes) for group, nodes in sorted(counts.items())),
        saved=None if None in costs else sum(cost for cost in costs if cost is not None),
        evicted=evicted,
        **never_made,
    )
    result = DescheduleResult(
        outcome=Outcome(good=True, verdict=""),
        policy=policy,
        cycles=len(cycles.followed),
        interval=cycles.interval,
        skipped=first.skipped,
        pods=tuple(_pods(cycles, following, {placement.pod: placement for placement in placements})),
        refused=tuple(_refusals(every or [following], moves.budgets.names_of)),
        plugins=tuple(_plugins(every or [following])),
        protected=tuple(_protections(first)),
        nodes=tuple(_nodes(shares, after, first, following)),
        empty_nodes=tuple(empty),
        placements=tuple(placement for placement in placements if placement.pod not in moves.pending),
        helped=tuple(placement.pod for placement in placements if placement.pod in moves.pending and placement.good),
        budgets=moves.budgets.uses(),
        quiet=not following.evictions,
        next_evictions=tuple(eviction.pod.key for eviction in following.evictions),
        thrash=tuple(_thrash(cycles)),
        balance=balance if every else None,
        removed_nodes=removed,
        scale_up=scale_up,
        fidelity=assess(run, before),
    )
    placed = "" if before is None else f"{words_of_good(before.placements)} placed before"
    return Answer(replace(result, outcome=outcome_of_cycles(result, run, placed)), [run], placements)


def _run_of(moves: Moves, before: Run | None) -> Run:
    """The run of all cycles.

    Pods that waited in the snapshot are tried beside the others and not asked about; those that edits left without a
    node are, and may have found one by now.
    """
    if before is None:
        return moves.recreated.run_of({}, moves.pending)
    tried = {*moves.pending}
    untried = tuple(pod for pod in before.pending if pod.pod not in tried)
    run = moves.recreated.run_of({pod.pod: pod.cause for pod in before.pending}, tried)
    return run.following(structs.replace(before, pending=untried))


# --- pods


def _pods(cycles: Cycles, following: Cycle, placements: Mapping[str, Placement]) -> Iterator[DescheduledPod]:
    later = [*(followed_cycle.cycle for followed_cycle in cycles.followed[1:]), following][: len(cycles.followed)]
    for number, (followed, after) in enumerate(zip(cycles.followed, later, strict=True), start=1):
        again = {eviction.pod.key for eviction in after.evictions}
        for eviction, move in followed.evictions:
            replacement = move.taken.item.pod.key if move.taken is not None else ""
            stands = replacement
            while stands in cycles.moves.successors:
                stands = cycles.moves.successors[stands]
            placement = placements.get(stands)
            lands_on = placement.node if placement is not None and placement.good else ""
            yield DescheduledPod(
                cycle=number,
                pod=eviction.pod.key,
                node=eviction.node,
                profile=eviction.profile,
                plugin=eviction.plugin,
                reason=eviction.reason,
                outcome=_outcome(move, eviction.node, lands_on),
                owner=owner_of(eviction.pod),
                replacement=replacement,
                lands_on=lands_on,
                again=replacement in again,
            )


def _outcome(move: Move, node: str, lands_on: str) -> str:
    if move.taken is None:
        return "gone"
    if not lands_on:
        return "pending"
    return "returned" if lands_on == node else "moved"


def _refusals(cycles: Sequence[Cycle], budget_of: Callable[[Pod], str]) -> Iterator[RefusedEviction]:
    for number, cycle in enumerate(cycles, start=1):
        for eviction in (*cycle.refused, *cycle.failed):
            yield RefusedEviction(
                cycle=number,
                pod=eviction.pod.key,
                node=eviction.node,
                profile=eviction.profile,
                plugin=eviction.plugin,
                limit=eviction.limit,
                budget=budget_of(eviction.pod) if eviction.refusal else "",
                message=eviction.refusal,
            )


def _plugins(cycles: Sequence[Cycle]) -> Iterator[PluginOutcome]:
    for number, cycle in enumerate(cycles, start=1):
        counts: dict[tuple[str, str], int] = {}
        for eviction in cycle.evictions:
            counts[eviction.profile, eviction.plugin] = counts.get((eviction.profile, eviction.plugin), 0) + 1
        errors = {(error.profile, error.plugin): error.text for error in cycle.errors}
        stops = {
            (utilization.profile, utilization.plugin): utilization.stopped
            for utilization in cycle.utilization
            if utilization.stopped
        }
        for profile, plugin in dict.fromkeys((*counts, *stops, *errors)):
            key = profile, plugin
            yield PluginOutcome(
                cycle=number,
                profile=profile,
                plugin=plugin,
                evicted=counts.get(key, 0),
                error=errors.get(key, ""),
                stopped=stops.get(key, ""),
            )


def _protections(cycle: Cycle) -> Iterator[ProtectedPods]:
    for profile, pods in cycle.protected.items():
        by_reason: dict[str, list[str]] = {}
        for pod, reasons in pods.items():
            for reason in reasons:
                by_reason.setdefault(reason, []).append(pod)
        for reason, those in sorted(by_reason.items()):
            yield ProtectedPods(profile=profile, reason=reason, pods=tuple(those))


def _thrash(cycles: Cycles) -> Iterator[Thrash]:
    """The pods that moved since the state that has come back, each by the name that the first of its line bore."""
    if cycles.recurrence is None:
        return
    period = cycles.recurrence.period
    since: list[FollowedCycle] = cycles.followed[-period:]
    ways: dict[str, list[str]] = {}
    plugins: dict[str, dict[str, None]] = {}
    owners: dict[str, str] = {}
    for followed in since:
        for eviction, move in followed.evictions:
            lands_on = move.taken.placement.node if move.taken is not None else ""
            way = ways.setdefault(move.root, [eviction.node])
            way.append(lands_on)
            plugins.setdefault(move.root, {})[eviction.plugin] = None
            owners[move.root] = owner_of(eviction.pod)
    for root, way in ways.items():
        yield Thrash(pod=root, owner=owners[root], plugins=tuple(plugins[root]), nodes=tuple(way), period=period)


# --- nodes


_NodeShares = tuple[int, float, float]
"""Pods, and percent of cpu and of memory that they request."""


def _shares_by_node(cluster: Cluster) -> dict[str, _NodeShares]:
    columns, names = cluster.columns, cluster.shapes.resources.names
    rows = {name: index for index, name in enumerate(names)}
    nodes: dict[str, _NodeShares] = {}
    for row, node in enumerate(columns.names):
        shares = []
        for resource in _SHARES:
            column = rows.get(resource)
            has = int(columns.allocatable[row, column]) if column is not None else 0
            asks = int(cluster.requested[row, column]) if column is not None else 0
            shares.append(round(100 * asks / has, 1) if has else 0.0)
        nodes[node] = (int(cluster.pod_count[row]), shares[0], shares[1])
    return nodes


def _nodes(
    before: Mapping[str, _NodeShares], after: Mapping[str, _NodeShares], first: Cycle, last: Cycle
) -> Iterator[NodeBalance]:
    nothing: _NodeShares = (0, 0.0, 0.0)
    earlier, later = _categories(first), _categories(last)
    for node in sorted(after):
        was, now = before.get(node, nothing), after[node]
        yield NodeBalance(
            node=node,
            pods_before=was[0],
            pods_after=now[0],
            cpu_before=was[1],
            cpu_after=now[1],
            memory_before=was[2],
            memory_after=now[2],
            category_before=earlier.get(node, ""),
            category_after=later.get(node, ""),
        )


def _categories(cycle: Cycle) -> dict[str, str]:
    """What the first utilization plugin of a cycle calls the nodes."""
    runs = cycle.utilization
    return {name: use.category for name, use in runs[0].nodes.items()} if runs else {}


def _empty(cluster: Cluster, pods: Mapping[str, Pod]) -> list[str]:
    """Nodes whose last pods went, but for those of daemon sets and static ones."""
    busy = {
        pod.spec.node_name
        for pod in pods.values()
        if not pod.is_mirror and not is_of_daemon_set(pod) and not pod.is_finished
    }
    return sorted(name for name in cluster.columns.names if name not in busy)


def outcome_of_cycles(result: DescheduleResult, run: Run, before: str = "") -> Outcome:
    """Good if every evicted pod has a node in the end and is left alone there, and no plugin failed.

    The verdict says ``before`` the rest what became of pods that were placed first.
    """
    bad = bool(result.thrash or result.evicted_again or result.broken_plugins)
    words = [before, *_words_of(result, run)]
    return conclude_in_words(
        run, result.fidelity, words, bad=bad, lead=("Safe to deschedule", "Not safe to deschedule")
    )


def _words_of(result: DescheduleResult, run: Run) -> Iterator[str]:
    """``2 evictions in 2 cycles, 2 to another node``, ``1 pod moves forever``."""
    if result.skipped:
        yield "the descheduler does nothing with fewer than two ready nodes"
    elif not result.pods:
        yield "no pod is evicted"
        if result.refused:
            yield f"{format_count(len(result.refused), 'eviction')} refused"
    else:
        yield ", ".join(_words_of_evictions(result, run))
        yield from _words_of_rest(result)
    if result.broken_plugins:
        names = dict.fromkeys(broken_plugin.plugin for broken_plugin in result.broken_plugins)
        yield f"{', '.join(names)} failed"


def _words_of_evictions(result: DescheduleResult, run: Run) -> Iterator[str]:
    yield f"{format_count(len(result.pods), 'eviction')} in {format_count(result.cycles, 'cycle')}"
    for outcome, words in (
        ("moved", "to another node"),
        ("returned", "back to the same node"),
        ("gone", "not recreated"),
    ):
        count = sum(pod.outcome == outcome for pod in result.pods)
        if count:
            yield f"{count} {words}"
    yield from words_of_driven_out(run)
    if run.pending:
        yield f"{format_count(len(run.pending), 'pod')} pending"
    yield from words_of_growth(result.scale_up)
    gone = [node for node in result.removed_nodes if not node.anyway]
    if gone:
        yield f"{format_count(len(gone), 'more node')} removable"
    if result.balance is not None and not result.balance.better:
        yield "balance no better"


def _words_of_rest(result: DescheduleResult) -> Iterator[str]:
    if result.thrash:
        yield f"{format_count(len(result.thrash), 'pod moves', 'pods move')} forever"
    elif result.quiet:
        yield "the next cycle evicts no pod"
    else:
        text = f"the next cycle evicts {format_count(len(result.next_evictions), 'pod')}"
        again = len(result.evicted_again)
        yield f"{text}, {again} of them again" if again else text
