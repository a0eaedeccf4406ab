"""Lists whose items must differ, and objects within objects.

Upstream: apiextensions-apiserver/pkg/apiserver/schema (listtype/validation.go, objectmeta/validation.go).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.custom.schemas import Wrong
from kwhatif.admission.validation.name_rules import dns_1035_label


def _within(value: Any, schema: Object, path: str) -> Iterator[tuple[Any, Object, str]]:
    """The values in a value with their schemas and paths."""
    if isinstance(value, dict):
        properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
        for key, item in value.items():
            if key in properties:
                yield item, properties[key], f"{path}.{key}"
            elif isinstance(more, dict):
                yield item, more, f"{path}[{key}]"
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for i, item in enumerate(value):
            yield item, schema["items"], f"{path}[{i}]"


def repeated(value: Any, schema: Object, path: str = "") -> Iterator[Wrong]:
    """Items of sets and of lists with keys that are there twice."""
    kind = schema.get("x-kubernetes-list-type")
    if isinstance(value, list) and kind in ("set", "map"):
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        shown = [item if kind == "set" else {k: item[k] for k in keys if k in (item or {})} for item in value]
        seen: dict[str, int] = {}
        for i, item in enumerate(shown):
            text = json.dumps(item, sort_keys=True)
            seen[text] = seen.get(text, 0) + 1
            if seen[text] == 2:
                yield Wrong("duplicate", f"{path}[{i}]", (item,))
    for inner in _within(value, schema, path):
        yield from repeated(*inner)


def embedded(value: Any, schema: Object, path: str = "") -> Iterator[Wrong]:
    """What is wrong with objects that a schema says are whole ones."""
    if isinstance(value, dict) and schema.get("x-kubernetes-embedded-resource"):
        for key in ("apiVersion", "kind"):
            found, where = value.get(key), f"{path}.{key}"
            if key not in value:
                yield Wrong("required", where)
            elif not isinstance(found, str):
                yield Wrong("invalid", where, (found, "must be a string"))
            elif not found:
                yield Wrong("invalid", where, (found, "must not be empty"))
            elif key == "kind" and (wrong := dns_1035_label(found.lower())):
                why = "may have mixed case, but should otherwise match: " + ",".join(wrong)
                yield Wrong("invalid", where, (found, why))
            elif key == "apiVersion" and found.count("/") > 1:
                yield Wrong("invalid", where, (found, f"unexpected GroupVersion string: {found}"))
    for inner in _within(value, schema, path):
        yield from embedded(*inner)
