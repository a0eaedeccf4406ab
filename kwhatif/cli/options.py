"""Options that several commands share and that are no fields of a question (see ``option_groups.py``)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from kwhatif.cli.completion import complete_pod
from kwhatif.cli.option_groups import Excluding
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import parse_duration
from kwhatif.simulation.inputs import ManifestOptions


def option(*names: str, **more: Any) -> Any:
    """An option without a default, or with one that its help names."""
    return typer.Option(*names, show_default=False, **more)


def argument(**more: Any) -> Any:
    """An argument, likewise."""
    return typer.Argument(show_default=False, **more)


def seconds(text: str, option: str) -> float:
    """A length of time as Go spells it, in seconds. Raises UsageError."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


class Tables(StrEnum):
    """The formats of answers that are tables; a wide one has names of nodes in full."""

    table = "table"
    wide = "wide"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


TablesOutput = Annotated[Tables, typer.Option("-o", "--output", help="The format to print.")]
Redact = Annotated[bool, typer.Option("--redact", help="Replace all names by pseudonyms, as 'snapshot redact' does.")]
RedactedBy = Annotated[
    str | None,
    option("--translation", metavar="FILE", help="With --redact: which pseudonym stands for what. Not to be shared."),
]
SnapshotOutput = Annotated[
    str,
    option(
        "-o",
        "--output",
        metavar="FILE",
        help="Where to write: .json, .json.gz or .json.zst, by name; '-' is standard output.",
    ),
]
Namespace = Annotated[
    str, option("-n", "--namespace", metavar="NAME", help="The namespace of objects that do not name one.")
]
AnyNamespace = Annotated[
    str | None, option("-n", "--namespace", metavar="NAME", help="The namespace of objects that do not name one.")
]
"""As above, for words that may mean a pod of any namespace."""

PodWords = Annotated[
    list[str] | None,
    argument(
        metavar="POD",
        help="Manifests (files, directories, '-' for stdin), or names of pods: NAME, NAMESPACE/NAME, KIND/NAME.",
        autocompletion=complete_pod,
    ),
]
PodFiles = Annotated[
    list[str] | None,
    option(
        "-f",
        "--filename",
        metavar="FILE",
        help="Manifests to take pods from: those named, or all of them if none is (repeatable).",
    ),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Show every row. Default: tables from 20 rows on are told in groups.")
]

ManifestFlags = Annotated[ManifestOptions, Excluding("verb", "at")]
"""Of questions that send no manifests: how these are read."""
