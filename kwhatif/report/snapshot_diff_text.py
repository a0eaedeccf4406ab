"""What changed between two snapshots, the summary first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kwhatif.report.blocks import NONE, Block, Facts, Heading, Lines, Table
from kwhatif.results.amounts import counted
from kwhatif.results.snapshot_diff import DiffResult, ObjectChange

LONGEST_VALUE = 80


def diff_blocks(result: DiffResult) -> list[Block]:
    """The report."""
    blocks: list[Block] = [Facts(tuple(_facts(result)))]
    if not result.exit_code:
        return [*blocks, Lines(("Nothing changed that scheduling can see.",))]
    kinds = list(dict.fromkeys(change.kind for change in result.changes))
    for kind in kinds:
        changes = [change for change in result.changes if change.kind == kind]
        blocks += [Heading(f"{kind.upper()}: {len(changes)}"), _table(changes)]
    if result.replaced:
        told = tuple(
            f"{counted(each.pods, 'pod')} of {each.controller} replaced"
            f"{f', {each.moved} on other nodes' if each.moved else ''}"
            for each in result.replaced
        )
        blocks += [Heading("REPLACED by pods of the same template"), Lines(told, listed=True)]
    return blocks


def _facts(result: DiffResult) -> Iterator[tuple[str, str]]:
    versions = [f" (Kubernetes {v})" if v else "" for v in (result.version_before, result.version_after)]
    yield "Before", (result.before or NONE) + versions[0]
    yield "After", (result.after or NONE) + versions[1]
    for kind, changes in result.totals.items():
        yield kind, ", ".join(f"{number} {change}" for change, number in changes.items())
    for label, kinds in (("Only before", result.only_before), ("Only after", result.only_after)):
        if kinds:
            yield label, f"{', '.join(kinds)}: not compared"


def _table(changes: list[ObjectChange]) -> Table:
    """A row a field; the first row of an object names it."""
    rows: list[tuple[str, ...]] = []
    for change in changes:
        named = (change.change, change.object, change.note or NONE)
        fields = [
            f"{field.path}: {_value(field.before)} -> {_value(field.after)}"
            for field in change.fields
            if not (field.path == "spec.nodeName" and change.change in ("moved", "bound"))
        ]
        for field in fields or [NONE]:
            rows.append((*named, field))
            named = ("", "", "")
    if all(row[2] in ("", NONE) for row in rows):
        return Table(("change", "object", "fields"), tuple((*row[:2], row[3]) for row in rows))
    return Table(("change", "object", "where", "fields"), tuple(rows))


def _value(value: Any) -> str:
    if value is None:
        return NONE
    text = value if isinstance(value, str) and value else json.dumps(value, separators=(", ", ": "), ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
