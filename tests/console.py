"""The examples of a document: ``$`` commands and what they print, run as a reader would run them."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A command line and the output below it; ``...`` on a line of its own stands for anything."""

    arguments: tuple[str, ...]
    output: str

    def __str__(self) -> str:
        return " ".join(self.arguments)


def blocks(text: str, kind: str) -> list[str]:
    """The fenced blocks of one kind."""
    return [body for found, body in BLOCK.findall(text) if found == kind]


def examples(text: str) -> list[Example]:
    """All ``$ kwhatif ...`` commands of the console blocks; any other command is an error.

    A command may go on after a backslash.
    """
    found = []
    for body in blocks(text, "console"):
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            line, _, output = part.replace("\\\n", " ").partition("\n")
            program, *arguments = shlex.split(line)
            assert program == "kwhatif", line
            found.append(Example(tuple(arguments), output))
    return found


def prints(printed: str, shown: str) -> bool:
    """Whether the output is the one shown, anything where that has ``...``."""
    pattern = ".*".join(map(re.escape, _split_at_dots(shown)))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def rewrite(printed: str, shown: str, pages: Iterable[Path]) -> None:
    """Show in pages what is printed now. Of an output with ``...`` there are as many lines as there were: the first,
    the last, and between them those that are most alike.
    """
    pieces, lines, rest = _split_at_dots(shown), printed.splitlines(keepends=True), 0
    told = []
    for number, piece in enumerate(pieces):
        size = len(piece.splitlines())
        last = len(lines) - size
        starts = [0] if number == 0 else [last] if number == len(pieces) - 1 else range(rest, last + 1)
        alike = {start: difflib.SequenceMatcher(None, piece, "".join(lines[start : start + size])) for start in starts}
        start = max(alike, key=lambda start: alike[start].ratio())
        rest = start + size
        told.append("".join(lines[start:rest]))
    output = printed if len(pieces) == 1 else "...\n".join(told)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if shown in text:
            page.write_text(text.replace(shown, output), encoding="utf-8")


def _split_at_dots(shown: str) -> list[str]:
    return re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
