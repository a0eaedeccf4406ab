"""What agents see of questions: tools with schemas that a model can hold, and answers cut to what it can use.

A schema names the options of the command itself, the manifests and the edits; a request may say the others, too, as
``/openapi.json`` describes them.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from kwhatif.api.decode import decode_json
from kwhatif.api.json_schema import components, simplify
from kwhatif.api.objects import section
from kwhatif.render.escape import clean
from kwhatif.serve.fields import Route, routes
from kwhatif.serve.replies import Reply

TOOLS = "tools"
"""The question for the list of tools."""

AGENT = "application/vnd.kwhatif.agent+json"
"""The media type of an answer that is cut."""

ROWS = 10
"""Rows of a list that an agent sees."""

FEW_ROWS = 3
MOST_CHARACTERS = 24_000
_TEXT_CHARACTERS = 400
_NAMED = frozenset(
    {"manifests", "base", "namespace", "policy", "autoscale", "kubernetesVersion", "withPending", "edits"}
    | {"cordon", "removeNode", "addNodes", "like", "scale"}
)
_VARIANTS = frozenset(
    {"explain-consolidation", "explain-descheduling", "diff-descheduling", "diff-node-pools", "sweep"}
)
"""Questions that are no tools: a model chooses better among few."""

_GOOD = frozenset({"placed", "autoscaled", "skipped"})
_LEFT_OUT = frozenset({"fidelity", "scores", "context", "apiVersion"})


@cache
def tools_text() -> bytes:
    """The tools as ``tools/list`` has them."""
    return json.dumps([_tool(route) for route in routes().values() if route.name not in _VARIANTS]).encode()


def _tool(route: Route) -> dict[str, Any]:
    _, definitions = components(route.request)
    definition = section(simplify(definitions), route.request.__name__)
    own = {field.name for field in route.fields if field.parameter.own}
    properties = {
        name: {**schema, "description": _first_sentence(str(schema.get("description", "")))}
        for name, schema in section(definition, "properties").items()
        if name in own | _NAMED
    }
    return {
        "name": route.name,
        "description": f"{route.summary} Changes nothing.",
        "inputSchema": {"type": "object", "properties": properties, "required": definition.get("required", [])},
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    }


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].removesuffix(".")


def cut_answer(route: Route, reply: Reply) -> Reply:
    """An answer with the rows that matter, those that say no first, and how to ask for more."""
    if reply.status != 200:
        return reply
    answer = decode_json(reply.body, dict[str, Any])
    for rows in (ROWS, FEW_ROWS):
        left: dict[str, int] = {}
        shown = {key: _cut(value, rows, key, left) for key, value in answer.items() if key not in _LEFT_OUT}
        text = json.dumps(shown | _about(answer, left, route), ensure_ascii=True, separators=(",", ":"))
        if len(text) <= MOST_CHARACTERS:
            break
    return Reply(200, AGENT, text[:MOST_CHARACTERS].encode(), reply.exit_code)


def _about(answer: dict[str, Any], counts: dict[str, int], route: Route) -> dict[str, Any]:
    """What the answer is based on, and what of it is not shown."""
    fidelity = section(answer, "fidelity")
    gaps = [gap for gap in fidelity.get("gaps") or () if isinstance(gap, dict) and gap.get("pods")]
    about: dict[str, Any] = {
        "standsOn": {
            "source": _cut(fidelity.get("source"), ROWS, "", {}),
            "takenAt": fidelity.get("takenAt"),
            "rules": fidelity.get("rules"),
            "gaps": [_cut({"what": gap.get("what"), "effect": gap.get("effect")}, ROWS, "", {}) for gap in gaps[:ROWS]],
        }
    }
    if counts:
        about["notShown"] = counts
        about["more"] = f"Ask about fewer pods or nodes, or POST the same arguments to /v1/{route.name} for all rows."
    return about


def _cut(value: Any, rows: int, place: str, counts: dict[str, int]) -> Any:
    """A value with so many rows in each list; ``counts`` counts the rest by its place."""
    if isinstance(value, str):
        text = clean(value)
        return text if len(text) <= _TEXT_CHARACTERS else f"{text[:_TEXT_CHARACTERS]}..."
    if isinstance(value, dict):
        return {
            clean(key)[:_TEXT_CHARACTERS]: _cut(part, rows, f"{place}.{key}" if place else key, counts)
            for key, part in value.items()
            if key not in _LEFT_OUT
        }
    if isinstance(value, list):
        ordered = sorted(value, key=_is_good)
        if len(value) > rows:
            counts[place] = counts.get(place, 0) + len(value) - rows
        return [_cut(row, rows, place, counts) for row in ordered[:rows]]
    return value


def _is_good(row: Any) -> bool:
    """Whether a row says yes; rows that say no come first."""
    outcome = row.get("outcome") if isinstance(row, dict) else None
    if isinstance(outcome, dict):
        return outcome.get("good") is not False
    return outcome in _GOOD if isinstance(outcome, str) else False
