"""Whole numbers as Go's strconv reads them; Python's int() takes other scripts' digits, spaces and underscores, too.

Upstream: ParseInt in strconv/atoi.go of Go.
"""

from __future__ import annotations

_MAX_INT64 = 2**63 - 1


def int64(text: str) -> int | None:
    """strconv.ParseInt(text, 10, 64); None for what is no such number, however long it is."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdigit():
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > len(str(_MAX_INT64)):
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -_MAX_INT64 - 1 <= number <= _MAX_INT64 else None
