"""A trimmed snapshot as blocks: how much was cut, the decision, and the command that shows it again."""

from __future__ import annotations

from kwhatif.commands.snapshot.trim.result import TrimmedPod, TrimResult
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Heading, Lines, Verdict, table
from kwhatif.results.amounts import format_count, format_some


def trim_blocks(result: TrimResult) -> list[Block]:
    """The report."""
    before, after = (sum(getattr(kind, side) for kind in result.kinds) for side in ("before", "after"))
    rows = tuple((kind.kind, str(kind.before), str(kind.after)) for kind in result.kinds)
    steps = f"{format_count(result.steps, 'decision')} replayed"
    if not result.complete:
        steps += "; it stopped there: --nodes-too or a higher --steps may cut more"
    pairs = (
        ("From", result.source or NONE),
        ("To", result.file),
        ("Objects", f"{before} -> {after}"),
        ("Size", f"{result.bytes_before:,} -> {result.bytes_after:,} bytes"),
        ("Checked", steps),
    )
    outcomes = tuple((pod.pod, pod.outcome, pod.node or NONE, _describe_pod(pod)) for pod in result.pods)
    blocks: list[Block] = [
        Verdict(f"Same decision: {after} of {format_count(before, 'object')} kept.", True),
        Facts(pairs),
        table(("kind", "before", "after"), rows),
        Heading("SAME DECISION"),
        table(("pod", "outcome", "node", "why"), outcomes),
    ]
    texts = [f"To see it again: {result.shown_by}"]
    if result.others_pending:
        named = format_some(result.others_pending)
        texts.append(
            f"Nominated pods are kept, too, and kwhatif place --with-pending would place them as well: {named}."
        )
    return [*blocks, Lines(tuple(texts))]


def _describe_pod(pod: TrimmedPod) -> str:
    parts = [f"score {pod.score}"] if pod.score is not None else []
    if pod.victims:
        parts.append(f"evicts {format_some(pod.victims)}")
    return "; ".join([*parts, pod.message] if pod.message else parts) or NONE


VIEW = View(lambda result, look: trim_blocks(result))
