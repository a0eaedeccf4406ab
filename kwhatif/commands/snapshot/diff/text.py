"""Differences of snapshots as blocks, the summary first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kwhatif.commands.snapshot.diff.result import DiffResult, ObjectChange
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Facts, Grouping, Heading, Lines, Verdict, build_table
from kwhatif.results.amounts import format_count

LONGEST_VALUE = 80


def diff_blocks(result: DiffResult) -> list[Block]:
    """The report."""
    facts = Facts(tuple(_facts(result)))
    if not result.exit_code:
        return [facts, Verdict("No difference: nothing changed that the scheduler reads.", True)]
    kinds = len({change.kind for change in result.changes})
    differ = format_count(len(result.changes), "object")
    blocks: list[Block] = [Verdict(f"Differs: {differ} of {format_count(kinds, 'kind')}.", False), facts]
    rows = [row for change in result.changes for row in _rows(change)]
    headers = ("kind [same]", "change [same]", "object [pod]", "where [same]", "fields")
    blocks += build_table("CHANGES", headers, rows, Grouping("row"))
    if result.replaced:
        replaced = tuple(
            f"{format_count(workload.pods, 'pod')} of {workload.controller} replaced"
            f"{f', {workload.moved} on other nodes' if workload.moved else ''}"
            for workload in result.replaced
        )
        blocks += [Heading("REPLACED by pods of the same template"), Lines(replaced, listed=True)]
    return blocks


def _file_name(path: str, other: str) -> str:
    """The name of a file without its folders, where that tells it from the other one."""
    name = path.rpartition("/")[2]
    return name if name != other.rpartition("/")[2] else path


def _facts(result: DiffResult) -> Iterator[tuple[str, str]]:
    versions = [f" (Kubernetes {v})" if v else "" for v in (result.version_before, result.version_after)]
    yield "Before", (_file_name(result.before, result.after) or NONE) + versions[0]
    yield "After", (_file_name(result.after, result.before) or NONE) + versions[1]
    for kind, changes in result.totals.items():
        yield kind, ", ".join(f"{number} {change}" for change, number in changes.items())
    for label, kinds in (("Only before", result.only_before), ("Only after", result.only_after)):
        if kinds:
            yield label, f"{', '.join(kinds)}: not compared"


def _rows(change: ObjectChange) -> Iterator[tuple[str, ...]]:
    """A row a field, or one for the object."""
    fields = [
        f"{field.path}: {_value(field.before)} -> {_value(field.after)}"
        for field in change.fields
        if not (field.path == "spec.nodeName" and change.change in ("moved", "bound"))
    ]
    for field in fields or [NONE]:
        yield (change.kind, change.change, change.object, change.note or NONE, field)


def _value(value: Any) -> str:
    if value is None:
        return NONE
    text = value if isinstance(value, str) and value else json.dumps(value, separators=(", ", ": "), ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


VIEW = View(lambda result, look: diff_blocks(result))
