"""Equality, order and arithmetic of values; a failure is a Fault with cel-go's message.

Upstream: github.com/google/cel-go/common/types.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from itertools import permutations
from math import ceil
from typing import Any

from kwhatif.cel.declarations import Overload, define, size_of, weight
from kwhatif.cel.values import Domains, Duration, Fault, Semver, Timestamp, UInt, name_of

NO_OVERLOAD = "no such overload"
COMPARABLE = "int uint double bool string bytes Timestamp Duration"
_NUMERIC = ("int", "uint", "double")


def _promote_numbers(left: Any, right: Any) -> tuple[Any, Any]:
    """Numbers, as they are compared: an integer becomes a double beside one, as in Go."""
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    return left, right


def equal(left: Any, right: Any) -> bool:
    """Values of different types are different, but numbers are compared as numbers."""
    if type(left) is type(right) is str:
        return bool(left == right)
    mine, theirs = name_of(left), name_of(right)
    if mine in _NUMERIC and theirs in _NUMERIC:
        return bool(operator.eq(*_promote_numbers(left, right)))
    if mine != theirs:
        return False
    if mine == "list":
        return len(left) == len(right) and all(map(equal, left, right))
    if mine == "map":
        if len(left) != len(right):
            return False
        pairs = ((value, *find(right, key)) for key, value in left.items())
        return all(there and equal(value, other) for value, there, other in pairs)
    if isinstance(left, Semver):
        return bool(left.rank == right.rank)
    return bool(left == right)


def _make_comparison(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        if any(isinstance(side, float) and math.isnan(side) for side in (left, right)):
            raise Fault("NaN values cannot be ordered")
        return test(*_promote_numbers(left, right))

    return compare


_LESS = _make_comparison(operator.lt)


def is_less(left: Any, right: Any) -> bool:
    """``left < right`` of values whose types show only now. Raises Fault."""
    mine, theirs = name_of(left), name_of(right)
    numbers = mine in _NUMERIC and theirs in _NUMERIC
    if not numbers and (mine != theirs or mine.rpartition(".")[2] not in COMPARABLE.split()):
        raise Fault(NO_OVERLOAD)
    return _LESS(left, right)


def _int(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise Fault("integer overflow")
    return value


def _uint(value: int) -> UInt:
    if not 0 <= value < 2**64:
        raise Fault("unsigned integer overflow")
    return UInt(value)


def _quotient(left: int, right: int) -> int:
    """Towards zero."""
    if right == 0:
        raise Fault("division by zero")
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _rest(left: int, right: int) -> int:
    """With the sign of ``left``."""
    if right == 0:
        raise Fault("modulus by zero")
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


def _ratio(left: float, right: float) -> float:
    if right != 0:
        return left / right
    return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)


def plus(left: Any, right: Any) -> Any:
    """``left + right`` of numbers or durations of one type. Raises Fault."""
    if name_of(left) != name_of(right):
        raise Fault(NO_OVERLOAD)
    match left:
        case Duration():
            return Duration(_int(left.nanos + right.nanos))
        case UInt():
            return _uint(int(left) + int(right))
        case int():
            return _int(left + right)
    return left + right


def find(container: Any, key: Any) -> tuple[bool, Any]:
    """Whether a map has a key or a list an index, and what is there. Raises Fault for an index that is none."""
    if isinstance(container, dict):
        if isinstance(container, Domains):
            return True, container.get(key, {})
        if not isinstance(key, str | int | float) or key not in container:
            return False, None
        # To Python, true and 1 are one key; here a map has keys of one type.
        if isinstance(key, bool) != isinstance(next(iter(container)), bool):
            return False, None
        return True, container[key]
    if isinstance(container, list):
        if isinstance(key, bool) or not isinstance(key, int | float) or key != int(key):
            raise Fault(f"unsupported index type '{name_of(key)}' in list")
        return 0 <= key < len(container), container[int(key)] if 0 <= key < len(container) else None
    return False, None


def contains(item: Any, container: Any) -> bool:
    """``item in container``."""
    if isinstance(container, Domains):
        return item in container
    if isinstance(container, dict):
        return find(container, item)[0]
    return any(equal(item, element) for element in container)


# --- costs


def _equality_cost(left: object, right: object) -> int:
    return ceil(min(size_of(left), size_of(right)) / 10)


def _comparison_size(left: object, right: object) -> int:
    """What there is to walk through where lists and maps are compared."""
    return weight(left, right) if isinstance(right, list | dict) else 0


def _both(left: Any, right: Any) -> int:
    return ceil((len(left) + len(right)) / 10)


def definitions() -> Iterator[tuple[str, Overload]]:
    """The operators, by the names that they have in trees."""
    yield from define("_==_(A, A) -> bool", equal, _equality_cost, _comparison_size)
    yield from define(
        "_!=_(A, A) -> bool", lambda left, right: not equal(left, right), _equality_cost, _comparison_size
    )
    for sign, test in (("<", operator.lt), ("<=", operator.le), (">", operator.gt), (">=", operator.ge)):
        compare = _make_comparison(test)
        yield from define(f"_{sign}_(T, T) -> bool", compare, T="int uint double bool Timestamp Duration")
        yield from define(f"_{sign}_(T, T) -> bool", compare, _equality_cost, T="string bytes")
        for left, right in permutations(_NUMERIC, 2):
            yield from define(f"_{sign}_({left}, {right}) -> bool", compare)
    yield from define("@in(A, list(A)) -> bool", contains, lambda item, items: len(items), _comparison_size)
    yield from define("@in(A, map(A, B)) -> bool", contains)
    yield from define("_+_(T, T) -> T", plus, T="int uint double Duration")
    yield from define("_+_(T, T) -> T", operator.add, _both, T="string bytes")
    # Upstream does not copy lists to join them, and charges 1.
    joined: Callable[..., int] = lambda left, right: len(left) + len(right)  # noqa: E731
    yield from define("_+_(list(A), list(A)) -> list(A)", operator.add, room=joined)
    yield from define(
        "_+_(Timestamp, Duration) -> Timestamp", lambda at, span: Timestamp.from_nanos(at.nanos + span.nanos)
    )
    yield from define(
        "_+_(Duration, Timestamp) -> Timestamp", lambda span, at: Timestamp.from_nanos(at.nanos + span.nanos)
    )
    yield from define(
        "_-_(Timestamp, Duration) -> Timestamp", lambda at, span: Timestamp.from_nanos(at.nanos - span.nanos)
    )
    yield from define("_-_(T, T) -> Duration", lambda a, b: Duration(_int(a.nanos - b.nanos)), T="Timestamp Duration")
    for name, checked in (("int", _int), ("uint", _uint)):
        yield from define(f"_-_({name}, {name}) -> {name}", lambda a, b, c=checked: c(int(a) - int(b)))
        yield from define(f"_*_({name}, {name}) -> {name}", lambda a, b, c=checked: c(int(a) * int(b)))
        yield from define(f"_/_({name}, {name}) -> {name}", lambda a, b, c=checked: c(_quotient(a, b)))
        yield from define(f"_%_({name}, {name}) -> {name}", lambda a, b, c=checked: c(_rest(a, b)))
    yield from define("_-_(double, double) -> double", operator.sub)
    yield from define("_*_(double, double) -> double", operator.mul)
    yield from define("_/_(double, double) -> double", _ratio)
    yield from define("-_(int) -> int", lambda value: _int(-value))
    yield from define("-_(double) -> double", operator.neg)
    yield from define("-_(Duration) -> Duration", lambda span: Duration(_int(-span.nanos)))
    yield from define("!_(bool) -> bool", operator.not_)
