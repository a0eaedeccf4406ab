"""A result as one page of HTML. Its code is always the same; everything that a cluster brings into it is in one JSON
element, from which the page's own script puts it into text nodes and onto a canvas.

A Content-Security-Policy allows only the two scripts of the package, by their hashes, and no loading.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import msgspec

from kwhatif.commands.view import Look, view_of
from kwhatif.errors import UsageError
from kwhatif.render.blocks import Block, Commands, Facts, Gaps, Heading, Lines, Patch, Table, Verdict, flatten_blocks
from kwhatif.render.html.drawings import (
    groups_data,
    json_in_page,
    map_data,
    matrices_of,
    packed_column,
    pods_data,
    story_data,
)
from kwhatif.render.page_spec import PageSpec
from kwhatif.render.sections import describe_edits, describe_fidelity
from kwhatif.results.base import Result, notes_beside

APP = (
    "data",
    "dom",
    "cluster",
    "table",
    "chart",
    "failures",
    "map",
    "panel",
    "search",
    "matrix",
    "story",
    "curves",
    "pool",
    "flows",
    "findings",
    "sizing",
    "sections",
)
"""The files of the page's script, in this order; ``start`` comes last."""


def html_page(result: Result) -> str:
    """The page, ending in a newline. The same for the same result."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("kwhatif.render.html", "app")
    assets = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    scripts = [app_file("vendor/echarts.min.js"), app_script() + _START]
    style = app_file("style.css")
    return assets.get_template("page.html").render(
        question=page_of(result).name,
        style=style,
        style_hash=_hash(style),
        scripts=scripts,
        script_hashes=[_hash(script) for script in scripts],
        data=json_in_page(page_data(result)),
    )


def app_file(name: str) -> str:
    """A file that pages are made of."""
    return files("kwhatif.render.html").joinpath("app", name).read_text("utf-8")


_START = "drawReport(JSON.parse(document.getElementById('data').textContent), new AbortController().signal);\n"


def app_script(more: str = "") -> str:
    """The script of a page: a function that draws an answer, and takes that back where ``signal`` aborts.

    ``more`` is done at the end of each drawing.
    """
    parts = [*(app_file(f"{name}.js") for name in (*APP, "start")), more]
    return f"const drawReport = (GIVEN, signal) => {{\n'use strict';\n{''.join(parts)}}};\n"


def page_data(result: Result) -> dict[str, Any]:
    """Everything that a page shows, as plain values."""
    question = page_of(result)
    blocks = question.blocks(result) if question.blocks else view_of(result).blocks(result, Look())
    sections = sections_of(result, blocks)
    cluster_map = result.cluster_map
    nodes = {node.node: place for place, node in enumerate(cluster_map.nodes)} if cluster_map is not None else {}
    tables = [
        {
            "heads": table.headers,
            "names": sum(not column.name for column in table.columns),
            "nodes": [i for i, column in enumerate(table.columns) if column.node],
            "columns": [packed_column(column, nodes) for column in zip(*table.rows, strict=True)],
        }
        for table in tables_of(sections)
    ]
    drawn, number = [], 0
    for section in sections:
        plain = list(plain_blocks(section.blocks, number))
        number += sum("table" in block for block in plain)
        drawn.append({"title": section.title, "blocks": plain})
    return {
        "question": question.name,
        "verdict": verdict_of(result, blocks),
        "standsOn": fidelity_data(result),
        "notes": notes_beside("\n".join(map(describe_fidelity, result.fidelities)), result.notes),
        "command": result.command,
        "sections": drawn,
        "tables": tables,
        "map": map_data(cluster_map) if cluster_map is not None else None,
        "pods": pods_data(question.pods(result), nodes),
        "drained": [],
        "groups": groups_data(result),
        "matrices": matrices_of(result),
        "findings": None,
        "story": story_data(result),
        "pool": None,
        "sizing": None,
    } | question.data(result)


def page_of(result: Result) -> PageSpec:
    """The page of this result. Raises UsageError if its view has none."""
    if (page := view_of(result).page) is None:
        raise UsageError(f"--report html: {type(result).__name__} has no page; json, yaml and markdown are there")
    return page


MOST_PODS_OF_A_GAP = 50


def verdict_of(result: Result, blocks: Iterable[Block]) -> dict[str, str]:
    """The answer: its tone, a few words, and the sentence that every report of it begins with."""
    question = page_of(result)
    tone, words = question.answer(result)
    verdict = next((block.text for block in blocks if isinstance(block, Verdict)), "")
    return {"tone": tone, "words": words, "text": (verdict if verdict != words else "") or question.verdict(result)}


def fidelity_data(result: Result) -> list[dict[str, Any]]:
    """The rules and the snapshot, of each side where they differ, and the gaps, those first that touch a pod."""
    fidelities = list(dict.fromkeys(result.fidelities))
    return [
        {
            "side": side if len(fidelities) > 1 else "",
            "lines": [describe_fidelity(fidelity), *describe_edits(fidelity.edits)],
            "gaps": [
                {
                    "what": gap.what,
                    "effect": gap.consequence,
                    "pods": gap.pods[:MOST_PODS_OF_A_GAP],
                    "number": len(gap.pods),
                }
                for gap in sorted(fidelity.gaps, key=lambda gap: not gap.pods)
            ],
        }
        for side, fidelity in zip(("A", "B"), fidelities, strict=False)
    ]


class Section(msgspec.Struct, frozen=True):
    """A part of the page: a title of ours, and what stands under it."""

    title: str
    blocks: Sequence[Block]


def sections_of(result: Result, blocks: Sequence[Block]) -> list[Section]:
    """The report's blocks under their headings, without the verdict and the fidelity, which have places of
    their own.
    """
    elsewhere = Heading("A IS BASED ON"), Heading("B IS BASED ON")
    sections: list[tuple[str, list[Block]]] = []
    for block in flatten_blocks(part for part in blocks if not isinstance(part, Gaps)):
        if isinstance(block, Verdict) or block in elsewhere:
            continue
        section = block.section if isinstance(block, Heading) else ""
        if section and sections and sections[-1][0] == section:
            sections[-1][1].append(block)
        elif section:
            sections.append((section, [block]))
        elif isinstance(block, Heading):
            sections.append((sentence(block.text), []))
        elif not sections:
            sections.append((page_of(result).title, [block]))
        else:
            sections[-1][1].append(block)
    return [Section(title, content) for title, content in sections]


def sentence(heading: str) -> str:
    """``VICTIMS of urgent`` as ``Victims of urgent``: words in capitals are ours, and are not shouted here."""
    words = heading.split(" ")
    # A and B alone are sides; in the middle of words in capitals an A is an article.
    article = [
        word == "A" and place > 0 and "".join(words[place + 1 :][:1]).isupper() for place, word in enumerate(words)
    ]
    plain = [
        word.lower() if word.isupper() and (len(word) > 1 or alone) else word
        for word, alone in zip(words, article, strict=True)
    ]
    text = " ".join(plain)
    return text[:1].upper() + text[1:]


def tables_of(sections: Iterable[Section]) -> Iterator[Table]:
    return (block for section in sections for block in section.blocks if isinstance(block, Table))


def plain_blocks(blocks: Iterable[Block], first_table: int) -> Iterator[dict[str, Any]]:
    """Blocks as plain values; tables by their number in the page, from ``first_table`` on."""
    for block in blocks:
        match block:
            case Facts(pairs):
                yield {"facts": pairs}
            case Heading(text=text):
                yield {"heading": sentence(text)}
            case Lines(texts, listed):
                yield {"lines": texts, "listed": listed}
            case Commands(texts) | Patch(texts):
                yield {"lines": texts, "listed": True}
            case Table():
                yield {"table": first_table}
                first_table += 1


def _hash(text: str) -> str:
    """The hash of a script in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
