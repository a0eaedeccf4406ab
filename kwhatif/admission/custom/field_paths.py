"""Paths to fields of custom resources, as definitions write them: ``.spec.items['a.b']``.

Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go (ValidFieldPath).
"""

from __future__ import annotations

import re

from kwhatif.admission.answer import Object

_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")


class NoField(Exception):
    """A path that leads nowhere; ``str`` says why."""


def field_at(text: str, schema: Object, *, brackets: bool = True) -> tuple[tuple[str, ...], Object]:
    """The names on a path and the schema of the field there. Raises NoField."""
    names: list[str] = []
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        if text[at] == "[" and not brackets:
            raise NoField("array notation is not allowed")
        if step is None:
            raise NoField(_unlike(text[at:]))
        name = step[1] if step[1] is not None else re.sub(r"\\(.)", r"\1", step[2])
        properties, more = schema.get("properties"), schema.get("additionalProperties")
        if properties and name in properties:
            schema = properties[name] or {}
        elif not properties and isinstance(more, dict):
            schema = more
        else:
            raise NoField("does not refer to a valid field")
        names.append(name)
        at = step.end()
    return tuple(names), schema


def _unlike(rest: str) -> str:
    token = re.match(r"[^.\[\]]+|.", rest, re.DOTALL)
    if rest[0] not in ".[":
        return f"expected [ or . but got: {token[0] if token else ''}"
    if len(rest) == 1:
        return "unexpected end of JSON path"
    if rest[0] == ".":
        return "does not refer to a valid field"
    inner = re.match(r"\[([^.\[\]]*)", rest)
    return f"expected single quoted string but got {inner[1] if inner else ''}"
