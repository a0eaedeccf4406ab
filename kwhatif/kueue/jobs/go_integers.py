"""Integers in labels and annotations, as Go's strconv.Atoi reads and refuses them."""

from __future__ import annotations

import re

from kwhatif.golang.formatting import go_quote

_INTEGER = re.compile(r"[+-]?[0-9]+")
_LONGEST = 30


def atoi(text: str) -> int | None:
    """An int64, or None for what is none."""
    if not _INTEGER.fullmatch(text) or len(text) > _LONGEST:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def atoi_error(text: str, function: str = "Atoi") -> str:
    """Why a text is none, in Go's words."""
    why = "value out of range" if _INTEGER.fullmatch(text) else "invalid syntax"
    return f"strconv.{function}: parsing {go_quote(text)}: {why}"
