"""``kwhatif policy``: what a scheduler configuration amounts to, and whether kube-scheduler would take it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwhatif.errors import InputError
from kwhatif.versions import DEFAULT_MINOR

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwhatif.policy import SchedulerConfiguration

__all__ = ["Output", "app", "read_policy", "show", "validate"]

app = typer.Typer(name="policy", help="Look at a KubeSchedulerConfiguration.", no_args_is_help=True)


class Output(StrEnum):
    yaml = "yaml"
    json = "json"


_Minor = Annotated[str, typer.Option("--minor", help="The Kubernetes minor whose rules apply.")]


@app.command("show")
def show(
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="The configuration; '-' reads stdin. Default: none.")
    ] = None,
    output: Annotated[Output, typer.Option("-o", "--output", help="The format to print.")] = Output.yaml,
    minor: _Minor = DEFAULT_MINOR,
) -> None:
    """Print the effective configuration with every default, as kube-scheduler --write-config-to does."""
    from kwhatif.policy import as_json, as_yaml, default_configuration, load_configuration

    if file is None:
        configuration = default_configuration(minor)
    else:
        document, source = read_policy(file)
        configuration = load_configuration(document, source=source, minor=minor)
    _warn(configuration.warnings)
    typer.echo((as_yaml if output is Output.yaml else as_json)(configuration), nl=False)


@app.command("validate")
def validate(
    file: Annotated[Path, typer.Argument(help="The configuration; '-' reads stdin.")],
    minor: _Minor = DEFAULT_MINOR,
    out_of_tree: Annotated[
        list[str] | None,
        typer.Option(
            "--out-of-tree",
            help="A plugin that your scheduler has and kube-scheduler has not (repeatable).",
        ),
    ] = None,
) -> None:
    """Say whether kube-scheduler would start with this file: exit code 0, or 1 and its errors."""
    from kwhatif.policy import examine

    try:
        document, source = read_policy(file)
    except InputError as error:
        if not _is_duplicate(error):
            raise
        problems: tuple[str, ...] = (str(error),)
    else:
        outcome = examine(document, source=source, minor=minor, accept_removed=False)
        problems = outcome.problems
        if outcome.configuration is not None:
            _warn(outcome.configuration.warnings)
            problems = _start(outcome.configuration, minor, out_of_tree or ())
    if problems:
        typer.echo("\n".join(problems))
        raise typer.Exit(1)
    typer.echo(f"{source}: kube-scheduler {minor} accepts it")


def read_policy(file: Path) -> tuple[Any, str]:
    """The first document of a YAML or JSON file, and the name errors call it by. Raises InputError.

    Like kube-scheduler, it looks at no further document. An empty file is an empty document, not none.
    """
    from kwhatif.snapshot.yaml_reader import read_yaml

    source = "stdin" if str(file) == "-" else str(file)
    try:
        data = sys.stdin.buffer.read() if source == "stdin" else file.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=source) from None
    documents = [document.value for document in read_yaml(data, source)]
    if len(documents) > 1:
        _warn([f"{source}: only the first of its {len(documents)} documents is read, as by kube-scheduler"])
    return (documents[0] if documents else {}), source


def _is_duplicate(error: InputError) -> bool:
    """Whether the reader refused a doubled key, as kube-scheduler does: an answer, not a failure."""
    return error.problem.startswith("the key ") and " appears twice" in error.problem


def _start(
    configuration: SchedulerConfiguration, minor: str, out_of_tree: Collection[str]
) -> tuple[str, ...]:
    """What kube-scheduler says when it sets up the profiles; foreign plugins fit where they are put."""
    from kwhatif.errors import PolicyError
    from kwhatif.policy import EXTENSION_POINTS, expand_all
    from kwhatif.policy.intree import in_tree

    points = in_tree(minor).points
    placed = {
        name: {
            point
            for profile in configuration.profiles
            for point in EXTENSION_POINTS
            if any(ref.name == name for ref in profile.plugins[point].enabled)
        }
        for name in out_of_tree
    }
    try:
        expand_all(configuration, lambda name: points.get(name, placed.get(name)))
    except PolicyError as error:
        return (str(error),)
    return ()


def _warn(warnings: Collection[str]) -> None:
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
