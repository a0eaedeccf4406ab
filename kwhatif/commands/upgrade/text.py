"""An upgrade as blocks: whether it ends, what blocks it, waiting pods, and the course over time."""

from __future__ import annotations

from typing import Any

from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.upgrade.result import Obstacle, UpgradeResult, WorkloadReadiness
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Grouping, Lines, build_table
from kwhatif.render.page_spec import PageSpec, PodOutcomes, follow_replacements
from kwhatif.render.sections import budget_fix_blocks, fidelity_blocks, scale_up_blocks, verdict_of
from kwhatif.results.amounts import format_clock, format_count, format_some


def upgrade_blocks(result: UpgradeResult) -> list[Block]:
    """The report."""
    obstacles = [
        (o.node, o.pod, o.budget or NONE, "not begun" if o.since is None else format_clock(o.since), _why(o))
        for o in result.obstacles
    ]
    headers: tuple[str, ...] = (
        *("node [node]", "pod [pod]", "budget [same]", "refused since [drop 1]", "why it stays [same]"),
    )
    title = "FAILED ON" if result.phase == "failed" else "BLOCKED BY"
    blocks = build_table(title, headers, obstacles, Grouping("pod"))
    blocks += budget_fix_blocks(result.budgets)
    headers = ("pod [pod]", "owner [same, drop 1]", "from", "until", "message [same]")
    pending = [
        (
            p.pod,
            p.owner or NONE,
            format_clock(p.since),
            "the end" if p.until is None else format_clock(p.until),
            p.message or NONE,
        )
        for p in result.pending
    ]
    blocks += build_table("PENDING", headers, pending, Grouping("pod"))
    workloads = [(w.owner, w.before, w.lowest, format_clock(w.at), w.after, _needs(w)) for w in result.workloads]
    headers = ("workload", "ready before", "lowest", "at", "ready after", "its budget needs [fails .*not met]")
    blocks += build_table("READY REPLICAS", headers, workloads, Grouping("workload"))
    nodes = [
        (n.node, _at(n.cordoned), _at(n.drained), _at(n.deleted), n.evicted, n.forced or NONE) for n in result.nodes
    ]
    headers = ("node [node]", "cordoned", "drained", "deleted", "evicted", "forced [drop 1, fails (?!<)]")
    blocks += build_table("NODES", headers, nodes, Grouping("node"))
    blocks += scale_up_blocks(result.scale_up)
    timeline = [(format_clock(t.time), t.what, t.pod or t.node, t.why or NONE) for t in result.timeline]
    blocks += build_table("TIMELINE", ("time", "what", "which", "why"), timeline, Grouping("event"))
    blocks += refusal_blocks(result.refusals, result.failed)
    blocks.append(verdict_of(result.outcome))
    remarks = [f"Not modelled: {remark}." for remark in result.remarks]
    remarks += _tie_remarks(result)
    if result.cost is not None and result.cost.unknown:
        remarks.append(f"What it costs is unknown, without prices of {format_some(result.cost.unknown)}.")
    if result.not_made_again:
        remarks.append(f"No controller recreates these pods: {format_some(result.not_made_again)}.")
    if remarks:
        blocks.append(Lines(tuple(remarks)))
    return [*blocks, *fidelity_blocks(result.fidelity, result.outcome.unknown)]


def _at(seconds: float | None) -> str:
    return "never" if seconds is None else format_clock(seconds)


def _why(obstacle: Obstacle) -> str:
    if not obstacle.helpers:
        return obstacle.reason
    return f"{obstacle.reason}; {format_some(obstacle.helpers)} waits for a node"


def _needs(workload: WorkloadReadiness) -> str:
    if workload.needed is None:
        return workload.budget or NONE
    return f"{workload.needed}, and was not met" if workload.below else str(workload.needed)


def _tie_remarks(result: UpgradeResult) -> list[str]:
    """Where a pod goes decides which drains it may block; so equal nodes are worth a word."""
    tied = [placement.pod for placement in result.placements if placement.good and placement.ties > 1]
    if not tied:
        return []
    those = f"{format_count(len(tied), 'pod')} had several best nodes ({format_some(tied)})"
    return [f"{those}; on another node {'it' if len(tied) == 1 else 'they'} may block another drain."]


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


VIEW = View(
    lambda result, look: upgrade_blocks(result),
    page=PageSpec(
        "upgrade",
        "What is in the way",
        pods=lambda result: PodOutcomes(
            result.placements,
            follow_replacements(result.replacements),
            [(obstacle.pod, obstacle.reason) for obstacle in result.obstacles],
        ),
        data=lambda result: {"pool": _pool_data(result)},
    ),
)
