"""Strategic merge patches: an object laid over another one, lists by the keys that identify their items.

Lists of kinds that are not known are replaced. Items of the patch come first. Upstream: kustomize
(kyaml/yaml/merge2/merge2.go, kyaml/yaml/walk), which reads the keys of Kubernetes 1.21.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwhatif.api.field_types import FieldType, newest_types
from kwhatif.snapshot.kustomize.room import CopyRoom

_DIRECTIVE = "$patch"
_REPLACED = frozenset({"claims", "matchConditions", "resourceClaims", "schedulingGates"})
"""Lists with keys that kustomize does not know of."""


class Gone:
    """What stands in the place of a value that a patch deletes."""


GONE = Gone()


def merge_objects(below: dict[str, Any], patch: dict[str, Any], room: CopyRoom) -> dict[str, Any] | Gone:
    """A patch laid over an object, which is changed; ``GONE`` if the patch deletes it."""
    api_resource = newest_types().api_resource_of(str(below.get("apiVersion")), str(below.get("kind")))
    type_ = FieldType("struct", api_resource.type) if api_resource is not None else None
    done = _merge(below, patch, type_, room)
    return done if isinstance(done, dict) else GONE


def _merge(below: Any, patch: Any, type_: FieldType | None, room: CopyRoom) -> Any:
    if patch is None:
        return GONE
    if isinstance(patch, dict):
        return _merge_mappings(below if isinstance(below, dict) else None, patch, type_, room)
    if isinstance(patch, list) and type_ is not None and type_.keys:
        return _merge_lists(below if isinstance(below, list) else [], patch, type_, room)
    return room.copy(patch)


def _merge_mappings(
    below: dict[str, Any] | None, patch: dict[str, Any], type_: FieldType | None, room: CopyRoom
) -> Any:
    directive = patch.get(_DIRECTIVE)
    if directive == "delete":
        return GONE
    result = {} if below is None or directive == "replace" else below
    fields = newest_types().fields(type_.name) if type_ is not None and type_.shape == "struct" else {}
    for key, value in patch.items():
        if key == _DIRECTIVE:
            continue
        inner = None if key in _REPLACED else fields.get(key)
        if type_ is not None and type_.shape == "map":
            inner = type_.item
        done = _merge(result.get(key), value, inner, room)
        if done is GONE:
            result.pop(key, None)
        else:
            result[key] = done
    return result


def _merge_lists(below: list[Any], patch: list[Any], type_: FieldType, room: CopyRoom) -> Any:
    if any(isinstance(element, dict) and element.get(_DIRECTIVE) == "replace" for element in patch):
        kept = [element for element in patch if not (isinstance(element, dict) and _DIRECTIVE in element)]
        return room.copy(kept)
    if type_.keys == ("*",):
        return [*room.copy(patch), *(element for element in below if element not in patch)]
    done: list[Any] = []
    left = list(below)
    for element in patch:
        place = _place_of(element, left, type_.keys)
        merged = _merge(left.pop(place) if place is not None else None, element, type_.item, room)
        if merged is not GONE:
            done.append(merged)
    return [*done, *left]


def _place_of(item: Any, items: Sequence[Any], keys: tuple[str, ...]) -> int | None:
    """Where the item of the same keys stands; of several keys one may be left out."""
    if not isinstance(item, dict):
        return None
    for place, other in enumerate(items):
        if isinstance(other, dict):
            both = [(item[key], other[key]) for key in keys if key in item and key in other]
            if both and all(str(one) == str(two) for one, two in both):
                return place
    return None
