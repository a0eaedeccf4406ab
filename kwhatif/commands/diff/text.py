"""Differences as blocks: a summary, each pod, the scores, and the cluster afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kwhatif.commands.diff.verdict import WORDS
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Grouping, Heading, Lines, build_table, join_texts, table
from kwhatif.render.page_spec import PageSpec, answer_by_outcome
from kwhatif.render.sections import fidelity_blocks, verdict_of
from kwhatif.results.amounts import format_column, format_count, format_some
from kwhatif.results.diff import ClusterUse, DecisionDiff, NodeScores, PodChange

MOST_RULES = 12


def diff_blocks(result: DecisionDiff, *, everything: bool = False) -> list[Block]:
    """The report; ``everything`` leaves out nothing, however long it gets."""
    blocks: list[Block] = [
        Facts((("A", result.a.label), ("B", result.b.label))),
        verdict_of(result.outcome),
    ]
    moved = [change for change in result.changes if change.what == "moved"]
    others = [change for change in result.changes if change.what != "moved"]
    rows = [(_format_pod(change), change.node_a, change.node_b, _deciders(change)) for change in moved]
    blocks += build_table(
        "MOVED", ("pod [pod, same]", "from (A) [node]", "to (B) [node]", "decided by [same]"), rows, Grouping("pod")
    )
    for workload in dict.fromkeys(change.swapped for change in moved if change.swapped):
        blocks.append(Lines((f"Replicas of {workload} swapped nodes; each node has as many in B as in A.",)))
    blocks += _scores(moved, everything)
    rows = [(_format_pod(change), WORDS[change.what], *_ends(change)) for change in others]
    blocks += build_table(
        "OTHERWISE", ("pod [pod, same]", "what [same]", "A [node]", "B [node]"), rows, Grouping("pod")
    )
    headers = ("side [same]", "pod [pod]", "workload [same]", "why [same]")
    blocks += build_table("PENDING", headers, _pending(result), Grouping("pod"))
    away = [(refusal.side, refusal.object, refusal.message) for refusal in result.refusals]
    blocks += _rollouts(result)
    blocks += build_table("REFUSED BY ONE SIDE", ("side", "object", "message"), away)
    blocks += build_table("REFUSED BY BOTH SIDES", ("object", "pods", "message"), _refused_by_both(result))
    blocks += build_table("ADDED BY AUTOSCALERS", ("", "A [name]", "B [name]", "Δ [name]"), _growth(result))
    blocks += _afterwards(result, everything)
    blocks += _skews(result)
    blocks += _rules(result, everything)
    if result.a.fidelity == result.b.fidelity:
        return [*blocks, *fidelity_blocks(result.a.fidelity, result.a.outcome.unknown)]
    return [
        *blocks,
        Heading("A IS BASED ON"),
        *fidelity_blocks(result.a.fidelity, result.a.outcome.unknown),
        Heading("B IS BASED ON"),
        *fidelity_blocks(result.b.fidelity, result.b.outcome.unknown),
    ]


def _refused_by_both(result: DecisionDiff) -> list[tuple[str, str, str]]:
    """Objects that are refused, and pods that are not created, whatever the side."""
    refused = [
        {
            *((refusal.object, NONE, refusal.why) for refusal in outcome.refused),
            *((failed.workload, str(failed.pods), failed.why) for failed in outcome.not_created),
        }
        for outcome in (result.a.outcome, result.b.outcome)
    ]
    return sorted(refused[0] & refused[1])


def _format_pod(change: PodChange) -> str:
    """``shop/web-5d4c7-1``, with the pod that stands for it in B where that is called otherwise."""
    return f"{change.pod} (B: {change.pod_b.partition('/')[2]})" if change.pod_b else change.pod


def _pending(result: DecisionDiff) -> list[tuple[str, str, str, str]]:
    """Who waits at rest on either side, or on both for one reason."""
    sides: dict[tuple[str, str, str], str] = {}
    for side, outcome in (("A", result.a.outcome), ("B", result.b.outcome)):
        for pod in outcome.pending:
            row = pod.pod, pod.workload or NONE, pod.why or NONE
            sides[row] = f"{sides[row]}, {side}" if row in sides else side
    return [(side, *row) for row, side in sides.items()]


def _rollouts(result: DecisionDiff) -> list[Block]:
    """Updates of either side, or of both where they go alike."""
    seen: dict[tuple[str, ...], str] = {}
    for side, rollouts in (("A", result.a.rollouts), ("B", result.b.rollouts)):
        for plan in rollouts:
            row = (plan.object, *map(str, (plan.creates, plan.keeps, plan.removes)), plan.unfinished or "goes through")
            seen[row] = f"{seen[row]}, {side}" if row in seen else side
    headers = ("side", "object", "create", "keep", "remove", "outcome")
    return build_table("ROLLOUTS", headers, [(side, *row) for row, side in seen.items()])


def _deciders(change: PodChange) -> str:
    deciders = [f"{plugin} {_format_signed(by)}" for plugin, by in change.decided_by if by > 0]
    against = [f"{plugin} {_format_signed(by)}" for plugin, by in change.decided_by if by < 0]
    return format_some([*deciders, *against], 4) or _no_score(change)


def _no_score(change: PodChange) -> str:
    """Why there is nothing to compare: a side did not score the other's node."""
    for scores in change.scores:
        if scores.missing:
            node = change.node_b if scores.side == "A" else change.node_a
            return f"{scores.side} did not score {node}: {scores.missing}"
    return NONE


