"""How many more fit, in words: the number, what ends it, what is left over, and node by node."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.report.blocks import Block, Facts, Lines, joined, titled
from kwhatif.report.expand_text import refusal_blocks
from kwhatif.report.fidelity_text import fidelity_blocks
from kwhatif.results.amounts import counted, some, spell_amount
from kwhatif.results.capacity import CapacityResult, NodeCapacity

MANY_NODES = 12
"""More nodes than these that take nothing are only counted."""


def capacity_blocks(result: CapacityResult, *, everything: bool = False) -> list[Block]:
    """The report; ``everything`` shows each node, however many take nothing."""
    blocks: list[Block] = [Facts(tuple(_facts(result)))]
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
    blocks += _nodes(result, everything)
    return [*blocks, *refusal_blocks(result.refusals, result.failed), *fidelity_blocks(result.fidelity)]


def _facts(result: CapacityResult) -> Iterator[tuple[str, str]]:
    yield "Unit", result.unit
    if result.first:
        lost = len(result.first_pending)
        stay = (
            f", {counted(lost, 'of them finds', 'of them find')} no node: {some(result.first_pending)}" if lost else ""
        )
        yield "Placed first", f"{counted(result.first, 'pod')} that wait because of edits{stay}"
    more = f", {counted(result.fits * result.pods_each, 'pod')}" if result.pods_each > 1 else ""
    yield "Fits", f"{counted(result.fits, 'time')}{more}"
    if result.exit_code:
        yield "Asked for", f"at least {counted(result.at_least, 'time')}"
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


def _nodes(result: CapacityResult, everything: bool) -> Iterator[Block]:
    if not result.pods_each:
        return
    takers = [node for node in result.nodes if node.pods]
    others = [node for node in result.nodes if not node.pods]
    if everything or len(others) <= MANY_NODES:
        takers, others = list(result.nodes), []
    resources = tuple(each.resource for each in result.left_over)
    headers = ("node", "pods", *(f"{name} left" for name in resources), "why no other")
    yield from titled("NODES", headers, [_row(node, resources) for node in takers])
    if others:
        yield Lines((f"{counted(len(others), 'node')} more take nothing; --all shows them",))


def _row(node: NodeCapacity, resources: tuple[str, ...]) -> tuple[str, ...]:
    left = (spell_amount(name, node.free[name]) for name in resources)
    return (node.node, str(node.pods), *left, joined(node.reasons))
