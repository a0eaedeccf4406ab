"""How many more fit, in words: the number, what ends it, what is left over, and node by node."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.report.blocks import Block, Facts, Grouping, Verdict, joined, of, titled
from kwhatif.report.expand_text import refusal_blocks
from kwhatif.report.fidelity_text import fidelity_blocks
from kwhatif.report.scale_up_text import added, scale_up_blocks
from kwhatif.results.amounts import counted, some, spell_amount
from kwhatif.results.capacity import CapacityResult, NodeCapacity


def capacity_blocks(result: CapacityResult) -> list[Block]:
    """The report."""
    blocks: list[Block] = [Verdict(_summary(result), not result.exit_code), Facts(tuple(_facts(result)))]
    blocks += titled("WHY NO OTHER FITS", ("reason", "nodes"), [(each.reason, each.nodes) for each in result.reasons])
    rows = [
        (
            each.resource,
            spell_amount(each.resource, each.each),
            spell_amount(each.resource, each.free),
            f"{spell_amount(each.resource, each.largest)} on {each.on}",
        )
        for each in result.left_over
    ]
    blocks += titled("LEFT OVER", ("resource", "each asks", "free in all", "most on one node"), rows)
    blocks += scale_up_blocks(result.scale_up)
    blocks += _nodes(result)
    return [*blocks, *refusal_blocks(result.refusals, result.failed), *fidelity_blocks(result.fidelity)]


def _summary(result: CapacityResult) -> str:
    """``Fits 2 times, 8 pods, on 3 of 6 nodes.``"""
    parts = [f"Fits {counted(result.fits, 'time')}"]
    if result.pods_each > 1:
        parts.append(counted(result.fits * result.pods_each, "pod"))
    if result.fits:
        parts.append(f"on {of(sum(1 for node in result.nodes if node.pods), len(result.nodes), 'node')}")
    if more := added(result.scale_up):
        parts.append(f"with {more}")
    asked = f" At least {result.at_least} were asked for." if result.exit_code else ""
    return f"{', '.join(parts)}.{asked}"


def _facts(result: CapacityResult) -> Iterator[tuple[str, str]]:
    yield "Unit", result.unit
    if result.first:
        lost = len(result.first_pending)
        stay = (
            f", {counted(lost, 'of them finds', 'of them find')} no node: {some(result.first_pending)}" if lost else ""
        )
        yield "Placed first", f"{counted(result.first, 'pod')} that wait because of edits{stay}"
    match result.ended:
        case "limit" | "max-pods":
            yield "Ended by", f"--{result.ended}: more may fit"
        case "quota" if result.quota is not None:
            yield "Ended by", f"quota {result.quota.quota}: {result.quota.resource}"
        case "scheduler":
            yield "Ended by", f"the scheduler: {result.next_pod} finds no node"
            yield "Message", result.message
        case "nodes":
            yield "Ended by", f"the nodes: {result.next_pod} finds none"
            yield "Message", result.message
        case _:
            yield "Ended by", "the API server lets in no pod of it"


def _nodes(result: CapacityResult) -> Iterator[Block]:
    if not result.pods_each:
        return
    resources = tuple(each.resource for each in result.left_over)
    headers = ("node", "pods", *(f"{name} left" for name in resources), "why no other")
    rows = [_row(node, resources) for node in result.nodes]
    yield from titled("NODES", headers, rows, None, Grouping("node", (len(headers) - 1,)), (0,))


def _row(node: NodeCapacity, resources: tuple[str, ...]) -> tuple[str, ...]:
    left = (spell_amount(name, node.free[name]) for name in resources)
    return (node.node, str(node.pods), *left, joined(node.reasons))