def _ends(change: PodChange) -> tuple[str, str]:
    return (change.node_a or change.message_a or NONE, change.node_b or change.message_b or NONE)


def _scores(moved: Sequence[PodChange], everything: bool) -> Iterator[Block]:
    """The scores of the first pod that moved, if possible not in a swap, or of all of them."""
    explained = [change for change in moved if change.decided_by]
    if not everything:
        explained.sort(key=lambda change: bool(change.swapped))
    for change in explained if everything else explained[:1]:
        plugins = sorted({plugin for scores in change.scores for plugin in (scores.of_a or {}) | (scores.of_b or {})})
        turned = dict(change.decided_by)
        rows = [
            (
                plugin,
                *(cell for scores in change.scores for cell in _cells(scores, plugin)),
                _format_signed(turned.get(plugin, 0)),
            )
            for plugin in plugins
            if any((of or {}).get(plugin) for scores in change.scores for of in (scores.of_a, scores.of_b))
        ]
        totals = [str(sum((of or {}).values())) for scores in change.scores for of in (scores.of_a, scores.of_b)]
        rows.append(("total", *totals, _format_signed(sum(turned.values()))))
        yield Heading(f"WHY {change.pod} MOVED from {change.node_a} to {change.node_b}", "Why they moved")
        yield table(
            ("plugin", "A: from [name]", "A: to [name]", "B: from [name]", "B: to [name]", "to gains in B [name]"),
            tuple(rows),
        )


def _cells(scores: NodeScores, plugin: str) -> tuple[str, str]:
    return (str((scores.of_a or {}).get(plugin, NONE)), str((scores.of_b or {}).get(plugin, NONE)))


def _afterwards(result: DecisionDiff, everything: bool) -> Iterator[Block]:
    """The measures that differ; the others are counted."""
    measures = list(_effects(result))
    differing = measures if everything else [row for row in measures if row[1] != row[2]]
    yield from build_table("CLUSTER AFTERWARDS", ("", "A [name]", "B [name]", "Δ [name]"), differing)
    if any(row[0] == "nodes empty" for row in differing) and (result.cluster_a.empty or result.cluster_b.empty):
        empty = (("A", result.cluster_a.empty_nodes), ("B", result.cluster_b.empty_nodes))
        yield Lines(tuple(f"empty in {side}: {format_some(names, 8)}" for side, names in empty if names))
    if same := len(measures) - len(differing):
        others = format_count(same, f"{'other ' if differing else ''}measure")
        yield Lines((f"{others} of the cluster {'is' if same == 1 else 'are'} the same afterwards; --all shows them",))


