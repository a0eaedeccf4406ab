"""What an unquoted YAML word means to kubectl: a string, a number, a truth value or nothing.

kubectl reads YAML 1.1 with go-yaml's habits and passes it on as JSON: ``on`` and ``y`` are true, ``0o17`` and
``017`` are 15, ``1_000`` is a number, while dates and ``12:30`` stay strings.
Upstream: sigs.k8s.io/yaml (goyaml.v2/resolve.go, yaml.go).
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

Scalar = str | int | float | bool | None

_WORDS: dict[str, bool | float | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_INTEGER = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|0([0-7]+)|(0|[1-9][0-9]*))", re.ASCII)
_BASES = (16, 2, 8, 8)
_FRACTION = re.compile(r"[+-]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_INT64_DIGITS = 20


def plain(text: str) -> Scalar:
    """The value of an unquoted word, as it arrives in JSON. Infinities and NaN are left to the caller."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    digits = text if text[0] == "." else text.replace("_", "")
    match = _INTEGER.fullmatch(digits)
    if match:
        sign, *prefixed, decimal = match.groups()
        for base, found in zip(_BASES, prefixed, strict=True):
            if found:
                return -int(found, base) if sign == "-" else int(found, base)
        if len(decimal) < _INT64_DIGITS or (len(decimal) == _INT64_DIGITS and int(decimal) < 2**64):
            return int(sign + decimal)
    if not _FRACTION.fullmatch(digits):
        return None
    number = float(digits)
    if math.isinf(number):
        return None
    # JSON has one kind of number: 1.0 and 1e3 arrive as 1 and 1000, written with the shortest digits.
    return int(Decimal(repr(number))) if number.is_integer() and abs(number) < 1e21 else number
