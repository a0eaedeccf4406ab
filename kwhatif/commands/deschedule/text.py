"""Descheduling as blocks: each evicted pod, refused evictions, nodes before and after, and thrash; the comparison of
two policies; and the explanation of pods, a table of plugins each.
"""

from __future__ import annotations

from kwhatif.commands.deschedule.result import (
    DescheduleDiff,
    DescheduledPod,
    DescheduleExplained,
    DescheduleResult,
    Measure,
    NodeBalance,
    PluginOutcome,
    PodDescheduled,
    Thrash,
)
from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Grouping, Heading, Lines, Verdict, build_table, join_texts
from kwhatif.render.page_spec import PageSpec, PodOutcomes, answer_by_outcome, answer_in_words, follow_replacements
from kwhatif.render.sections import fidelity_blocks, scale_up_blocks, verdict_of
from kwhatif.results.amounts import format_count, format_some

_STOPS = {
    "noneUnderutilized": "no node is underutilized",
    "numberOfNodes": "not more nodes are underutilized than numberOfNodes",
    "allUnderutilized": "all nodes are underutilized",
    "noneOverutilized": "no node is overutilized",
    "noneSchedulable": "no node is schedulable",
}


def deschedule_blocks(result: DescheduleResult) -> list[Block]:
    """The report."""
    headers: tuple[str, ...] = (
        *("cycle [same, drop 2]", "pod [pod]", "from [node, same]", "by [same]", "why [drop 3]"),
        *("recreated as [pod, drop 1]", "then [same]"),
    )
    rows = [(p.cycle, p.pod, p.node, p.plugin, p.reason, p.replacement or NONE, _then(p)) for p in result.pods]
    blocks = build_table("EVICTED", headers, rows, Grouping("pod"))
    blocks += _thrash_blocks(result)
    refused = [(r.cycle, r.pod, r.node, r.plugin, r.budget or f"the limit by {r.limit}") for r in result.refused]
    headers = ("cycle [same, drop 1]", "pod [pod]", "node [node, same]", "by [same]", "stopped by [same]")
    blocks += build_table("REFUSED", headers, refused, Grouping("pod"))
    pending = [(pod.pod, pod.why) for pod in result.outcome.pending]
    blocks += build_table("PENDING", ("pod [pod]", "message [same]"), pending, Grouping("pod"))
    blocks += refusal_blocks(result.refusals, result.failed)
    if result.helped:
        blocks.append(Lines((f"Pods that waited before and have a node now: {format_some(result.helped)}",)))
    blocks += scale_up_blocks(result.scale_up)
    plugins = [(p.cycle, p.profile, p.plugin, p.evicted, _stop_reason(p)) for p in result.plugins]
    blocks += build_table("PLUGINS", ("cycle", "profile", "plugin", "evicted", "remarks"), plugins)
    blocks += _node_blocks(result)
    blocks += _balance_blocks(result)
    headers = ("node [node]", "group [same]", "empty [same]", "without the descheduler [same]", "saves a month")
    removed = [
        (
            removed_node.node,
            removed_node.group or NONE,
            "yes" if removed_node.empty else "its pods move",
            "goes, too" if removed_node.anyway else "stays",
            NONE if removed_node.cost is None else f"{removed_node.cost:,.2f}",
        )
        for removed_node in result.removed_nodes
    ]
    blocks += build_table("REMOVED NODES", headers, removed, Grouping("node"))
    protected = [(p.profile, p.reason, len(p.pods), format_some(p.pods)) for p in result.protected]
    blocks += build_table("PROTECTED", ("profile", "reason", "pods", "which [drop 1]"), protected)
    blocks.append(verdict_of(result.outcome))
    return [*blocks, *fidelity_blocks(result.fidelity, result.outcome.unknown)]


def _then(pod: DescheduledPod) -> str:
    match pod.outcome:
        case "gone":
            return "no controller recreates it"
        case "pending":
            return "PENDING"
    where = f"{pod.lands_on} again" if pod.outcome == "returned" else pod.lands_on
    return f"{where}, and is evicted there" if pod.again else where


def _thrash_blocks(result: DescheduleResult) -> list[Block]:
    if not result.thrash:
        return []
    return [Heading("MOVES FOREVER"), Lines(tuple(map(_way, result.thrash)), listed=True)]


def _way(thrash: Thrash) -> str:
    nodes = list(dict.fromkeys(node for node in thrash.nodes if node))
    by = join_texts(thrash.plugins)
    every = "every cycle" if thrash.period == 1 else f"every {thrash.period} cycles"
    if len(nodes) == 1:
        return f"{thrash.pod} is evicted from {nodes[0]} and comes back to it forever, {every} (by {by})"
    between = f"{', '.join(nodes[:-1])} and {nodes[-1]}"
    return f"{thrash.pod} moves between {between} forever, {every} (by {by})"


def _stop_reason(plugin: PluginOutcome) -> str:
    return plugin.error or _STOPS.get(plugin.stopped, plugin.stopped) or NONE


