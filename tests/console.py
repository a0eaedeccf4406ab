"""The examples of a document: ``$`` commands and what they print, run as a reader would run them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

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
    pattern = ".*".join(re.escape(piece) for piece in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None
