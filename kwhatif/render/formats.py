"""Results as JSON and YAML, with the same keys in the same order; and blocks as Markdown, for a pull request or a wiki.

JSON and YAML are pure ASCII, so that everything in a name is escaped. No name can leave its cell in Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from kwhatif.render.blocks import (
    Block,
    Commands,
    Facts,
    Gaps,
    Heading,
    Lines,
    Part,
    Patch,
    Table,
    Verdict,
    inline_gaps,
    put_verdict_first,
)
from kwhatif.render.escape import clean, in_json, in_markup, in_yaml, is_command
from kwhatif.results.base import Result
from kwhatif.results.yaml_text import is_read_otherwise


def as_json(result: msgspec.Struct) -> str:
    """The result as indented JSON."""
    return plain_json(_plain(result))


def plain_json(value: Any) -> str:
    """Plain values as indented JSON."""
    try:
        # Many times faster than the encoder that indents by itself.
        text = msgspec.json.format(json.dumps(value), indent=2)
    except msgspec.DecodeError:
        # A path with bytes that are no text, of which the faster one makes nothing.
        text = json.dumps(value, indent=2)
    return in_json(text) + "\n"


def as_yaml(result: msgspec.Struct) -> str:
    """The result as one YAML document."""
    return _dump_yaml(_plain(result))


def _plain(result: msgspec.Struct) -> Any:
    return result.to_dict() if isinstance(result, Result) else msgspec.to_builtins(result)


def as_documents(objects: Iterable[dict[str, Any]]) -> str:
    """Kubernetes objects as a stream of YAML documents, for kubectl."""
    return "".join(f"---\n{_dump_yaml(obj)}" for obj in objects)


def _dump_yaml(value: Any) -> str:
    try:
        return _dump_text(value)
    except UnicodeEncodeError:
        # A path with bytes that are no text: most readers of YAML refuse an escape for them.
        return _dump_text(json.loads(_NO_CHARACTER.sub("\ufffd", json.dumps(value, ensure_ascii=False))))


_NO_CHARACTER = re.compile("[\ud800-\udfff]")


def _dump_text(value: Any) -> str:
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Texts with a CI command go into double quotes, in which every character can be escaped, and those into single
        ones that readers other than PyYAML take for a number or a boolean.
        """

        def represent_text(self, text: str) -> Any:
            style = '"' if is_command(text) else "'" if is_read_otherwise(text) else None
            return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, Dumper.represent_text)
    return in_yaml(str(yaml.dump(value, Dumper=Dumper, sort_keys=False, default_flow_style=False, width=2**30)))


_SPECIAL = re.compile(r"([\\`*_\[\]|~#!$])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# What the places where Markdown is read turn into links by themselves: addresses and names of hosts, people that are
# called (@name), issues, commits and advisories (#1, GH-1, 7 to 40 digits, GHSA-...), pictures (:tada:).
_ACTIVE = re.compile(
    r"@|#|:(?=//)|www(?=\.)|\b(?:GH|CVE)(?=-\d)|\bGHSA(?=-)|:(?=(?:(?![a-z_+])[\w+-])*+[a-z_+][\w+-]*+:)"
    r"|(?<=[\w)\]])\.(?=[^\W\d_])|(?<![\w-])(?=[a-f]*+[0-9])(?=[0-9]*+[a-f])[0-9a-f](?=[0-9a-f]{6,39}(?![\w-]))",
    re.IGNORECASE,
)
_DIGITS = re.compile("[0-9a-f]{6}(?=[0-9a-f])", re.IGNORECASE)


def escape_markdown(text: str) -> str:
    """Text that Markdown shows literally, on one line, without links and mentions.

    Words that Markdown's readers would turn into one are code; what code cannot hold is taken apart by a space without
    width, since no escape keeps them from that.
    """
    return "".join(map(_escape_word, _SPACES.split(clean(text))))


_SPACES = re.compile(r"(\s+)")
_EDGES = re.compile(r"([(\"']*)(.*?)([.,;:!?)\"']*)", re.DOTALL)


_BLOCK = re.compile(r"(\d{1,9})(?=[.)](?:\s|\Z))|(?=[-+=])")


def escape_line(text: str) -> str:
    """As ``escape_markdown``, where a line begins: no list, no rule, no heading begins with it."""
    shown = escape_markdown(text.strip())
    return _BLOCK.sub(r"\1\\", shown, count=1) if _BLOCK.match(shown) else shown


def _escape_word(word: str) -> str:
    if not _ACTIVE.search(word):
        return _escape(word)
    before, name, after = match.groups() if (match := _EDGES.fullmatch(word)) else ("", word, "")
    if _is_plain(name):
        return f"{_escape(before)}`{name}`{_escape(after)}"
    apart = _DIGITS.sub("\\g<0>\u200b", _ACTIVE.sub("\\g<0>\u200b", word))
    return _escape(apart).replace("\u200b", "&#8203;")


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text.translate(_ENTITIES))


def _is_plain(text: str) -> bool:
    """Whether code can hold a text, in a table as well, and is no command of a pipeline."""
    return bool(text.strip()) and not set(text) & set("`|\\<") and not is_command(text)


def code(text: str) -> str:
    """A name in code, where nothing in it means anything; one that code cannot hold in a table, as escaped text."""
    shown = clean(text)
    return f"`{shown}`" if _is_plain(shown) else escape_markdown(shown)


def markdown_of(blocks: Iterable[Block]) -> str:
    """The report as GitHub-flavoured Markdown, ending in a newline."""
    return in_markup("\n\n".join(map(_render_block, put_verdict_first(inline_gaps(blocks))))) + "\n"


def _render_block(block: Block) -> str:
    match block:
        case Verdict(text):
            return escape_line(text)
        case Heading(text=text):
            return f"### {escape_markdown(text)}"
        case Facts(pairs):
            return "\n".join(f"- **{escape_markdown(label)}:** {escape_markdown(value)}" for label, value in pairs)
        case Lines(texts, listed):
            if listed:
                return "\n".join(f"- {escape_line(text)}" for text in texts)
            return "  \n".join(map(escape_line, texts))
        case Commands(texts):
            return "\n".join(f"- {code(text)}" for text in texts)
        case Patch(texts):
            longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            return "\n".join([f"{fence}diff", *(text.replace("\n", " ") for text in map(clean, texts)), fence])
        case Table(columns, rows, more=more):
            heads = [
                column.header if column.name else column.header[:1].upper() + column.header[1:] for column in columns
            ]
            drawn = render_table([*map(escape_markdown, heads)], [[*map(escape_markdown, row)] for row in rows])
            return f"{drawn}\n\n{escape_markdown(more)}" if more else drawn
        case Part(blocks) | Gaps(blocks):
            return "\n\n".join(map(_render_block, blocks))


def render_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are Markdown, without blanks to line them up: some hold whole sentences."""
    from tabulate import DataRow, TableFormat, tabulate

    row = DataRow("| ", " | ", " |")
    tight = TableFormat(None, lambda widths, _: f"|{' --- |' * len(widths)}", None, None, row, row, 0, None)
    return tabulate(rows, headers, tablefmt=tight, disable_numparse=True, stralign=None)
