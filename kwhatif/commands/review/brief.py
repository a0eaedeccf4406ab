"""A review on one screen: a line for each thing that matters, and as many of them as there is room for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from kwhatif.commands.review.result import (
    EvictedByChange,
    RequestChange,
    ReviewResult,
    WorkloadPlacement,
    words_of_bill,
)
from kwhatif.render.blocks import Block, Commands, Facts, Heading, Lines, inline_gaps
from kwhatif.render.screen import Screen
from kwhatif.render.sections import fidelity_blocks, verdict_of
from kwhatif.render.tables import text_of
from kwhatif.results.amounts import format_column, format_count, format_some
from kwhatif.results.gate import Change

MOST_LINES = 40
"""Lines of the text, unless all rows are wanted."""

_MOST_COMMANDS = 4
_MOST_FIELDS = 3
_PRIORITY = (
    *("New pods", "Rollouts", "Refused", "At risk", "What helps", "Costs", "Evicted"),
    *("Changes", "Requests", "Budgets", "Quotas"),
)
"""The subjects that get room first."""

_Subjects = Mapping[str, Sequence[str]]


def brief_text(result: ReviewResult, screen: Screen, *, gaps: bool = False) -> str:
    """The review on ``MOST_LINES`` lines: the first line of each subject, and more of them as long as there is room."""
    subjects = {name: list(lines) for name, lines in _subjects(result) if lines}
    limits = dict.fromkeys(subjects, 1)
    text = _text(result, subjects, limits, screen, gaps=gaps)
    growing = True
    while growing:
        growing = False
        for name in sorted(subjects, key=_PRIORITY.index):
            if limits[name] < len(subjects[name]):
                more = {**limits, name: limits[name] + 1}
                longer = _text(result, subjects, more, screen, gaps=gaps)
                if longer.count("\n") <= MOST_LINES:
                    text, limits, growing = longer, more, True
    return text


def _text(result: ReviewResult, subjects: _Subjects, limits: Mapping[str, int], screen: Screen, *, gaps: bool) -> str:
    facts = []
    for name, lines in subjects.items():
        left = len(lines) - limits[name]
        for i, line in enumerate(lines[: limits[name]]):
            last = left and i == limits[name] - 1
            facts.append(("" if i else name, f"{line} (and {left} more)" if last else line))
    shortened = any(limits[name] < len(lines) for name, lines in subjects.items())
    blocks: list[Block] = [verdict_of(result.outcome), Facts(tuple(facts)) if facts else Lines(("Nothing changes.",))]
    if result.commands:
        blocks += [Heading("MORE"), Commands(result.commands[:_MOST_COMMANDS])]
    blocks += [Lines(("Every line: --all.",))] if shortened else []
    blocks += fidelity_blocks(result.fidelity, result.outcome.unknown)
    return text_of(inline_gaps(blocks, whole=gaps), screen)


def _subjects(result: ReviewResult) -> Iterator[tuple[str, list[str]]]:
    changes = [change for change in result.changes if change.what != "unchanged"]
    yield "Changes", list(map(_change, changes))
    grouped = groupby(result.requests, key=lambda request_change: (request_change.scope, request_change.name))
    yield "Requests", [f"{scope} {name}: {', '.join(map(_request, iterator))}" for (scope, name), iterator in grouped]
    yield (
        "Refused",
        [f"{refusal.object}: {refusal.message}" for refusal in result.refusals]
        + [
            f"{format_count(failed_create.pods, 'pod')} of {failed_create.owner} not created: {failed_create.message}"
            for failed_create in result.failed
        ],
    )
    yield "New pods", list(map(_placement, result.workloads))
    yield "Evicted", list(map(_eviction, result.evicted))
    hanging_first = sorted(result.rollouts, key=lambda rollout: not rollout.unfinished)
    yield "Rollouts", [f"{rollout.object}: {rollout.outcome}" for rollout in hanging_first]
    yield (
        "Budgets",
        [
            f"{budget.budget} allows {_number(budget.after)} disruptions, {_number(budget.before)} before"
            for budget in result.budgets
        ],
    )
    yield (
        "Quotas",
        [
            f"{quota.quota}: {quota.resource} {quota.before} -> {quota.after} of {quota.at_most}"
            for quota in result.quotas
        ],
    )
    yield "Costs", list(_costs(result))
    yield "At risk", list(_risks(result))
    yield (
        "What helps",
        [
            f"{remedy.workload}: {remedy.change}; places {remedy.pods} of {remedy.waiting} pending"
            + (f", on {remedy.node}" if remedy.node and remedy.waiting == 1 else "")
            + (f", evicts {format_some(remedy.evicts)}" if remedy.evicts else "")
            for remedy in result.remedies
        ],
    )


def _change(change: Change) -> str:
    """``changed Deployment shop/web, pods 3 -> 4: spec.replicas: 3 -> 4``."""
    pods = f", pods {change.pods}" if change.pods else ""
    details = list(change.details)
    if len(details) > _MOST_FIELDS:
        details[_MOST_FIELDS:] = [f"{len(details) - _MOST_FIELDS} more fields"]
    return f"{change.what} {change.subject}{pods}{': ' if details else ''}{'; '.join(details)}"


def _request(change: RequestChange) -> str:
    """``cpu 1 -> 2500m of 24``."""
    before, after, room = format_column(change.resource, (change.before, change.after, change.room or 0))
    return f"{change.resource} {before} -> {after}{'' if change.room is None else f' of {room}'}"


def _placement(placement: WorkloadPlacement) -> str:
    pools = ", ".join(f"{count} on {pool}" for pool, count in placement.pools.items())
    text = f"{placement.workload}: {placement.placed} of {format_count(placement.pods, 'pod')} placed"
    return f"{text}{f' ({pools})' if pools else ''}{f'; {placement.why}' if placement.why else ''}"


def _eviction(pod: EvictedByChange) -> str:
    end = f"then on {pod.lands_on}" if pod.lands_on else "stays pending" if pod.replacement else "for good"
    return f"{pod.pod} for {pod.taken_by}, {end}"


def _number(number: int | None) -> str:
    return "no" if number is None else str(number)


def _costs(result: ReviewResult) -> Iterator[str]:
    if result.scale_up is None:
        return
    for added_node in result.outcome.added_nodes:
        yield f"{format_count(added_node.nodes, 'new node')} of {added_node.group}"
    yield words_of_bill(result.outcome.cost, result.scale_up) if result.outcome.added_nodes else "no new nodes"


def _risks(result: ReviewResult) -> Iterator[str]:
    for risk in result.risks:
        before = "" if risk.before is None else f"; without the change {risk.before}"
        yield f"{risk.kind} {risk.name}: {risk.what}{before}"
    if not result.risks and result.examined:
        yield f"nothing more; tried: {'; '.join(result.examined)}"
