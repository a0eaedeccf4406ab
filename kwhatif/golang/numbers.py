"""Floats as strconv reads them (upstream: strconv/atof.go of Go), and integers as they overflow."""

from __future__ import annotations

import math
import re

_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_HEX = re.compile(r"[+-]?0[xX]_?[0-9a-fA-F_]*(\.[0-9a-fA-F_]*)?[pP][+-]?[0-9]+", re.ASCII)
_WORD = re.compile(r"[+-]?(inf|infinity)|nan", re.IGNORECASE | re.ASCII)


def parse_float(text: str) -> float | None:
    """What ParseFloat makes of a text; None where it gives an error."""
    if _WORD.fullmatch(text):
        return float(text)
    if _DECIMAL.fullmatch(text):
        number = float(text)
    elif _HEX.fullmatch(text):
        try:
            number = float.fromhex(text.replace("_", ""))
        except (ValueError, OverflowError):
            return None
    else:
        return None
    return number if math.isfinite(number) else None


def int64_of(number: float) -> int:
    """The integer that Go makes of a float on amd64: towards zero; the least one where it is out of range or none."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else -(2**63)


def wrap_int64(number: int) -> int:
    """The number with the overflow of Go's int64."""
    return (number + 2**63) % 2**64 - 2**63
