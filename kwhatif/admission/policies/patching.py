"""Mutations of an object by policies: apply configurations and JSON Patches.

Upstream: apiserver/pkg/admission/plugin/policy/mutating/patch (smd.go, json_patch.go), gopkg.in/evanphx/json-patch.v4,
sigs.k8s.io/structured-merge-diff (typed/merge.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kwhatif.admission.manifest import patch_errors
from kwhatif.admission.request import deep_copy_json
from kwhatif.admission.response import Object
from kwhatif.api.field_types import FieldType, Types
from kwhatif.cel.operators import equal
from kwhatif.cel.values import Struct
from kwhatif.golang.parsing import parse_int

_ATOMIC = frozenset(
    (
        *("core.v1.ConfigMapKeySelector", "core.v1.FileKeySelector", "core.v1.LocalObjectReference"),
        *("core.v1.NodeSelector", "core.v1.NodeSelectorTerm", "core.v1.ObjectFieldSelector"),
        *("core.v1.ObjectReference", "core.v1.ResourceFieldSelector", "core.v1.ScopeSelector"),
        *("core.v1.SecretKeySelector", "core.v1.SecretReference", "core.v1.TopologySelectorTerm"),
        *("core.v1.TypedLocalObjectReference", "meta.v1.LabelSelector", "meta.v1.OwnerReference"),
        *("autoscaling.v1.CrossVersionObjectReference", "networking.v1.IngressServiceBackend"),
    )
)
"""Types that are replaced as a whole."""
_ATOMIC_FIELDS = frozenset({"nodeSelector"})


class PatchError(Exception):
    """A patch that cannot be applied; ``str`` is upstream's text."""


# --- configurations


def apply_configuration(obj: Object, value: Any, name: str, types: Types) -> Object:
    """An object of the type ``name`` with the fields that an ``Object{}`` sets. Raises PatchError."""
    wrong = list(_find_misnamed(value, "Object"))
    if wrong:
        raise PatchError("type mismatch: " + "\n".join(wrong))
    patch = {**_plain(value), "apiVersion": obj.get("apiVersion"), "kind": obj.get("kind")}
    errors = patch_errors(patch, name, types)
    if errors:
        problem = errors[0] if len(errors) == 1 else "errors:\n" + "\n".join(f"  {error}" for error in errors)
        raise PatchError(f"error applying patch: failed to convert patch object to typed object: {problem}")
    atomic = list(_atomics(patch, FieldType("struct", name), types, ""))
    if atomic:
        why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        raise PatchError(f"error applying patch: invalid ApplyConfiguration: {why}")
    merged: Object = _merge(deep_copy_json(obj), patch, FieldType("struct", name), types)
    return merged


