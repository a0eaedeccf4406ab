"""The command line of a command, made of its class: its options, and what happens when it is called."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import Signature
from typing import Any

import typer
from msgspec import structs

from kwhatif.cli.answer import Answer
from kwhatif.cli.cluster_options import ClusterFlags
from kwhatif.cli.edit_options import EditOptions
from kwhatif.cli.options import keyword_of, value_of
from kwhatif.cli.output import check_stdin, program
from kwhatif.cli.wrong_words import build_missing_argument
from kwhatif.commands.asking import ask, choose
from kwhatif.commands.parameters import (
    Parameter,
    fields_of,
    input_files,
    is_several,
    parameters_of,
    takes_cluster,
    takes_edits,
)
from kwhatif.errors import UsageError
from kwhatif.results.base import Result
from kwhatif.simulation.command import Command
from kwhatif.simulation.flag import Argument, Flag
from kwhatif.simulation.inputs import NO_CLUSTER
from kwhatif.simulation.scenario_options import ClusterOptions, ScenarioOptions

Values = dict[str, Any]


def typer_command(question: type[Command[Any]], name: str) -> Any:
    """The command of a class, as typer has it, without what all commands share."""
    line = CommandLine(question)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=help_of(question))(line.function())
    return typer.main.get_command(app)


def help_of(question: type[Command[Any]]) -> str:
    """What the class says of itself, and what its exit codes mean."""
    said = question.__doc__ or ""
    if bad := question.exit_1_when:
        said += f"\n\n    Exit codes: 0 the answer is good, 1 it is not: {bad}, 2 usage or input error.\n    "
    return said


@dataclass(frozen=True)
class CommandLine:
    """The options of a command, and what they mean."""

    question: type[Command[Any]]

    def function(self) -> Any:
        """What typer looks at: a function with an annotated parameter for each option."""

        def call(**words: Any) -> None:
            self.run(words)

        shown = [keyword_of(option.name, option.type, option.default, option.flag) for option in self._options()]
        call.__signature__ = Signature(shown)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        call.__name__ = self.question.__name__
        return call

    def run(self, words: Values) -> None:
        """Ask, print the answer and end."""
        answer = Answer.from_words(self.question.prints, words)
        values = self._read(words)
        command = self.question(
            **{parameter.name: values[parameter.name] for parameter in self._own if parameter.name in values}
        )
        shown = command.for_output(answer.output, has_reports=bool(answer.reports))
        chosen = choose(shown)
        answer.check(chosen)
        if values.get("server"):
            # It is not asked for explanations of a run, so no command for that is offered.
            answer.finish(self._ask_server(shown, chosen, values, answer))
        result = ask(chosen, self._build_inputs(command, chosen, values, answer))
        if chosen is shown and hasattr(chosen, "explain"):
            result = result.with_context(command=asked_command())
        answer.finish(result)

    @property
    def _own(self) -> list[Parameter]:
        return [parameter for parameter in parameters_of(self.question) if parameter.own]

    def _options(self) -> Iterator[Parameter]:
        """Every option: the command's own, those of the answer, and what the command takes."""
        own = parameters_of(self.question)
        names = {option.name for option in own}
        yield from (_with_f(option) for option in own)
        for parameter in own:
            if isinstance(parameter.flag, Argument) and parameter.flag.repeats:
                yield _repeating(parameter)
        yield from Answer.options(self.question.prints)
        if takes_cluster(self.question):
            yield from (option for option in _CLUSTER if option.name not in {*names, *self.question.lacks})
        if takes_edits(self.question):
            yield from _EDITS

    def _read(self, words: Values) -> Values:
        """The values of fields, by what typer has read. What is not given is left out. Raises UsageError."""
        values: Values = {}
        for option in self._options():
            if (value := words.get(option.name)) is not None:
                made = value_of(option.type, option.flag, value)
                if made or not _takes_several(option):
                    values[option.name] = made
        for parameter in self._own:
            if isinstance(parameter.flag, Argument) and parameter.flag.repeats:
                _join(parameter, values)
        return values

    def _ask_server(self, command: Command[Any], chosen: Command[Any], values: Values, answer: Answer) -> Result:
        """The answer of a server. Raises UsageError for options about another cluster, and for pages."""
        from kwhatif.serve.client import ServerAddress

        if ClusterFlags(**_of(_CLUSTER, values)).is_named():
            raise UsageError("--server: the cluster is the server's, or another one")
        if answer.is_mapped:
            raise UsageError("--server: a page is made of the cluster itself, which a server does not send")
        return ServerAddress(values.get("server", ""), values.get("server_token", "")).ask(command, chosen, values)

    def _build_inputs(self, command: Command[Any], chosen: Command[Any], values: Values, answer: Answer) -> Any:
        """What the ``chosen`` command takes; the one that has the options names the files.

        Raises UsageError if no cluster is named, or standard input is read twice.
        """
        if self.question.takes is None:
            check_stdin(*input_files(command, None))
            return None
        self._check_namespace(values)
        more: Values = {
            parameter.name: values[parameter.name]
            for parameter in parameters_of(self.question)
            if not parameter.own and parameter.name in values
        }
        edits: list[Any] = []
        if takes_edits(self.question):
            edit_options = EditOptions(**_of(_EDITS, values))
            more["edits"], edits = edit_options or None, list(edit_options.edits)
        if takes_cluster(self.question):
            # An argument may name the cluster in place of --snapshot.
            flags = ClusterFlags(**_of(_CLUSTER, values))
            if chosen.wants_cluster(is_named=flags.is_named()):
                more["snapshot"], version = flags.find_source(chosen.read_rules)
                if version and any(
                    parameter.name == "kubernetes_version" for parameter in parameters_of(self.question)
                ):
                    more.setdefault("kubernetes_version", version)
            if chosen.needs_cluster and not more.get("snapshot"):
                raise UsageError(NO_CLUSTER)
        given = self.question.takes(**more)
        if isinstance(given, ClusterOptions):
            given = dataclasses.replace(given, with_map=answer.is_mapped)
        if isinstance(given, ScenarioOptions) and chosen.reads_rules_file:
            given = given.with_rules_file()
        # A command whose argument is the cluster has it among its own files.
        source = () if any(parameter.name == "snapshot" for parameter in self._own) else more.get("snapshot")
        check_stdin(*input_files(command, given), *(source if isinstance(source, list) else ()), *edits)
        return given

    def _check_namespace(self, values: Values) -> None:
        """Raise UsageError for a namespace of manifests where there are none: it selects no pods."""
        namespace, files = (
            values.get("namespace"),
            [parameter for parameter in self._own if parameter.flag.file == "manifests"],
        )
        if namespace in (None, "default") or not files or any(parameter.name == "namespace" for parameter in self._own):
            return
        if not any(values.get(file.name) for file in files):
            raise UsageError(f"-n {namespace}: the namespace of manifests that name none, and no manifests are given")


