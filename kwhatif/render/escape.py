"""Escaping of names for terminals and for logs of CI pipelines, since any user may have chosen them.

CI runners read commands in logs: GitHub ``::error::`` at the beginning of a line and ``##[error]`` anywhere, Azure
``##vso[task.setvariable]``, TeamCity ``##teamcity[buildProblem]``. Each format can spell a character so that readers of
the format see the same, and the runner sees no command.
"""

from __future__ import annotations

import re

_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\w*\[)", re.MULTILINE)


def clean(text: str) -> str:
    """The text on one line, with control, invisible and reordering characters as ``\\n``, ``\\x1b``, ``\\u202e``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def is_command(text: str) -> bool:
    """Whether somewhere in a text stands what a log may take for a command."""
    return bool(_COMMAND.search(text))


def in_text(report: str) -> str:
    """A report of several lines, each of which is clean."""
    return _without_commands(report, "\\:", "#\\")


def in_markup(report: str) -> str:
    """A report in Markdown or XML."""
    return _without_commands(report, "&#58;", "&#35;")


def in_json(report: str) -> str:
    """A report in JSON, where only strings hold what others wrote."""
    return _without_commands(report, ":", "\\u0023")


def in_yaml(report: str) -> str:
    """A report in YAML, where only strings in double quotes hold what is not printable, and what is a command."""
    lines = report.split("\n")
    return "\n".join(_without_commands(clean(line), ":", "\\x23") for line in lines)


def _without_commands(report: str, colon: str, number_sign: str) -> str:
    return _COMMAND.sub(lambda found: number_sign if found[0] == "#" else f"{found[1]}{colon}", report)
