"""Putting a manifest on top of an object, part by part, and taking parts out of an object.

Upstream: sigs.k8s.io/structured-merge-diff/typed (merge.go, remove.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwhatif.admission.updates.fields import item_key, parts
from kwhatif.api.field_types import FieldType, Types


def merged(below: Any, above: Any, type_: FieldType | None, types: Types) -> Any:
    """``above`` on ``below``: what ``above`` does not speak of stays. Neither is changed, but parts are shared."""
    if isinstance(above, list) and isinstance(below, list):
        return _items(below, above, type_, types) if type_ is not None and type_.keys else above
    if type_ is None or not isinstance(above, dict) or not isinstance(below, dict):
        return above
    own = {key[2:]: inner for key, _, inner in parts(above, type_, types)}
    if not own and above:
        return above  # an atomic one
    found = dict(below)
    for name, item in above.items():
        if item is None:
            found.pop(name, None)
        else:
            found[name] = merged(below.get(name), item, own.get(name), types)
    return found


def _items(below: list[Any], above: list[Any], type_: FieldType, types: Types) -> list[Any]:
    """Items in the order of ``above``; those that only ``below`` has stay where they stand among the others."""
    keys = [item_key(item, type_.keys) for item in below]
    there = dict(zip(keys, below, strict=True))
    wanted = {item_key(item, type_.keys): item for item in above}
    kept = [key for key in keys if key not in wanted]
    order: list[str] = []
    for key in wanted:
        if key in there:
            place = keys.index(key)
            while kept and keys.index(kept[0]) < place:
                order.append(kept.pop(0))
        order.append(key)
    order += kept
    return [merged(there.get(key), wanted[key], type_.item, types) if key in wanted else there[key] for key in order]


def without(value: Any, fields: Mapping[str, Any], type_: FieldType | None, types: Types) -> Any:
    """A value without some of its fields; what is emptied by that stays, empty."""
    found_parts = list(parts(value, type_, types)) if fields else []
    if not found_parts:
        return value
    kept = []
    for key, item, inner in found_parts:
        found = fields.get(key)
        if found is None:
            kept.append((key, item))
        elif found and "." not in found:
            kept.append((key, without(item, found, inner, types)))
    return [item for _, item in kept] if isinstance(value, list) else {key[2:]: item for key, item in kept}


def at(value: Any, path: tuple[str, ...], type_: FieldType | None, types: Types) -> Any:
    """What stands at a path, None if nothing does."""
    if not path:
        return value
    for key, item, inner in parts(value, type_, types):
        if key == path[0]:
            return at(item, path[1:], inner, types)
    return None
