"""``-h``: a command's own options and the most used of those that it shares, on one screen; ``--help`` has all."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

MOST_LINES = 40
MOST_USED = (
    *("snapshot", "live", "namespace", "edits", "add_nodes", "remove_node", "policy", "kubernetes_version"),
    *("output", "report"),
)
"""Parameters that most questions are asked with, in the order of the whole help."""

_INDENT = 2
_GAP = 2
_WIDEST = 30
"""What is said of an option begins no further to the right, and on the line of its name in any case."""


def short_help(command: Any, ctx: Any, sections: list[tuple[str, list[tuple[str, str]]]]) -> str:
    """The text, no more than MOST_LINES long. ``sections`` are those of the whole help: title -> names and texts."""
    width = ctx.make_formatter().width
    records = {param.name: param.get_help_record(ctx) for param in command.params}
    used = [record for name in MOST_USED if (record := records.get(name))]
    begins = {title: rows for title, rows in sections if title in ("Arguments", "Options")}
    own = [row for row in begins.get("Options", ()) if row not in used]
    usage = " ".join(command.collect_usage_pieces(ctx))
    purpose = wrap(_first_sentence(command.help or ""), width - _INDENT)
    head = [f"Usage: {ctx.command_path} {usage}", "", *(" " * _INDENT + line for line in purpose), ""]
    total = sum(len(rows) for title, rows in sections if title != "Arguments")
    for wrapped in ((True, True), (True, False), (False, False)):
        arguments = _write("Arguments", list(begins.get("Arguments", ())), width, wrapped=True)
        often = _write("Most used", used, width, wrapped=wrapped[1])
        room = MOST_LINES - len(head) - len(arguments) - len(often) - len(("title", "", "the rest"))
        shown = own if any(wrapped) else own[: max(room, 0)]
        rest = f"{total - len(shown) - len(used)} more options and examples: {ctx.command_path} --help"
        lines = [*head, *arguments, *_write("Options", shown, width, wrapped=wrapped[0]), *often, rest]
        if len(lines) <= MOST_LINES:
            break
    return "\n".join(lines) + "\n"


def _write(title: str, rows: list[tuple[str, str]], width: int, *, wrapped: bool) -> list[str]:
    """A heading, a line for each row, or several if ``wrapped``, and an empty one; nothing of no rows."""
    if not rows:
        return []
    column = min(max(len(name) for name, _ in rows), _WIDEST)
    lines = []
    for name, text in rows:
        first = f"{' ' * _INDENT}{name:<{column}}{' ' * _GAP}"
        if wrapped and len(first) <= _INDENT + column + _GAP:
            following = " " * len(first)
            lines += wrap(first + _first_sentence(text), width, subsequent_indent=following, drop_whitespace=True)
        else:
            lines.append(shorten_line(first + _first_sentence(text), width))
    return [f"{title}:", *lines, ""]


def _first_sentence(text: str) -> str:
    first = " ".join(text.split("\n\n")[0].split()).partition("  [")[0]
    head, stop, _ = first.partition(". ")
    return f"{head}." if stop else first


def shorten_line(line: str, width: int) -> str:
    """The line, which ends with an ellipsis behind a word where it would be wider than the screen."""
    return line if len(line) <= width else f"{line[: width - 1].rpartition(' ')[0].rstrip(' ,:;')} …"
