""" "did you mean ...?" for messages about unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def suggest_spelling(word: str, known: Iterable[str]) -> str:
    """``; did you mean worker-1?`` to end a message with, or nothing."""
    by_case = {name.lower(): name for name in sorted(known)}
    alike = get_close_matches(word.lower(), list(by_case), n=1, cutoff=0.7)
    return f"; did you mean {by_case[alike[0]]}?" if alike else ""