def _effects(result: DecisionDiff) -> Iterator[tuple[str, ...]]:
    a, b = result.cluster_a, result.cluster_b
    for name, x, y in (("nodes in use", a.used, b.used), ("nodes empty", a.empty, b.empty), ("pods", a.pods, b.pods)):
        yield (name, str(x), str(y), _format_signed(y - x))
    # Resources that no pod asks for are left out.
    for name in dict.fromkeys(use.resource for cluster in (a, b) for use in cluster.resources if use.maximum):
        yield from _of_resource(name, a, b)


def _growth(result: DecisionDiff) -> Iterator[tuple[str, ...]]:
    """What autoscalers add on either side: nodes by group, and what all of them cost a month."""
    ours, theirs = result.a.growth, result.b.growth
    for autoscaler, group in sorted(ours | theirs):
        x, y = ours.get((autoscaler, group), 0), theirs.get((autoscaler, group), 0)
        kind = "nodes of NodePool" if autoscaler == "Karpenter" else "nodes of group"
        yield (f"{kind} {group}", str(x), str(y), _format_signed(y - x))
    costs = [side.scale_up.cost if side.scale_up and side.scale_up.nodes else 0.0 for side in (result.a, result.b)]
    if ours or theirs:
        spelt = ["unknown" if cost is None else f"{cost:,.2f}" for cost in costs]
        known = [cost for cost in costs if cost is not None]
        delta = f"{known[1] - known[0]:+,.2f}" if len(known) > 1 else NONE
        yield ("more a month", *spelt, delta)


def _of_resource(name: str, a: ClusterUse, b: ClusterUse) -> Iterator[tuple[str, ...]]:
    ours, theirs = (
        next((use for use in cluster_use.resources if use.resource == name), None) for cluster_use in (a, b)
    )
    for what in ("mean", "deviation", "maximum"):
        x, y = (None if use is None else float(getattr(use, what)) for use in (ours, theirs))
        delta = NONE if x is None or y is None else _format_signed(round(y - x, 1))
        yield (f"{name} {what}", *(NONE if value is None else f"{value}%" for value in (x, y)), delta)
    free = [None if use is None else use.largest_free for use in (ours, theirs)]
    by = free[1] - free[0] if free[0] is not None and free[1] is not None else 0
    *spelt, delta = format_column(name, [*(value or 0 for value in free), by])
    spelt = [NONE if value is None else text for value, text in zip(free, spelt, strict=True)]
    delta = NONE if None in free else f"+{delta}" if by > 0 else delta
    yield (f"{name} largest free", *spelt, delta)


def _skews(result: DecisionDiff) -> list[Block]:
    rows = [(skew.workload, skew.a, skew.b, _format_signed(skew.b - skew.a)) for skew in result.skews]
    return build_table("ZONE SKEW", ("workload", "A", "B", "Δ"), rows, Grouping("workload"))


def _rules(result: DecisionDiff, everything: bool) -> Iterator[Block]:
    """The rules that differ and that touch plugins which decided otherwise; the others are counted."""
    touching = [rule for rule in result.rules if rule.touches]
    shown = list(result.rules) if everything else touching[:MOST_RULES]
    rows = [(rule.what, "A" if rule.in_a else "B", join_texts(rule.touches), rule.source) for rule in shown]
    yield from build_table("RULES THAT DIFFER", ("rule", "of", "plugin", "source [drop 1]"), rows, Grouping("rule"))
    if len(shown) < len(result.rules):
        more = len(result.rules) - len(shown)
        which = "other rules" if shown else "rules"
        yield Lines((f"{more} {which} differ between A's and B's Kubernetes; --all shows them",))


def _format_signed(number: float) -> str:
    return f"+{number}" if number > 0 else str(number)


MOST_MOVES_EXPLAINED = 30


VIEW = View(
    lambda result, look: diff_blocks(result, everything=look.everything),
    page=PageSpec(
        "diff",
        "What is compared",
        answer_by_outcome(bad="differs"),
        blocks=lambda result: diff_blocks(result, everything=len(result.changes) <= MOST_MOVES_EXPLAINED),
    ),
)
