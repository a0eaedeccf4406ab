"""A result as one page of HTML. What it is made of is ours and always the same; all that a cluster brings into it
stands in one JSON element, out of which the page's own script puts it into text nodes and onto a canvas.

A Content-Security-Policy lets nothing run but the two scripts of the package, by their hashes, and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from kwhatif.commands.pages import PAGES, fidelity_data, findings_data, plain_blocks, sections_of, tables_of, verdict_of
from kwhatif.commands.rightsize.page_data import sizing_data
from kwhatif.commands.rightsize.result import RightsizeResult
from kwhatif.render.html.drawings import (
    drained_nodes,
    json_in_page,
    map_data,
    matrices_of,
    packed_column,
    pods_data,
    story_data,
)
from kwhatif.results.base import Result
from kwhatif.results.gate import GateResult

APP = (
    "data",
    "dom",
    "cluster",
    "table",
    "chart",
    "map",
    "panel",
    "search",
    "matrix",
    "story",
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

    def text(name: str) -> str:
        return loader.get_source(assets, name)[0]

    parts = [text(f"{name}.js") for name in (*APP, "start")]
    scripts = [text("vendor/echarts.min.js"), f"(() => {{\n'use strict';\n{''.join(parts)}}})();\n"]
    style = text("style.css")
    return assets.get_template("page.html").render(
        question=PAGES[type(result)].name,
        style=style,
        style_hash=_hash(style),
        scripts=scripts,
        script_hashes=[_hash(script) for script in scripts],
        data=json_in_page(page_data(result)),
    )


def page_data(result: Result) -> dict[str, Any]:
    """Everything that a page shows, as plain values."""
    question = PAGES[type(result)]
    blocks = question.blocks(result)
    sections = sections_of(result, blocks)
    found = result.cluster_map
    nodes = {node.node: place for place, node in enumerate(found.nodes)} if found is not None else {}
    tables = [
        {
            "heads": table.headers,
            "names": len(table.headers) if table.names_from is None else table.names_from,
            "nodes": table.nodes,
            "columns": [packed_column(column, nodes) for column in zip(*table.rows, strict=True)],
        }
        for table in tables_of(sections)
    ]
    told, number = [], 0
    for section in sections:
        plain = list(plain_blocks(section.blocks, number))
        number += sum("table" in each for each in plain)
        told.append({"title": section.title, "blocks": plain})
    return {
        "question": question.name,
        "verdict": verdict_of(result, blocks),
        "standsOn": fidelity_data(result),
        "notes": result.notes,
        "command": result.command,
        "sections": told,
        "tables": tables,
        "map": map_data(found) if found is not None else None,
        "pods": pods_data(result, nodes),
        "drained": drained_nodes(result),
        "matrices": matrices_of(result),
        "findings": findings_data(result) if isinstance(result, GateResult) else None,
        "story": story_data(result),
        "sizing": sizing_data(result) if isinstance(result, RightsizeResult) else None,
    }


def _hash(text: str) -> str:
    """How a Content-Security-Policy names a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
