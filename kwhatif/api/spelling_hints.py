""" "did you mean ...?" for messages about unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHORT = 4


def suggest_spelling(word: str, names: Iterable[str]) -> str:
    """``; did you mean worker-1?`` to end a message with, or nothing. ``n1`` may stand for ``n1.example``."""
    typed = word.lower()
    by_case = {name.lower(): name for name in sorted(names) if name != word}
    longer = [name for name in by_case if name.startswith(f"{typed}.")]
    # Of a short word one wrong letter, or two that changed places, is a large share.
    cutoff = 0.66 if len(typed) <= _SHORT else 0.7
    alike = longer[:1] if len(longer) == 1 else get_close_matches(typed, list(by_case), n=1, cutoff=cutoff)
    return f"; did you mean {by_case[alike[0]]}?" if alike else ""
