"""The page of columns explains every heading that a table may have."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwhatif.render.blocks import Column

ROOT = Path(__file__).parents[2]
SOURCES = [
    text
    for room in ("commands", "render")
    for path in sorted((ROOT / "kwhatif" / room).rglob("*.py"))
    if "table(" in (text := path.read_text("utf-8"))
]
EXPLAINED = {
    heading.strip()
    for line in (ROOT / "docs/reference/columns.md").read_text("utf-8").splitlines()
    if line.startswith("| ")
    for heading in line.split(" | ")[0].removeprefix("| ").split("; ")
} - {"Heading", "---"}
MADE = {"SKEW ABOVE N", "CPU LEFT", "MEMORY LEFT", "CPU % A B", "MEMORY % A B", "± CPU A B", "± MEMORY A B"}
"""Headings that the program puts together."""


def _headings(node: ast.expr, values: dict[str, list[ast.expr]], depth: int = 0) -> Iterator[str]:
    """The texts among what a table is given as columns, looked up by name where they are."""
    match node:
        case ast.Constant(value=str(text)):
            yield Column.read(text).header
        case ast.Name(id=name) if depth < 4:
            for value in values[name]:
                yield from _headings(value, values, depth + 1)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _headings(part, values, depth)
        case ast.Starred(value=part) | ast.Subscript(value=part) | ast.ListComp(elt=part):
            yield from _headings(part, values, depth)
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            yield from _headings(one, values, depth)
            yield from _headings(other, values, depth)
        case ast.Call(func=ast.Name(id="tuple" | "compress"), args=[part, *_]):
            yield from _headings(part, values, depth)


def _headings_of(source: str) -> Iterator[str]:
    values = defaultdict[str, list[ast.expr]](list)
    calls = list[tuple[int, ast.Call]]()
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                values[name].append(value)
            case ast.Call(func=ast.Name(id="table" | "build_table" as name)):
                calls.append((name == "build_table", node))
    for place, call in calls:
        yield from _headings(call.args[place], values)


@pytest.mark.long
def test_every_heading_of_a_table_is_explained() -> None:
    headings = {heading.upper() for source in SOURCES for heading in _headings_of(source)} - {""}
    assert len(headings) > 250
    assert headings - EXPLAINED == set()


def test_no_heading_is_explained_that_no_table_has() -> None:
    texts = "".join(SOURCES).lower()
    assert {heading for heading in EXPLAINED - MADE if f'"{heading.lower()}' not in texts} == set()
