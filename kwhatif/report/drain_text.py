"""What draining nodes would do, in words: node by node, each pod's way, what blocks, and what is left."""

from __future__ import annotations

from kwhatif.report.blocks import NONE, Block, Heading, Lines, Table
from kwhatif.report.fidelity_text import fidelity_blocks
from kwhatif.results import DrainedPod, DrainResult, Victim
from kwhatif.results.amounts import counted, spell_amount

__all__ = ["drain_blocks"]


def drain_blocks(result: DrainResult) -> list[Block]:
    """The report."""
    numbers = [(n.evicted, n.ignored, n.refused, n.blocked) for n in result.nodes]
    rows = tuple(
        (node.node, "drained" if node.drained else "NOT DRAINED", *map(str, each))
        for node, each in zip(result.nodes, numbers, strict=True)
    )
    blocks: list[Block] = [Table(("node", "outcome", "evicted", "ignored", "refused", "blocked"), rows)]
    moved = [pod for pod in result.pods if pod.outcome == "evicted"]
    if moved:
        table = tuple(
            (pod.node, str(pod.turn), pod.pod, pod.owner or NONE, pod.budget or NONE, *_way(pod)) for pod in moved
        )
        blocks += [
            Heading("EVICTIONS"),
            Table(("node", "turn", "pod", "made by", "budget", "made again as", "lands on"), table),
        ]
    stuck = [pod for pod in result.pods if pod.outcome in ("refused", "blocked")]
    if stuck:
        reasons = tuple((pod.node, pod.pod, pod.budget or NONE, pod.reason) for pod in stuck)
        blocks += [Heading("WHAT BLOCKS"), Table(("node", "pod", "budget", "why it stays"), reasons)]
    if result.pending:
        pending = tuple((placement.pod, placement.message) for placement in result.pending)
        blocks += [Heading("PENDING AFTERWARDS"), Table(("pod", "message"), pending)]
    victims = tuple((v.pod, p.pod, v.node, _then(v)) for p in result.placements for v in p.victims)
    if victims:
        blocks += [Heading("EVICTED BY PODS MADE AGAIN"), Table(("pod", "for", "on", "then lands on"), victims)]
    if result.budgets:
        budgets = tuple(
            (use.budget, str(use.evictions), str(use.allowed_before), str(use.allowed_after), str(len(use.blocks)))
            for use in result.budgets
        )
        headers = ("budget", "evictions", "allowed before", "allowed after", "keeps")
        blocks += [Heading("BUDGETS"), Table(headers, budgets)]
    left = tuple(
        (
            each.resource,
            spell_amount(each.resource, each.allocatable),
            _share(each.resource, each.requested_before, each.allocatable),
            _share(each.resource, each.requested_after, each.allocatable),
        )
        for each in result.remaining
    )
    if left:
        blocks += [
            Heading("THE OTHER NODES"),
            Table(("resource", "allocatable", "requested before", "requested after"), left),
        ]
    return [*blocks, Lines(_summary(result)), *fidelity_blocks(result.fidelity)]


def _way(pod: DrainedPod) -> tuple[str, str]:
    if not pod.replacement:
        return NONE, pod.reason
    return pod.replacement, pod.lands_on or "nowhere"


def _then(victim: Victim) -> str:
    return victim.lands_on or ("nowhere" if victim.replacement else "it is not made again")


def _share(resource: str, part: int, whole: int) -> str:
    text = spell_amount(resource, part)
    return f"{text} ({100 * part // whole}%)" if whole else text


def _summary(result: DrainResult) -> tuple[str, ...]:
    drained = sum(node.drained for node in result.nodes)
    evicted = sum(node.evicted for node in result.nodes)
    text = f"{drained} of {counted(len(result.nodes), 'node')} drained, {counted(evicted, 'pod')} evicted"
    if pending := len(result.pending) + len(result.homeless):
        text += f", {pending} pending afterwards"
    return (text, *result.warnings)
