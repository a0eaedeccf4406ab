"""JSON patches: operations on the places of a document, each of which has to be there.

Upstream: RFC 6902 as evanphx/json-patch has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.room import CopyRoom


def is_json_patch(value: Any) -> bool:
    """Whether it is a list of operations."""
    return isinstance(value, list) and all(isinstance(element, dict) and "op" in element for element in value)


def apply_json_patch(document: dict[str, Any], operations: Sequence[Mapping[str, Any]], room: CopyRoom) -> None:
    """Change a document by operations. Raises InputError for one that cannot be done."""
    for operation in operations:
        try:
            _apply(document, operation, room)
        except InputError as error:
            raise InputError(f"{operation.get('op')} {operation.get('path')}: {error.problem}") from None


def _apply(document: dict[str, Any], operation: Mapping[str, Any], room: CopyRoom) -> None:
    path = _keys_of(operation.get("path"))
    match operation.get("op"):
        case "add":
            _add(document, path, room.copy(operation.get("value")))
        case "remove":
            _remove(document, path)
        case "replace":
            parent = _value_at(document, path[:-1])
            if isinstance(parent, list):
                parent[_index(path[-1], len(parent) - 1)] = room.copy(operation.get("value"))
            else:
                # As kustomize's library has it, in a mapping also what is not there.
                _add(document, path, room.copy(operation.get("value")))
        case "move":
            source = _keys_of(operation.get("from"))
            if path[: len(source)] == source and len(path) > len(source):
                raise InputError("a value cannot be moved into itself")
            _add(document, path, _remove(document, source))
        case "copy":
            _add(document, path, room.copy(_value_at(document, _keys_of(operation.get("from")))))
            # What is copied into itself gets deeper each time.
            room.copy(document)
        case "test":
            if _value_at(document, path) != operation.get("value"):
                raise InputError("another value is there")
        case other:
            raise InputError(f"expected add, copy, move, remove, replace or test, found {other!a}")


def _keys_of(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise InputError(f"expected a path such as /spec/replicas, found {pointer!a}")
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]


def _value_at(document: Any, keys: Sequence[str]) -> Any:
    value = document
    for key in keys:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list):
            value = value[_index(key, len(value) - 1)]
        else:
            raise InputError(f"{key!a} is not there")
    return value


def _index(key: str, last: int) -> int:
    sign, digits = key[:1] == "-", key.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        raise InputError(f"expected the number of an item, found {key!a}")
    index = last + 1 - int(digits) if sign else int(digits)
    if not 0 <= index <= last:
        raise InputError(f"there is no item {key}")
    return index


def _add(document: dict[str, Any], keys: list[str], value: Any) -> None:
    if not keys:
        if not isinstance(value, dict):
            raise InputError("expected an object")
        document.clear()
        document.update(value)
        return
    parent, key = _value_at(document, keys[:-1]), keys[-1]
    if isinstance(parent, dict):
        parent[key] = value
    elif isinstance(parent, list):
        parent.insert(len(parent) if key == "-" else _index(key, len(parent)), value)
    else:
        raise InputError("its parent is neither a mapping nor a list")


def _remove(document: dict[str, Any], keys: list[str]) -> Any:
    if not keys:
        raise InputError("the whole document cannot be removed")
    parent, key = _value_at(document, keys[:-1]), keys[-1]
    if isinstance(parent, dict) and key in parent:
        return parent.pop(key)
    if isinstance(parent, list):
        return parent.pop(_index(key, len(parent) - 1))
    raise InputError(f"{key!a} is not there")