def _node_blocks(result: DescheduleResult) -> list[Block]:
    nodes = [node for node in result.nodes if node.has_changed or node.category_before != node.category_after]
    classed = any(node.category_before or node.category_after for node in nodes)
    headers: tuple[str, ...] = ("node [node]", "pods", "cpu requested", "memory requested")
    rows = [_node_row(node) for node in nodes]
    if classed:
        headers = (*headers, "class")
        rows = [
            (*row, _change(n.category_before or NONE, n.category_after or NONE))
            for row, n in zip(rows, nodes, strict=True)
        ]
    blocks = build_table("NODES", headers, rows, Grouping("node"))
    if result.empty_nodes and result.pods:
        blocks.append(Lines((f"Nodes without pods to lose: {format_some(result.empty_nodes)}",)))
    return blocks


def _balance_blocks(result: DescheduleResult) -> list[Block]:
    if result.balance is None:
        return []
    rows = [
        (
            measure.name,
            _format_measure(measure, measure.before),
            _format_measure(measure, measure.after),
            _judge(measure),
        )
        for measure in result.balance.measures
    ]
    return build_table("BALANCE", ("", "before", "after", ""), rows)


def _format_measure(measure: Measure, value: float) -> str:
    return f"{value:.1f}{measure.unit}" if measure.unit else f"{value:g}"


def _judge(measure: Measure) -> str:
    if measure.after == measure.before:
        return "as before"
    return "less" if measure.after < measure.before else "more"


def _node_row(node: NodeBalance) -> tuple[str, ...]:
    return (
        node.node,
        _change(str(node.pods_before), str(node.pods_after)),
        _change(f"{node.cpu_before:.1f}%", f"{node.cpu_after:.1f}%"),
        _change(f"{node.memory_before:.1f}%", f"{node.memory_after:.1f}%"),
    )


def _change(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _outcomes(result: DescheduleResult) -> PodOutcomes:
    again = follow_replacements({pod.pod: pod.replacement for pod in result.pods if pod.replacement})
    kept = [
        (refused_eviction.pod, refused_eviction.message or f"the limit by {refused_eviction.limit} is reached")
        for refused_eviction in result.refused
    ]
    return PodOutcomes(result.placements, again, kept)


VIEW = View(lambda result, look: deschedule_blocks(result), page=PageSpec("deschedule", "Evictions", pods=_outcomes))


def deschedule_diff_blocks(result: DescheduleDiff) -> list[Block]:
    """The report."""
    sides = (result.a, result.b)
    rows = [
        ("policy", *(side.policy for side in sides)),
        ("evicted in the first cycle", *(sum(pod.cycle == 1 for pod in side.pods) for side in sides)),
        ("evicted in all", *(len(side.pods) for side in sides)),
        ("pending afterwards", *(len(side.pending) for side in sides)),
        ("comes to rest", *(_rest(side) for side in sides)),
    ]
    blocks = build_table("BOTH SIDES", ("", "A", "B"), rows)
    pods = [
        (d.pod, d.node, _way_of_side(d.plugin_a, d.lands_on_a), _way_of_side(d.plugin_b, d.lands_on_b))
        for d in result.pods
    ]
    blocks += build_table(
        "FIRST CYCLE", ("pod [pod]", "node [node, same]", "A [same]", "B [same]"), pods, Grouping("pod")
    )
    blocks.append(verdict_of(result.outcome))
    return [*blocks, *fidelity_blocks(result.b.fidelity, result.outcome.unknown)]


def _rest(side: DescheduleResult) -> str:
    if side.thrash:
        return f"never: {format_count(len(side.thrash), 'pod moves', 'pods move')} forever"
    return f"after {format_count(side.cycles, 'cycle')}" if side.quiet else "not yet"


def _way_of_side(plugin: str, lands_on: str) -> str:
    return f"{plugin} -> {lands_on}" if plugin else "stays"


DIFF_VIEW = View(
    lambda result, look: deschedule_diff_blocks(result),
    page=PageSpec("diff", "What is compared", answer_by_outcome(bad="differs")),
)


_WORDS = {
    "evicts": "evicts it",
    "refused": "tries, and is refused",
    "protected": "may not",
    "leaves": "leaves it",
    "gone": "finds it gone",
}


def deschedule_explained_blocks(result: DescheduleExplained) -> list[Block]:
    """The report."""
    blocks: list[Block] = []
    for pod in result.pods:
        blocks += _pod_blocks(pod)
    evicted = sum(pod.evicted for pod in result.pods)
    blocks.append(Verdict(f"{evicted} of {len(result.pods)} evicted by the next cycle", not result.exit_code))
    return [*blocks, *fidelity_blocks(result.fidelity)]


def _pod_blocks(pod: PodDescheduled) -> list[Block]:
    title = f"{pod.pod} on {pod.node}" if pod.node else pod.pod
    if pod.outside:
        return [Heading(title), Lines((f"No plugin looks at it: {pod.outside}.",))]
    rows = [(verdict.profile, verdict.plugin, _WORDS[verdict.verdict], verdict.reason) for verdict in pod.verdicts]
    return build_table(title, ("profile", "plugin", "what it does", "why"), rows)


EXPLAINED_VIEW = View(
    lambda result, look: deschedule_explained_blocks(result),
    page=PageSpec("explain", "What is explained", answer_in_words("No pod is evicted", "A pod is evicted")),
)
