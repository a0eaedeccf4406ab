"""Values as texts, as Go writes them.

Upstream: github.com/google/cel-go/ext/formatting.go and each type's ConvertToType.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from kwhatif.cel.faults import Fault
from kwhatif.cel.overloads import weight
from kwhatif.cel.values import Duration, Timestamp, TypeValue, name_of


def text_of(value: Any) -> str:
    """What ``string(value)`` is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Timestamp):
        whole, rest = divmod(value.nanos, 1_000_000_000)
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=whole)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"
    if isinstance(value, Duration):
        return f"{_double(value.nanos / 1_000_000_000)}s"
    if isinstance(value, TypeValue):
        return value.name
    return str(value)


def _double(value: float) -> str:
    """The shortest form that reads back as the same number (Go: %g)."""
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    text = repr(value)
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if exponent < -4 or exponent >= 21:
        mantissa, _, power = f"{value!r}".partition("e")
        if not power:
            mantissa, _, power = f"{value:e}".partition("e")
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa.removesuffix('.0')}e{int(power):+03d}"
    return format(value, "f").rstrip("0").rstrip(".") if "e" in text else text.removesuffix(".0")


PRECISION_AT_MOST = 1_000_000
"""Go formats no number with more digits."""

_CLAUSE = re.compile(r"%(?:%|(?:\.([0-9]+))?([a-zA-Z])|)")


def formatted(text: str, args: list[Any]) -> str:
    """``text.format(args)``. Raises Fault."""
    left = iter(range(len(args)))

    def one(clause: re.Match[str]) -> str:
        if clause[0] == "%%":
            return "%"
        if not clause[2]:
            raise Fault("could not parse formatting clause: unexpected end of string")
        place = next(left, None)
        if place is None:
            raise Fault(f"index {len(args)} out of range")
        return _clause(clause[2], clause[1], args[place])

    return _CLAUSE.sub(one, text)


def room_to_format(text: str, args: list[Any]) -> int:
    """How long ``formatted`` may become."""
    digits = [int(clause[1]) for clause in _CLAUSE.finditer(text) if clause[1] and len(clause[1]) <= 7]
    return weight(text, args) + sum(count for count in digits if count <= PRECISION_AT_MOST)


def _clause(verb: str, precision: str | None, value: Any) -> str:
    if precision and (len(precision) > 7 or int(precision) > PRECISION_AT_MOST):
        raise Fault(f"precision {precision[:20]} is out of range")
    digits, kind = int(precision) if precision else 6, name_of(value)
    whole = kind in ("int", "uint")
    match verb:
        case "s":
            return _plain(value)
        case "d" | "e" | "f" if kind == "double" and not math.isfinite(value):
            return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
        case "d" if whole:
            return str(int(value))
        case "f" if kind in ("int", "uint", "double"):
            return format(float(value), f".{digits}f")
        case "e" if kind in ("int", "uint", "double"):
            return format(float(value), f".{digits}e")
        case "b" if whole or kind == "bool":
            return format(int(value), "b")
        case "o" if whole:
            return format(int(value), "o")
        case "x" | "X":
            if whole:
                return format(int(value), verb)
            if kind in ("string", "bytes"):
                found: str = (value.encode() if kind == "string" else value).hex()
                return found.upper() if verb == "X" else found
        case "d" | "f" | "e" | "b" | "o":
            pass
        case _:
            raise Fault(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')
    raise Fault(f"error during formatting: no formatting function for %{verb} of type {kind}")


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_plain(key)}: {_plain(value[key])}' for key in sorted(value, key=_plain))}}}"
    if value is None:
        return "null"
    return value.decode(errors="replace") if isinstance(value, bytes) else text_of(value)


_QUOTED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def quoted(text: str) -> str:
    """``strings.quote(text)``."""
    body = "".join(_QUOTED.get(letter, "\\" + letter if letter in '"\\' else letter) for letter in text)
    return f'"{body}"'
