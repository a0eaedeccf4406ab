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
    Table,
    Verdict,
    inline_gaps,
    put_verdict_first,
)
from kwhatif.render.escape import clean, in_json, in_markup, in_yaml, is_command
from kwhatif.results.base import Result


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
    import yaml

    try:
        return _dump_with(value, getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    except UnicodeEncodeError:
        # A path with bytes that are no text, which the faster one cannot write.
        return _dump_with(value, yaml.SafeDumper)


def _dump_with(value: Any, dumper: type[Any]) -> str:
    import yaml

    class Dumper(dumper):  # type: ignore[misc]
        """Texts with a CI command go into double quotes, in which every character can be escaped."""

        def represent_text(self, text: str) -> Any:
            return self.represent_scalar("tag:yaml.org,2002:str", text, style='"' if is_command(text) else None)

    Dumper.add_representer(str, Dumper.represent_text)
    return in_yaml(str(yaml.dump(value, Dumper=Dumper, sort_keys=False, default_flow_style=False, width=2**30)))


_SPECIAL = re.compile(r"([\\`*_\[\]|~#!$])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# What the places where Markdown is read turn into links by themselves, so that people are called (@name) and issues
# are mentioned (#1, GH-1): no escape keeps them from that, but a space without width between does.
_LINKS = re.compile(r"@|#|:(?=//)|www(?=\.)|\bGH(?=-\d)|:(?=(?:(?![a-z_+])[\w+-])*+[a-z_+][\w+-]*+:)", re.IGNORECASE)
_APART = "&#8203;"


def escape_markdown(text: str) -> str:
    """Text that Markdown shows literally, on one line, without links and mentions."""
    return _LINKS.sub(rf"\g<0>{_APART}", _SPECIAL.sub(r"\\\1", clean(text).translate(_ENTITIES)))


def code(text: str) -> str:
    """A name in code, where nothing in it means anything; one that code cannot hold in a table, as escaped text."""
    shown = clean(text)
    plain = shown.strip() and not set(shown) & set("`|\\<") and not is_command(shown)
    return f"`{shown}`" if plain else escape_markdown(shown)


def markdown_of(blocks: Iterable[Block]) -> str:
    """The report as GitHub-flavoured Markdown, ending in a newline."""
    return in_markup("\n\n".join(map(_render_block, put_verdict_first(inline_gaps(blocks))))) + "\n"


def _render_block(block: Block) -> str:
    match block:
        case Verdict(text):
            return escape_markdown(text)
        case Heading(text=text):
            return f"### {escape_markdown(text)}"
        case Facts(pairs):
            return "\n".join(f"- **{label}:** {escape_markdown(value)}" for label, value in pairs)
        case Lines(texts, listed):
            if listed:
                return "\n".join(f"- {escape_markdown(text.strip())}" for text in texts)
            return "  \n".join(map(escape_markdown, texts))
        case Commands(texts):
            return "\n".join(f"- {code(text)}" for text in texts)
        case Table(headers, rows, names_from, more=more):
            capitals = len(headers) if names_from is None else names_from
            heads = [head if place >= capitals else head[:1].upper() + head[1:] for place, head in enumerate(headers)]
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
