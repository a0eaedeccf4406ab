"""Capacity as blocks: the number, its limit, what is left over, and each node."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from kwhatif.commands.capacity.result import CapacityResult
from kwhatif.commands.expand.text import refusal_blocks
from kwhatif.commands.view import View
from kwhatif.render.blocks import Block, Facts, Grouping, build_table, format_part, join_texts
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.pod_groups import group_blocks
from kwhatif.render.sections import fidelity_blocks, scale_up_blocks, verdict_of
from kwhatif.results.amounts import format_column, format_count, format_some
from kwhatif.results.place import QuotaShortage


def capacity_blocks(result: CapacityResult) -> list[Block]:
    """The report."""
    blocks: list[Block] = [verdict_of(result.outcome), Facts(tuple(_facts(result)))]
    blocks += build_table(
        "WHY NO OTHER FITS", ("reason", "nodes"), [(reason.reason, reason.nodes) for reason in result.reasons]
    )
    if isinstance(result.groups, tuple):
        blocks += group_blocks([group for group in result.groups if not group.good])
    rows = []
    for left_over in result.left_over:
        asks, free, largest = format_column(left_over.resource, (left_over.each, left_over.free, left_over.largest))
        rows.append((left_over.resource, asks, free, f"{largest} on {left_over.on}"))
    blocks += build_table("LEFT OVER", ("resource", "pod requests", "free", "largest free"), rows)
    blocks += scale_up_blocks(result.scale_up)
    blocks += _nodes(result)
    standing = fidelity_blocks(result.fidelity, result.outcome.unknown)
    return [*blocks, *refusal_blocks(result.refusals, result.failed), *standing]


def _facts(result: CapacityResult) -> Iterator[tuple[str, str]]:
    yield "Unit", result.unit
    if result.first:
        lost = len(result.first_pending)
        stay = (
            f", {format_count(lost, 'of them finds', 'of them find')} no node: {format_some(result.first_pending)}"
            if lost
            else ""
        )
        yield "Placed first", f"{format_count(result.first, 'pod')} that wait because of edits{stay}"
    match result.ended:
        case "limit" | "max-pods":
            yield "Limited by", f"--{result.ended}: more may fit"
        case "quota" if result.quota is not None and isinstance(result.quota.shortage, QuotaShortage):
            yield "Limited by", result.quota.shortage.text
            yield "Message", result.message
        case "quota" if result.quota is not None:
            yield "Limited by", f"quota {result.quota.quota}: {result.quota.resource}"
        case "scheduler":
            yield "Limited by", f"the scheduler: {result.next_pod} finds no node"
            yield "Message", result.message
        case "gate":
            yield "Limited by", f"a scheduling gate: {result.next_pod} is not tried"
            yield "Message", result.message
        case "nodes":
            yield "Limited by", f"the nodes: {result.next_pod} finds none"
            yield "Message", result.message
            if result.next_fits:
                part = format_part(result.next_fits, result.pods_each, "pod")
                yield "Next copy", f"{part} find a node; LEFT OVER is what remains beside them"
        case _:
            yield "Limited by", "the API server refuses its next pod"


def _nodes(result: CapacityResult) -> Iterator[Block]:
    if not result.pods_each:
        return
    resources = tuple(left_over.resource for left_over in result.left_over)
    headers = ("node [node]", "pods", *(f"{name} left" for name in resources), "why no other [same]")
    left = [format_column(name, [node.free[name] for node in result.nodes]) for name in resources]
    amounts_left = zip(*left, strict=True) if left else repeat(())
    rows = [
        (node.node, node.pods, *amounts, join_texts(node.reasons))
        for node, amounts in zip(result.nodes, amounts_left, strict=False)
    ]
    yield from build_table("NODES", headers, rows, Grouping("node"))


VIEW = View(lambda result, look: capacity_blocks(result), page=PageSpec("capacity", "What limits it"))
