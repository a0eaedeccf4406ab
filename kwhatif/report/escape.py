"""Names come from files that anybody may have written: what is not printable is shown, not sent to the terminal."""

from __future__ import annotations


def clean(text: str) -> str:
    """The text on one line, with control, invisible and reordering characters as ``\\n``, ``\\x1b``, ``\\u202e``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