_CLUSTER = fields_of(ClusterFlags)
_EDITS = fields_of(EditOptions)


def _of(parameters: Sequence[Parameter], values: Values) -> Values:
    return {parameter.name: values[parameter.name] for parameter in parameters if parameter.name in values}


def _takes_several(parameter: Parameter) -> bool:
    """Whether the option may be given several times."""
    return is_several(parameter.flag.type or parameter.type)


def _with_f(parameter: Parameter) -> Parameter:
    """An argument that may be given with ``-f`` instead need not be there."""
    if isinstance(parameter.flag, Argument) and parameter.flag.repeats and not _takes_several(parameter):
        return structs.replace(parameter, default=None)
    return parameter


def _repeating(parameter: Parameter) -> Parameter:
    """``-f`` for an argument."""
    several = _takes_several(parameter)
    many = " (repeatable)" if several else ""
    help_ = f"The same as the argument, as with kubectl{many}."
    flag = Flag("--filename", short="-f", type=parameter.flag.type, metavar=parameter.flag.metavar, help=help_)
    return Parameter("filename", parameter.type, () if several else None, flag, own=True)


def _join(parameter: Parameter, values: Values) -> None:
    """Put what ``-f`` names to the argument. Raises UsageError if nothing is named, or more than there may be."""
    more = values.pop("filename", None)
    if _takes_several(parameter):
        values[parameter.name] = [*values.get(parameter.name, ()), *(more or ())]
    elif more is not None and parameter.name in values:
        raise UsageError(
            f"one {parameter.flag.metavar} is looked at: name it as {values[parameter.name]} or with -f {more}"
        )
    elif more is not None:
        values[parameter.name] = more
    if parameter.flag.required and not values.get(parameter.name):
        raise build_missing_argument(parameter.flag.metavar)


_FOR_OUTPUT = ("-o", "--output", "--report", "--color", "--write-snapshot")
"""Options about what is printed and written, with a value; those without are below."""

_ALONE = ("--all", "--exit-zero")


def asked_command() -> str:
    """The command as it was given, without what is about its output."""
    words: list[str] = []
    given = iter(sys.argv[1:])
    for word in given:
        name = word.partition("=")[0]
        if name in _FOR_OUTPUT:
            if name == word:
                next(given, None)
        elif word not in _ALONE and not (word.startswith("-o") and not word.startswith("--")):
            words.append(word)
    return shlex.join([*program().split(), *words])
