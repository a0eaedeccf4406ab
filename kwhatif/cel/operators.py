"""Equality, order and arithmetic of values; what cannot be done is a Fault with cel-go's words.

Upstream: github.com/google/cel-go/common/types.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from kwhatif.cel.faults import Fault
from kwhatif.cel.values import Domains, Duration, Semver, Timestamp, UInt, name_of

__all__ = ["BINARY", "contains", "equal", "find", "negate", "nothing_such", "size_of"]

NO_OVERLOAD = "no such overload"
_NUMERIC = ("int", "uint", "double")


def nothing_such(function: str, *values: object) -> Fault:
    """A function that has no overload for these values."""
    return Fault(f"{NO_OVERLOAD}: {function}({', '.join(map(name_of, values))})")


def equal(left: Any, right: Any) -> bool:
    """Values of different types are different, but numbers are compared as numbers."""
    mine, theirs = name_of(left), name_of(right)
    if mine in _NUMERIC and theirs in _NUMERIC:
        return bool(left == right)
    if mine != theirs:
        return False
    if mine == "list":
        return len(left) == len(right) and all(map(equal, left, right))
    if mine == "map":
        return len(left) == len(right) and all(key in right and equal(left[key], right[key]) for key in left)
    if isinstance(left, Semver):
        return bool(left.rank == right.rank)
    return bool(left == right)


_ORDERED = ("bool", "string", "bytes", "google.protobuf.Timestamp", "google.protobuf.Duration")


def _ordering(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        mine, theirs = name_of(left), name_of(right)
        if mine in _NUMERIC and theirs in _NUMERIC:
            if any(isinstance(side, float) and math.isnan(side) for side in (left, right)):
                raise Fault("NaN values cannot be ordered")
        elif mine != theirs or mine not in _ORDERED:
            raise Fault(NO_OVERLOAD)
        return test(left, right)

    return compare


def _integer(value: int, kind: type[int]) -> int:
    """The result of integer arithmetic, if it is in range."""
    if kind is UInt:
        if not 0 <= value < 2**64:
            raise Fault("unsigned integer overflow")
        return UInt(value)
    if not -(2**63) <= value < 2**63:
        raise Fault("integer overflow")
    return value


def _truncated(left: int, right: int) -> tuple[int, int]:
    """Quotient towards zero, and the rest with the sign of ``left``."""
    whole, rest = divmod(abs(left), abs(right))
    return (whole if (left < 0) == (right < 0) else -whole), (-rest if left < 0 else rest)


def _same(left: object, right: object, *names: str) -> str:
    mine = name_of(left)
    if mine != name_of(right) or mine not in names:
        raise Fault(NO_OVERLOAD)
    return mine


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, Timestamp | Duration) and isinstance(right, Timestamp | Duration):
        if isinstance(left, Timestamp) and isinstance(right, Timestamp):
            raise Fault(NO_OVERLOAD)
        kind = Timestamp if isinstance(left, Timestamp) or isinstance(right, Timestamp) else Duration
        return kind(left.nanos + right.nanos)
    if _same(left, right, *_NUMERIC, "string", "bytes", "list") in ("int", "uint"):
        return _integer(int(left) + int(right), type(left))
    return left + right


def _subtract(left: Any, right: Any) -> Any:
    if isinstance(right, Duration) and isinstance(left, Timestamp | Duration):
        return type(left)(left.nanos - right.nanos)
    if isinstance(left, Timestamp) and isinstance(right, Timestamp):
        return Duration(left.nanos - right.nanos)
    if _same(left, right, *_NUMERIC) == "double":
        return left - right
    return _integer(int(left) - int(right), type(left))


def _multiply(left: Any, right: Any) -> Any:
    if _same(left, right, *_NUMERIC) == "double":
        return left * right
    return _integer(int(left) * int(right), type(left))


def _divide(left: Any, right: Any) -> Any:
    if _same(left, right, *_NUMERIC) == "double":
        if right == 0:
            return (
                math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
            )
        return left / right
    if right == 0:
        raise Fault("division by zero")
    return _integer(_truncated(left, right)[0], type(left))


def _rest(left: Any, right: Any) -> Any:
    _same(left, right, "int", "uint")
    if right == 0:
        raise Fault("modulus by zero")
    return _integer(_truncated(left, right)[1], type(left))


def negate(value: Any) -> Any:
    """``-value``."""
    if isinstance(value, float):
        return -value
    if isinstance(value, Duration):
        return Duration(-value.nanos)
    if name_of(value) != "int":
        raise Fault(NO_OVERLOAD)
    return _integer(-value, int)


def find(container: Any, key: Any, default: object = None) -> tuple[bool, Any]:
    """Whether a map has a key or a list an index, and what is there. Raises Fault for what is neither."""
    if isinstance(container, dict):
        if isinstance(container, Domains):
            return True, container.get(key, {})
        if isinstance(key, bool) or not isinstance(key, str | int | float):
            return False, None
        return key in container, container.get(key)
    if isinstance(container, list):
        if isinstance(key, bool) or not isinstance(key, int | float) or key != int(key):
            raise Fault(f"unsupported index type '{name_of(key)}' in list")
        return 0 <= key < len(container), container[int(key)] if 0 <= key < len(container) else None
    return False, None


def contains(item: Any, container: Any) -> bool:
    """``item in container``."""
    if isinstance(container, list):
        return any(equal(item, element) for element in container)
    if isinstance(container, dict):
        return not isinstance(item, bool) and isinstance(item, str | int | float) and item in container
    raise Fault(NO_OVERLOAD)


def size_of(value: Any) -> int:
    """How large a value counts when it is charged for: characters, elements, or 1."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    return 1


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": _ordering(operator.lt),
    "_<=_": _ordering(operator.le),
    "_>_": _ordering(operator.gt),
    "_>=_": _ordering(operator.ge),
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _rest,
    "@in": contains,
}
"""Operators of two values, both of which are always worked out."""
