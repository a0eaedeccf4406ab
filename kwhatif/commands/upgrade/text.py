"""What an upgrade of a pool would do, in words: whether it ends, what it hangs on, who waits, and how it goes on."""

from __future__ import annotations

from typing import Any

from kwhatif.commands.upgrade.result import Obstacle, UpgradeResult, WorkloadReadiness
from kwhatif.render.blocks import NONE, Block, Grouping, Lines, Verdict, build_table
from kwhatif.render.page_spec import PageSpec, PodOutcomes, answer_in_words, follow_replacements
from kwhatif.render.sections import describe_scale_up, fidelity_blocks, scale_up_blocks
from kwhatif.results.amounts import format_count, format_some


def upgrade_blocks(result: UpgradeResult) -> list[Block]:
    """The report."""
    obstacles = [(o.node, o.pod, o.budget or NONE, _since(o), _why(o)) for o in result.obstacles]
    headers: tuple[str, ...] = ("node", "pod", "budget", "refused since", "why it stays")
    grouping = Grouping("pod", (2, 4), (1,))
    title = {"hangs": "HANGS ON", "failed": "FAILED ON"}.get(result.outcome, "IN THE WAY")
    blocks = build_table(title, headers, obstacles, None, grouping, (0,), (3,))
    headers = ("pod", "made by", "from", "until", "message")
    pending = [
        (p.pod, p.owner or NONE, clock(p.since), "the end" if p.until is None else clock(p.until), p.message or NONE)
        for p in result.pending
    ]
    blocks += build_table("WITHOUT A NODE", headers, pending, None, Grouping("pod", (1, 4), (0,)), (), (1,))
    workloads = [(w.owner, w.before, w.lowest, clock(w.at), w.after, _needs(w)) for w in result.workloads]
    headers = ("workload", "ready before", "lowest", "at", "ready after", "its budget needs")
    blocks += build_table("READY REPLICAS", headers, workloads, None, Grouping("workload"))
    nodes = [
        (n.node, _at(n.cordoned), _at(n.drained), _at(n.deleted), n.evicted, n.forced or NONE) for n in result.nodes
    ]
    headers = ("node", "cordoned", "drained", "deleted", "evicted", "forced")
    blocks += build_table("NODES", headers, nodes, None, Grouping("node"), (0,), (5,))
    blocks += scale_up_blocks(result.scale_up)
    timeline = [(clock(t.time), t.what, t.pod or t.node, t.why or NONE) for t in result.timeline]
    blocks += build_table("TIMELINE", ("time", "what", "which", "why"), timeline, None, Grouping("event"))
    blocks.append(Verdict(_summary(result), not result.exit_code))
    remarks = [f"Not modelled: {remark}." for remark in result.remarks]
    remarks += _tie_remarks(result)
    if result.cost is not None and result.cost.unknown:
        remarks.append(f"What it costs is unknown, without prices of {format_some(result.cost.unknown)}.")
    if result.not_made_again:
        remarks.append(f"Nobody makes these pods again: {format_some(result.not_made_again)}.")
    if remarks:
        blocks.append(Lines(tuple(remarks)))
    return [*blocks, *fidelity_blocks(result.fidelity)]


def clock(seconds: float) -> str:
    """``1:02:30``, ``12:05``: hours if there are any, minutes and seconds."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _at(seconds: float | None) -> str:
    return "never" if seconds is None else clock(seconds)


def _since(obstacle: Obstacle) -> str:
    return clock(obstacle.since)


def _why(obstacle: Obstacle) -> str:
    if not obstacle.helpers:
        return obstacle.reason
    return f"{obstacle.reason}; {format_some(obstacle.helpers)} waits for a node"


def _needs(workload: WorkloadReadiness) -> str:
    if workload.needed is None:
        return workload.budget or NONE
    return f"{workload.needed}, and was not met" if workload.below else str(workload.needed)


def _summary(result: UpgradeResult) -> str:
    size = format_count(len(result.nodes), "node")
    done = sum(node.deleted is not None for node in result.nodes)
    if result.outcome == "done":
        text = f"{size} replaced in {clock(result.time)} ({result.strategy})"
        if result.late:
            text += f", which is longer than {clock(result.within or 0.0)}"
    else:
        ends = "hangs" if result.outcome == "hangs" else "fails"
        text = f"The upgrade {ends} after {clock(result.time)} with {done} of {size} replaced ({result.strategy})"
        budgets = sorted({each.budget for each in result.obstacles if each.budget})
        text += f", on {format_some(budgets)}" if budgets else ""
    if result.forced:
        text += f"; {format_count(len(result.forced), 'pod')} deleted by force"
    if result.homeless:
        text += f"; {format_count(len(result.homeless), 'pod')} without a node in the end"
    if result.scale_up is not None and result.scale_up.nodes:
        text += f"; {describe_scale_up(result.scale_up)}"
    text = f"{text}; {result.peak_nodes} nodes at most, {result.more_node_hours:g} node hours more than usual"
    cost = result.cost
    if cost is None or cost.usual is None or cost.peak is None or cost.more is None:
        return text
    return f"{text}; {cost.more:,.2f} more to pay, {cost.peak:,.2f} an hour at most in place of {cost.usual:,.2f}"


def _tie_remarks(result: UpgradeResult) -> list[str]:
    """Where a pod goes decides which drains it is in the way of; so equal nodes are worth a word."""
    tied = [each.pod for each in result.placements if each.good and each.ties > 1]
    if not tied:
        return []
    those = f"{format_count(len(tied), 'pod')} found several nodes equally good ({format_some(tied)})"
    return [f"Left to chance: {those}; on another of them, it may be in the way of another drain."]


def _pool_data(result: UpgradeResult) -> dict[str, Any]:
    """The pool over time: a row a moment, and a row an old node with its times in seconds."""
    moments = result.moments
    return {
        "size": len(result.nodes),
        "end": max(result.time, 1.0),
        "time": [moment.time for moment in moments],
        "old": [moment.old for moment in moments],
        "new": [moment.new for moment in moments],
        "pending": [moment.pending for moment in moments],
        "nodes": [[node.node, node.cordoned, node.drained, node.deleted] for node in result.nodes],
    }


PAGE = PageSpec(
    "upgrade",
    answer_in_words("The pool is replaced", "The pool is not replaced as it should be"),
    upgrade_blocks,
    "What is in the way",
    pods=lambda result: PodOutcomes(
        result.placements,
        follow_replacements(result.replacements),
        [(each.pod, each.reason) for each in result.obstacles],
    ),
    data=lambda result: {"pool": _pool_data(result)},
)