def _find_misnamed(value: Any, path: str) -> Iterator[str]:
    """Parts of an ``Object{}`` whose type name is not that of their path."""
    if isinstance(value, Struct):
        if value.name != path:
            why = "which matches field name path from root Object type"
            yield f'unexpected type name "{value.name}", expected "{path}", {why}'
        for field, inner in value.items():
            yield from _find_misnamed(inner, f"{path}.{field}")
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _find_misnamed(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from _find_misnamed(inner, path)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _atomics(value: Any, type_: FieldType, types: Types, path: str) -> Iterator[str]:
    if isinstance(value, dict) and type_.shape in ("struct", "map"):
        if type_.name in _ATOMIC or path.rpartition(".")[2] in _ATOMIC_FIELDS:
            yield path
        fields = types.fields(type_.name) if type_.shape == "struct" else {}
        for key, item in value.items():
            if key in fields:
                yield from _atomics(item, fields[key], types, f"{path}.{key}")
    elif isinstance(value, list) and type_.shape == "list" and type_.item is not None:
        if not type_.keys:
            yield path
        for i, item in enumerate(value):
            yield from _atomics(item, type_.item, types, f"{path}[{i}]")


def _merge(old: Any, new: Any, type_: FieldType, types: Types) -> Any:
    if type_.shape in ("struct", "map") and isinstance(old, dict) and isinstance(new, dict):
        fields: Mapping[str, FieldType] = types.fields(type_.name) if type_.shape == "struct" else {}
        for key, item in new.items():
            field = fields.get(key) or type_.item
            old[key] = _merge(old[key], item, field, types) if field and old.get(key) is not None else item
        return old
    if type_.shape == "list" and type_.keys and isinstance(old, list) and isinstance(new, list):
        return _merged_lists(old, new, type_, types)
    return new


def _merged_lists(old: list[Any], new: list[Any], type_: FieldType, types: Types) -> list[Any]:
    def key_of(item: Any) -> Any:
        return item if type_.keys == ("*",) else tuple(_default(key, item.get(key)) for key in type_.keys)

    places = {key_of(item): i for i, item in enumerate(old)}
    assert type_.item is not None
    for item in new:
        place = places.get(key_of(item))
        if place is None:
            places[key_of(item)] = len(old)
            old.append(item)
        else:
            old[place] = _merge(old[place], item, type_.item, types)
    return old


def _default(key: str, value: Any) -> Any:
    return "TCP" if key == "protocol" and value is None else value


# --- JSON Patch


def apply_json_patch(obj: Object, operations: list[Any]) -> Object:
    """An object with the operations of a patch applied; unchanged if one of its ``test`` operations fails. Raises
    PatchError.
    """
    document: Object = deep_copy_json(obj)
    for item in operations:
        wrong = list(
            _find_misnamed(item.get("value"), _object_path(str(item.get("path") or "")))
            if isinstance(item, dict)
            else ()
        )
        if wrong and isinstance(item.get("value"), Struct):
            raise PatchError("type mismatch: " + "\n".join(wrong))
        operation = {**item, "value": _plain(item.get("value"))}
        try:
            if not _run_operation(document, operation):
                return obj
        except PatchError as problem:
            raise PatchError(f"JSON Patch: {problem}") from None
    return document


def _object_path(path: str) -> str:
    names = [part for part in path.split("/")[1:] if part != "-" and not part.isdigit()]
    return ".".join(["Object", *names])


def _run_operation(document: Any, item: Mapping[str, Any]) -> bool:
    op, path, value = str(item.get("op") or ""), str(item.get("path") or ""), item.get("value")
    match op:
        case "add":
            where, key = _place(document, path, f'add operation does not apply: doc is missing path: "{path}"')
            _add(where, key, value, f"error in add for path: '{path}'")
        case "remove":
            where, key = _place(document, path, f'remove operation does not apply: doc is missing path: "{path}"')
            _remove(where, key, f"error in remove for path: '{path}'")
        case "replace":
            where, key = _place(document, path, f"replace operation does not apply: doc is missing path: {path}")
            missing = f"replace operation does not apply: doc is missing key: {path}: missing value"
            if isinstance(where, list) and _index(where, key) is None:
                raise PatchError(missing)
            where[_index(where, key) if isinstance(where, list) else key] = value
        case "test":
            where, key = _place(document, path, f"test operation does not apply: is missing path: {path}")
            return equal(_get_item(where, key, f"error in test for path: '{path}'"), value)
        case "move" | "copy":
            start = str(item.get("from") or "")
            where, key = _place(document, start, f"{op} operation does not apply: doc is missing from path: {start}")
            value = _get_item(where, key, f"error in {op} for path: '{key if op == 'move' else start}'")
            if op == "move":
                _remove(where, key, f"error in move for path: '{key}'")
            missing = f"{op} operation does not apply: doc is missing destination path: {path}"
            where, key = _place(document, path, missing)
            wrong = f"error in move for path: '{path}'" if op == "move" else "error while adding value during copy"
            _add(where, key, deep_copy_json(value), wrong)
        case _:
            raise PatchError(f"Unexpected kind: {op}")
    return True


def _place(document: Any, path: str, missing: str) -> tuple[Any, str]:
    """What holds the last part of a path, and that part."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    if len(parts) < 2:
        raise PatchError(f"{missing}: missing value")
    where = document
    for part in parts[1:-1]:
        index = _index(where, part) if isinstance(where, list) else None
        inner = where.get(part) if isinstance(where, dict) else where[index] if index is not None else None
        if not isinstance(inner, dict | list):
            raise PatchError(f"{missing}: missing value")
        where = inner
    return where, parts[-1]


def _index(items: list[Any], key: str) -> int | None:
    """The place that a key names; negative ones count from the end."""
    number = parse_int(key)
    if number is None or key.startswith("+"):
        return None
    return number % len(items) if -len(items) <= number < len(items) and items else None


def _get_item(where: Any, key: str, wrong: str) -> Any:
    if isinstance(where, dict):
        return where.get(key)
    index = _index(where, key)
    if index is None:
        raise PatchError(f"{wrong}: {_bad_index(key)}")
    return where[index]


def _add(where: Any, key: str, value: Any, wrong: str) -> None:
    if isinstance(where, dict):
        where[key] = value
    elif key == "-":
        where.append(value)
    elif (number := parse_int(key)) is None or key.startswith("+"):
        raise PatchError(f"{wrong}: value was not a proper array index: '{key}': {_bad_index(key)}")
    else:
        if not -len(where) - 1 <= number <= len(where):
            raise PatchError(f"{wrong}: {_bad_index(key)}")
        where.insert(number if number >= 0 else number + len(where) + 1, value)


def _remove(where: Any, key: str, wrong: str) -> None:
    if isinstance(where, dict):
        if key not in where:
            raise PatchError(f"{wrong}: Unable to remove nonexistent key: {key}: missing value")
        del where[key]
        return
    index = _index(where, key)
    if index is None:
        raise PatchError(f"{wrong}: {_bad_index(key)}")
    del where[index]


def _bad_index(key: str) -> str:
    number = parse_int(key)
    if number is not None:
        return f"Unable to access invalid index: {number}: invalid index referenced"
    why = "value out of range" if key.removeprefix("-").isdigit() else "invalid syntax"
    return f'strconv.Atoi: parsing "{key}": {why}'
