"""A review as blocks: the change, what happens, what it costs, what it puts at risk, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.commands.expand.text import refusal_blocks, rollout_blocks
from kwhatif.commands.gate.formats.words import format_location, place_of
from kwhatif.commands.review.brief import brief_text
from kwhatif.commands.review.result import (
    EvictedByChange,
    RequestChange,
    ReviewResult,
    WorkloadPlacement,
    words_of_bill,
)
from kwhatif.commands.view import Look, View
from kwhatif.render.blocks import (
    NONE,
    Block,
    Columns,
    Commands,
    Heading,
    Lines,
    build_table,
    format_part,
)
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.sections import fidelity_blocks, scale_up_blocks, verdict_of
from kwhatif.results.amounts import format_column, format_count, format_counts, format_some


def review_blocks(result: ReviewResult) -> list[Block]:
    """The whole review."""
    return [
        *_sections(result),
        *refusal_blocks(result.refusals, result.failed),
        *scale_up_blocks(result.scale_up),
        *_commands(result),
        verdict_of(result.outcome),
        *fidelity_blocks(result.fidelity, result.outcome.unknown),
    ]


def _sections(result: ReviewResult) -> Iterator[Block]:
    changes = [
        (
            change.what,
            change.subject,
            change.pods or NONE,
            "; ".join(change.details) or NONE,
            format_location(place_of(change)),
        )
        for change in result.changes
        if change.what != "unchanged"
    ]
    columns: Columns = ("change", "object", "pods", "fields", "where [drop 1]")
    yield from build_table("CHANGES", columns, changes)
    requests = [
        (f"{request.scope} {request.name}", request.resource, *_amounts(request)) for request in result.requests
    ]
    yield from build_table("REQUESTS", ("of", "resource", "before", "after", "change", "has [drop 1]"), requests)
    placed = [
        (
            workload.workload,
            format_part(workload.placed, workload.pods, "pod"),
            _counts(workload),
            workload.why or "all find a node",
        )
        for workload in result.workloads
    ]
    yield from build_table("NEW PODS", ("workload", "placed", "on pools", "why the others wait"), placed)
    evicted = [
        (evicted_by_change.pod, evicted_by_change.taken_by, _end_of(evicted_by_change))
        for evicted_by_change in result.evicted
    ]
    yield from build_table("EVICTED PODS", ("pod [pod]", "for [pod]", "then on [node]"), evicted)
    yield from rollout_blocks(result.rollouts)
    limits = [
        (f"budget {budget.budget}", "disruptions allowed", _number(budget.before), _number(budget.after), NONE)
        for budget in result.budgets
    ]
    limits += [
        (f"quota {quota.quota}", quota.resource, quota.before, quota.after, quota.at_most) for quota in result.quotas
    ]
    yield from build_table("BUDGETS AND QUOTAS", ("object", "what", "before", "after", "at most"), limits)
    yield from _costs(result)
    risks = [
        (risk.kind, risk.name, risk.what, NONE if risk.before is None else str(risk.before)) for risk in result.risks
    ]
    yield from build_table("AT RISK", ("what fails", "name", "then", "without the change"), risks)
    if result.examined:
        looked = "; ".join(result.examined)
        yield Lines((f"Tried: {looked}." if risks else f"The change puts nothing at risk. Tried: {looked}.",))
    remedies = [
        (
            remedy.workload,
            remedy.change,
            f"{remedy.pods} of {remedy.waiting} pending",
            remedy.node or NONE,
            format_some(remedy.evicts) if remedy.evicts else NONE,
        )
        for remedy in result.remedies
    ]
    yield from build_table("WHAT HELPS", ("workload", "change", "places", "leads to [node]", "evicts"), remedies)


def _amounts(change: RequestChange) -> Iterator[str]:
    more = change.after - change.before
    amounts = (change.before, change.after, abs(more), change.room or 0)
    before, after, difference, room = format_column(change.resource, amounts)
    yield from (before, after, f"{'+' if more > 0 else '-'}{difference}", NONE if change.room is None else room)


def _counts(placement: WorkloadPlacement) -> str:
    return format_counts(placement.pools) if placement.pools else NONE


def _end_of(pod: EvictedByChange) -> str:
    """What becomes of the work of an evicted pod."""
    return pod.lands_on or "pending" if pod.replacement else "gone"


def _number(number: int | None) -> str:
    return NONE if number is None else str(number)


def _costs(result: ReviewResult) -> Iterator[Block]:
    outcome = result.outcome
    if result.scale_up is None:
        return
    nodes = [f"{format_count(node.nodes, 'new node')} of {node.group}" for node in outcome.added_nodes]
    yield Heading("COSTS")
    yield Lines((f"{'; '.join(nodes)}: {words_of_bill(outcome.cost, result.scale_up)}." if nodes else "No new nodes.",))


def _commands(result: ReviewResult) -> list[Block]:
    return [Heading("MORE"), Commands(result.commands)] if result.commands else []


def _draw(result: ReviewResult, look: Look) -> str | list[Block]:
    if look.everything or look.screen is None:
        return review_blocks(result)
    return brief_text(result, look.screen, gaps=look.gaps)


VIEW = View(lambda result, look: review_blocks(result), formats={"table": _draw}, page=PageSpec("review", "Change"))
