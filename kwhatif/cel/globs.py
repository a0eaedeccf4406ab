"""Patterns of names and paths in which ``*`` stands for anything, in linear time: the one matcher for all of them.

Patterns come from rules and manifests of others; those of Python's ``re`` and ``fnmatch`` may be tried for hours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from kwhatif.cel.patterns import compile_pattern
from kwhatif.cel.values import Fault
from kwhatif.errors import InputError

_NOTHING, _ANYTHING = r"[^\x00-\x{10FFFF}]", r"[\x00-\x{10FFFF}]"
_OF_PATHS = re.compile(r"(\*\*/?|\*|\?)")
_LONGEST = 10_000
_SHOWN = 60


def matches_glob(text: str, pattern: str) -> bool:
    """Whether a whole name is of a pattern with ``*``, ``?``, ``[a-z]`` and ``[!a]``. InputError: a huge one."""
    return _matches(_expression_of_name(pattern), text)


def matches_any(text: str, patterns: Iterable[str]) -> bool:
    """Whether a whole name is of one of some patterns."""
    return any(matches_glob(text, pattern) for pattern in patterns)


def matches_path(path: str, pattern: str) -> bool:
    """Whether a pattern is of a path, or of a directory that it is in.

    A pattern without a slash means any file or directory of that name, one with a slash the end of a path; ``*`` is
    anything but a slash, ``**`` that as well. Raises InputError for a huge pattern.
    """
    return _matches(_expression_of_path(pattern), path)


def _matches(expression: Any, text: str) -> bool:
    return expression.fullmatch(_clean(text)) is not None


def _clean(text: str) -> str:
    """A name of a file may have bytes that are no text."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _quote(text: str) -> str:
    return "".join(char if char.isalnum() and char.isascii() else rf"\x{{{ord(char):X}}}" for char in _clean(text))


@lru_cache(maxsize=1024)
def _expression_of_name(pattern: str) -> Any:
    return _compile("".join(_tokens_of(pattern)), pattern)


@lru_cache(maxsize=1024)
def _expression_of_path(pattern: str) -> Any:
    text = ""
    for part in _OF_PATHS.split(pattern.strip("/")):
        match part:
            case "**/":
                text += "(?:.*/)?"
            case "**":
                text += ".*"
            case "*":
                text += "[^/]*"
            case "?":
                text += "[^/]"
            case _:
                text += _quote(part)
    return _compile(f"(?:.*/)?{text}(?:/.*)?", pattern)


def _compile(expression: str, pattern: str) -> Any:
    shown = ascii(pattern if len(pattern) <= _SHOWN else f"{pattern[:_SHOWN]}...")
    if len(pattern) > _LONGEST:
        raise InputError(f"the pattern {shown} has more than {_LONGEST:,} characters")
    try:
        return compile_pattern(f"(?s){expression}")
    except Fault:
        raise InputError(f"the pattern {shown} is too large") from None


def _tokens_of(pattern: str) -> Iterator[str]:
    position = 0
    while position < len(pattern):
        char = pattern[position]
        # A bracket that stands first in a set does not end it.
        end = pattern.find("]", position + 2 + pattern.startswith("!", position + 1)) if char == "[" else -1
        position += 1
        if char == "*":
            yield ".*"
        elif char == "?":
            yield "."
        elif end > 0:
            yield _set_of(pattern[position:end])
            position = end + 1
        else:
            yield _quote(char)


def _set_of(text: str) -> str:
    """The characters of a set, in which ``a-c`` is a range and a range that runs backwards has none."""
    is_other, text = text.startswith("!"), text.removeprefix("!")
    ranges = []
    while text:
        first, last = (text[0], text[2]) if len(text) > 2 and text[1] == "-" else (text[0], text[0])
        text = text[3 if len(text) > 2 and text[1] == "-" else 1 :]
        if first <= last:
            ranges.append(rf"\x{{{ord(first):X}}}-\x{{{ord(last):X}}}")
    if not ranges:
        return _ANYTHING if is_other else _NOTHING
    return f"[{'^' if is_other else ''}{''.join(ranges)}]"
