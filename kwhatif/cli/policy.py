"""``kwhatif policy``: what a scheduler configuration amounts to, and whether kube-scheduler would take it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kwhatif.cli.common import complete_command
from kwhatif.cli.option_groups import Only, expand_groups
from kwhatif.cli.options import argument, option
from kwhatif.cli.output import finish, say, screen, tell, write
from kwhatif.cli.wrong_words import build_missing_argument
from kwhatif.errors import InputError, PolicyError, UsageError
from kwhatif.simulation.inputs import Notes, SchedulerOptions
from kwhatif.simulation.policy_file import is_duplicate_key, read_policy

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kwhatif.policy import SchedulerConfiguration
    from kwhatif.versions import Features


class _Policy(TyperGroup):
    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        return None if command is None else complete_command(command, f"policy {cmd_name}")


app = typer.Typer(
    name="policy",
    cls=_Policy,
    help="Look at a KubeSchedulerConfiguration or a legacy Policy.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


class Output(StrEnum):
    yaml = "yaml"
    json = "json"


class Format(StrEnum):
    v1 = "v1"


_Version = Annotated[
    str | None,
    option(
        "--kubernetes-version",
        metavar="VERSION",
        help="The Kubernetes whose rules apply, such as 1.34 or v1.33.2. Default: the newest.",
    ),
]
_Gates = Annotated[SchedulerOptions, Only("feature_gates")]


_File = Annotated[str | None, argument(metavar="FILE", help="The configuration or Policy; '-' reads stdin.")]
_Filename = Annotated[str | None, option("-f", "--filename", metavar="FILE", help="The same, as with kubectl.")]


def _one_of(file: str | None, filename: str | None) -> str | None:
    """The file that is named in one way or the other. Raises UsageError if it is in both."""
    if file is not None and filename is not None:
        raise UsageError(f"one configuration is looked at: name it as {file} or with -f {filename}")
    return file if file is not None else filename


@app.command("show")
@expand_groups
def show(
    file: _File = None,
    filename: _Filename = None,
    output: Annotated[Output, typer.Option("-o", "--output", help="The format to print.")] = Output.yaml,
    kubernetes_version: _Version = None,
    *,
    engine: _Gates,
) -> None:
    """Print the effective configuration with every default, as kube-scheduler --write-config-to does.

    Without a file it is kube-scheduler's own.
    """
    file = _one_of(file, filename)
    from kwhatif.policy import as_json, as_yaml, default_configuration, load_configuration
    from kwhatif.render.escape import in_json, in_yaml

    if file is None:
        configuration = default_configuration(_rules(kubernetes_version, engine.feature_gates))
    else:
        document, source, warnings = read_policy(file)
        _warn(warnings)
        features = _rules(kubernetes_version, engine.feature_gates, document)
        configuration = load_configuration(document, source=source, features=features)
    _warn(configuration.warnings)
    text = in_yaml(as_yaml(configuration)) if output is Output.yaml else in_json(as_json(configuration))
    write(text)


@app.command("validate")
@expand_groups
def validate(
    file: _File = None,
    filename: _Filename = None,
    kubernetes_version: _Version = None,
    out_of_tree: Annotated[
        list[str] | None,
        typer.Option(
            "--out-of-tree",
            help="A plugin that your scheduler has and kube-scheduler has not, as NAME or NAME=point,point "
            "(repeatable). Without points it fits where the file puts it by name.",
        ),
    ] = None,
    *,
    engine: _Gates,
) -> None:
    """Say whether kube-scheduler would start with this file.

    Exit codes: 0 the answer is good, 1 it is not: kube-scheduler would not take it, for the errors that are
    printed, 2 usage or input error.
    """
    file = _one_of(file, filename)
    if file is None:
        raise build_missing_argument("FILE")
    from kwhatif.policy import examine

    document: object = None
    problems: tuple[str, ...] = ()
    try:
        document, source, warnings = read_policy(file)
    except InputError as error:
        if not is_duplicate_key(error):
            raise
        problems = (str(error),)
    features = _rules(kubernetes_version, engine.feature_gates, document)
    if not problems:
        _warn(warnings)
        outcome = examine(document, source=source, features=features, accept_removed=False)
        problems = outcome.problems
        if outcome.configuration is not None:
            _warn(outcome.configuration.warnings)
            problems = _start(outcome.configuration, features, out_of_tree or ())
    from kwhatif.render.blocks import Lines, Verdict
    from kwhatif.render.tables import text_of

    if problems:
        finish(text_of([Lines(problems)], screen()), 1)
    write(text_of([Verdict(f"{source}: kube-scheduler {features.minor} accepts it", True)], screen()))


@app.command("convert")
@expand_groups
def convert(
    file: _File = None,
    filename: _Filename = None,
    to: Annotated[Format, typer.Option("--to", help="The format to write.")] = Format.v1,
    output: Annotated[
        Output, typer.Option("-o", "--output", help="The format to print; json has the changes, too.")
    ] = Output.yaml,
    kubernetes_version: _Version = None,
    *,
    engine: _Gates,
) -> None:
    """Write a Policy, or a configuration in an old format, as a KubeSchedulerConfiguration v1.

    What does not mean the same afterwards is listed on standard error. Without a file, standard input is read.
    """
    file = _one_of(file, filename) or "-"
    from kwhatif.policy.render import convert_configuration, yaml_text
    from kwhatif.render.escape import in_yaml
    from kwhatif.render.formats import plain_json

    features = _rules(kubernetes_version, engine.feature_gates)
    document, source, warnings = read_policy(file)
    conversion = convert_configuration(document, source=source, features=features)
    if output is Output.json:
        answer = {"configuration": conversion.document, "changes": list(conversion.changes)}
        text = plain_json(answer)
    else:
        text = in_yaml(yaml_text(conversion.document))
    _warn(warnings)
    say(f"changed: {change}" for change in conversion.changes)
    write(text)


def _start(configuration: SchedulerConfiguration, features: Features, out_of_tree: Collection[str]) -> tuple[str, ...]:
    """What kube-scheduler says when it sets up the profiles, with these plugins compiled in."""
    from kwhatif.policy import EXTENSION_POINTS, expand_all
    from kwhatif.policy.in_tree import in_tree

    points = dict(in_tree(features).points)
    for word in out_of_tree:
        name, _, given = word.partition("=")
        placed = (
            point
            for profile in configuration.profiles
            for point in EXTENSION_POINTS
            if point in profile.plugins and any(ref.name == name for ref in profile.plugins[point].enabled)
        )
        points[name] = tuple(given.split(",")) if given else tuple(placed)
    try:
        expand_all(configuration, points.get)
    except PolicyError as error:
        refs = (ref for each in configuration.profiles for found in each.plugins.values() for ref in found.enabled)
        strangers = {ref.name for ref in refs} - points.keys()
        if strangers:
            words = " ".join(f"--out-of-tree {name}" for name in sorted(strangers))
            tell(f"note: if your scheduler has plugins that kube-scheduler has not, say so: {words}")
        return (str(error),)
    return ()


def _rules(version: str | None, gates: Sequence[str] | None, document: object = None) -> Features:
    """The rules asked for, else those of the last minor that read the document's format."""
    from kwhatif.policy.legacy_formats import legacy_format
    from kwhatif.simulation.version_options import choose_minor
    from kwhatif.versions.minors import LEGACY_MINOR

    notes = Notes()
    legacy = bool(legacy_format(document))
    features = choose_minor(version, gates, notes, otherwise=LEGACY_MINOR if legacy else None, legacy=legacy)
    say(notes)
    return features


def _warn(warnings: Collection[str]) -> None:
    for warning in warnings:
        tell(f"warning: {warning}")
