"""Escaping of names for terminals and for logs of CI pipelines, since any user may have chosen them.

CI runners read commands in logs: GitHub ``::error::`` at the beginning of a line and ``##[error]`` anywhere, Azure
``##vso[task.setvariable]``, TeamCity ``##teamcity[buildProblem]``. Each format can spell a character so that readers of
the format see the same, and the runner sees no command.
"""

from __future__ import annotations

import json
import re
import unicodedata

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


def in_answer_of_others(text: str) -> str:
    """A text of many lines that somebody else wrote, in whatever format; what is JSON stays JSON.

    Lines, tabs and spaces of any width stay.
    """
    is_json = _is_json(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n" if is_json else "\\r").split("\n")
    shown = "\n".join(_NOT_SHOWN.sub(_spell_in_json if is_json else _spell, line) for line in lines)
    return in_json(shown) if is_json else in_text(shown)


def _is_json(text: str) -> bool:
    """Whether a text is one document of JSON, or what looks like one is only text: then it may be spelt otherwise."""
    try:
        return text.lstrip().startswith(("{", "[")) and json.loads(text, parse_int=str) is not None
    except (ValueError, RecursionError):
        return False


_NOT_SHOWN = re.compile(r"[^\S\t ]|[^\s\x20-\x7e]")


def _spell(match: re.Match[str]) -> str:
    char = match[0]
    shown = char.isprintable() or unicodedata.category(char) == "Zs"
    return char if shown else char.encode("unicode_escape").decode("ascii")


def _spell_in_json(match: re.Match[str]) -> str:
    return match[0] if _spell(match) == match[0] else json.dumps(match[0])[1:-1]


def _without_commands(report: str, colon: str, number_sign: str) -> str:
    if "::" not in report and "##" not in report:
        # As nearly always; in an answer of 20 MB the search by patterns takes a second.
        return report
    return _COMMAND.sub(lambda match: number_sign if match[0] == "#" else f"{match[1]}{colon}", report)
