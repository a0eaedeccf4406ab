"""Reference pages made from the code: commands with their options, plugins, documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import typer
from repository import ROOT

MADE = "*Made from the code.*"


def pages() -> dict[str, str]:
    """Path on the site -> Markdown."""
    made: dict[str, Callable[[], Iterator[str]]] = {
        "commands": _commands,
        "plugins": _plugins,
        "documents": _documents,
        "fields": _fields,
    }
    return {f"reference/{name}.md": "\n".join(lines()) + "\n" for name, lines in made.items()}


def _commands() -> Iterator[str]:
    from kwhatif.cli.main import app

    yield from ("# Commands", "", MADE, "")
    yield from _command(typer.main.get_command(app), "kwhatif", None)


def _command(command: Any, path: str, above: Any) -> Iterator[str]:
    from kwhatif.cli.common import sections
    from kwhatif.commands.registry import all_commands

    name = path.removeprefix("kwhatif").strip()
    spec = all_commands().get(name)
    context = command.make_context(path.split()[-1], [], parent=above, resilient_parsing=True)
    yield from (f"## {path}", "", command.help or "", "")
    for title, rows in sections(command, context):
        yield from ("", f"| {title} | |", "| --- | --- |")
        yield from (f"| `{_code(written)}` | {_cell(said)} |" for written, said in rows)
    if spec and spec.examples:
        yield from ("", "```sh", *(f"kwhatif {name} {words}" for words in spec.examples), "```")
    yield ""
    for each in getattr(command, "list_commands", lambda _: [])(context):
        yield from _command(command.get_command(context, each), f"{path} {each}", context)


def _code(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _cell(text: str) -> str:
    return _code(text).replace("<", "&lt;")


def _plugins() -> Iterator[str]:
    from kwhatif.framework.interface import Plugin
    from kwhatif.plugins import in_tree_plugins
    from kwhatif.versions import SUPPORTED_MINORS, features_of

    newest = features_of(SUPPORTED_MINORS[-1])
    yield from ("# Scheduler plugins", "", f"{MADE} Points and defaults are those of {SUPPORTED_MINORS[-1]}.", "")
    yield from ("| plugin | extension points | on by default | modelled |", "| --- | --- | --- | --- |")
    for name, plugin in sorted(in_tree_plugins().items()):
        modelled = "yes" if issubclass(plugin, Plugin) else "no"
        default = "yes" if plugin.default is not None else ""
        yield f"| {name} | {', '.join(plugin.points(newest))} | {default} | {modelled} |"


def _documents() -> Iterator[str]:
    yield from (
        "# Documents",
        "",
        f"{MADE} Formats of our own, each with its JSON Schema.",
        "",
        "| schema | |",
        "| --- | --- |",
    )
    for path in sorted((ROOT / "schemas").glob("*.json")):
        said = json.loads(path.read_text("utf-8"))
        yield f"| [{path.name}](../schemas/{path.name}) | {_cell(said.get('description', ''))} |"


def _fields() -> Iterator[str]:
    yield from (
        "# Fields of documents",
        "",
        f"{MADE} What each field holds; the [schemas](documents.md) have it all.",
        "",
    )
    for path in sorted((ROOT / "schemas").glob("*.json")):
        schema = json.loads(path.read_text("utf-8"))
        parts = {schema.get("title", path.stem): schema, **schema.get("$defs", {})}
        yield from (f"## {path.name}", "")
        for name, part in parts.items():
            if not part.get("properties"):
                continue
            yield from (
                f"**{name}**: {_code(part.get('description', ''))}",
                "",
                "| field | type | |",
                "| --- | --- | --- |",
            )
            for field, said in part["properties"].items():
                needed = "" if field in part.get("required", ()) else "optional. "
                yield f"| `{field}` | {_type(said)} | {needed}{_cell(said.get('description', ''))} |"
            yield ""


def _type(said: dict[str, Any]) -> str:
    """``string``, ``Placement[]``, ``"a" or "b"``."""
    if "$ref" in said:
        return str(said["$ref"].rpartition("/")[2])
    if "anyOf" in said:
        return " or ".join(dict.fromkeys(map(_type, said["anyOf"])))
    if "enum" in said or "const" in said:
        return " or ".join(f"`{json.dumps(value)}`" for value in said.get("enum", [said.get("const")]))
    if said.get("type") == "array":
        return f"{_type(said.get('items', {}))}[]" if isinstance(said.get("items", {}), dict) else "array"
    kinds = said.get("type", "any")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
