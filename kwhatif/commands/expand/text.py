"""Expanded manifests as blocks: pods with their changes, refusals and rollouts."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.commands.view import Look, View
from kwhatif.render.blocks import NONE, Block, Grouping, Heading, Lines, Verdict, build_table, join_texts, table
from kwhatif.render.grouping import MOST_ROWS
from kwhatif.render.sections import describe_edits
from kwhatif.results.amounts import format_count
from kwhatif.results.expand import ExpandResult
from kwhatif.results.outcome import lead_with
from kwhatif.results.place import FailedCreate, Refusal, RolloutPlan


def expand_blocks(result: ExpandResult) -> list[Block]:
    """The pods, a row for each thing that was done to one; the first row of a pod names it, of many pods each."""
    long = len(result.pods) > MOST_ROWS
    blocks: list[Block] = []
    rows: list[tuple[str, ...]] = []
    for pod in result.pods:
        named: tuple[str, ...] = (*pod.pod.split("/", 1), pod.owner or NONE, pod.origin)
        changes = [(f"{change.path}: {change.text}", change.step) for change in pod.changes]
        for change in changes or [(NONE, NONE)]:
            rows.append((*named, *change))
            if not long:
                named = ("",) * len(named)
    if rows:
        headers = (
            *("namespace [same]", "pod [pod]", "owner [same]", "from [same, drop 1]"),
            *("change [same]", "by [same]"),
        )
        blocks.append(table(headers, rows, Grouping("pod") if long else None))
    blocks += [*rollout_blocks(result.rollouts, steps=True), *refusal_blocks(result.refusals, result.failed)]
    parts = [format_count(len(result.pods), "pod")]
    if result.claims:
        parts.append(format_count(len(result.claims), "claim"))
    if result.refusals:
        parts.append(f"{len(result.refusals)} refused")
    return [
        *blocks,
        Verdict(
            lead_with(("Accepted", "Not accepted"), ", ".join(parts), good=not result.exit_code), not result.exit_code
        ),
        Lines((*describe_edits(result.edits), *result.not_modelled)),
    ]


def refusal_blocks(refusals: Sequence[Refusal], failed: Sequence[FailedCreate]) -> list[Block]:
    """Nothing if everything was let in."""
    refused = [(refusal.object, refusal.reason, refusal.origin, _format_refusal(refusal)) for refusal in refusals]
    missing = [(failed_create.owner, failed_create.pods, failed_create.message) for failed_create in failed]
    return [
        *build_table(
            "REFUSED by the API server",
            ("object", "reason [same]", "from", "message [same]"),
            refused,
            Grouping("object"),
        ),
        *build_table("NOT CREATED by the controllers", ("owner", "pods", "message"), missing, Grouping("owner")),
    ]


def _format_refusal(refusal: Refusal) -> str:
    return f"{refusal.message} ({refusal.hint})" if refusal.hint else refusal.message


def rollout_blocks(rollouts: Sequence[RolloutPlan], *, steps: bool = False) -> list[Block]:
    """Nothing if nothing was updated. With ``steps`` each one of them, too."""
    rows = [(rollout.object, rollout.creates, rollout.keeps, rollout.removes, rollout.outcome) for rollout in rollouts]
    blocks = build_table(
        "ROLLOUTS", ("object", "create", "keep", "remove", "outcome [same]"), rows, Grouping("rollout")
    )
    if rows and steps:
        step_rows = tuple(
            (
                rollout.object,
                str(number),
                f"{step.live_old}+{step.terminating_old}",
                f"{step.live_new}+{step.terminating_new}",
                join_texts(step.creates),
                join_texts(step.removes),
            )
            for rollout in rollouts
            for number, step in enumerate(rollout.steps, 1)
        )
        headers = ("object", "step", "old live+leaving", "new live+leaving", "creates", "removes")
        blocks += [Heading("STEPS"), table(headers, step_rows, Grouping("step"))]
    return blocks


def _documents_of(result: ExpandResult, look: Look) -> str:
    """The pods and claims alone."""
    from kwhatif.render.formats import as_documents

    return as_documents([*(pod.object for pod in result.pods), *result.claims])


VIEW = View(lambda result, look: expand_blocks(result), formats={"yaml": _documents_of})
