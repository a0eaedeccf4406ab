"""Options that belong together, as a class: a command takes the class, and its users see each option.

    @dataclass(frozen=True)
    class SchedulerOptions:
        policy: Annotated[str | None, Flag("--policy", help="...")] = None
        seed: Annotated[int | None, Flag("--seed", help="...")] = None

    @app.command()
    @expand_groups
    def place(files: Files, *, engine: SchedulerOptions) -> None: ...

``place`` then has ``--policy`` and ``--seed`` where ``engine`` stands, and is called with one ``SchedulerOptions``. A
command that does without some of them says ``Annotated[SchedulerOptions, Excluding("seed")]``. A field is an option if
it has a ``Flag``, or an annotation for typer.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from kwhatif.cli.completion import COMPLETIONS
from kwhatif.simulation.flag import Flag, flags_of


class Excluding:
    """The fields of a group that are no options of this command."""

    def __init__(self, *fields: str) -> None:
        self._fields = fields

    def has(self, field: str) -> bool:
        """Whether the command has this field as an option."""
        return field not in self._fields


class Only(Excluding):
    """The fields of a group that are options of this command, where most are not."""

    def has(self, field: str) -> bool:
        return field in self._fields


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Take apart the parameters of a command that are annotated with dataclasses."""
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters
    groups = {name: _fields_of(hints[name]) for name in parameters if is_dataclass(_plain(hints[name]))}
    negated = {name: {field for field, _, flag in flags_of(_plain(hints[name])) if flag.negated} for name in groups}

    @functools.wraps(command)
    def call_command(**given: Any) -> None:
        whole = {
            name: _plain(hints[name])(
                **{
                    field: not given.pop(field) if field in negated[name] else given.pop(field)
                    for field in options
                    if field in given
                }
            )
            for name, options in groups.items()
        }
        command(**given, **whole)

    shown: list[Parameter] = []
    for name, parameter in parameters.items():
        if name in groups:
            shown += groups[name].values()
        else:
            shown.append(_keyword(name, hints[name], parameter.default))
    # What typer looks at: the signature, and the annotations, which it wants evaluated.
    call_command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call_command.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    del call_command.__wrapped__
    return call_command


def _plain(hint: Any) -> Any:
    """The class that is meant, without what is said about it."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _fields_of(hint: Any) -> dict[str, Parameter]:
    """The options of a group."""
    group, choices = _plain(hint), get_args(hint)[1:]
    hints = get_type_hints(group, include_extras=True)
    return {
        field.name: _parameter_of(field, hints[field.name])
        for field in fields(group)
        if get_origin(hints[field.name]) is Annotated and all(choice.has(field.name) for choice in choices)
    }


def _parameter_of(field: Field[Any], hint: Any) -> Parameter:
    default = Parameter.empty if field.default is MISSING else field.default
    type_, *more = get_args(hint)
    flag = next((each for each in more if isinstance(each, Flag)), None)
    if flag is None:
        return _keyword(field.name, hint, default)
    return _keyword(field.name, option_of(type_, flag), False if flag.negated else default)


def option_of(type_: Any, flag: Flag) -> Any:
    """The annotation from which typer makes the option of a field."""
    more: dict[str, Any] = {"metavar": flag.metavar} if flag.metavar else {}
    if flag.least is not None:
        more["min"] = flag.least
    if flag.completion:
        more["autocompletion"] = COMPLETIONS[flag.completion]
    shown = flag.shows_default or type_ is bool
    names = [name for name in (flag.short, flag.name) if name]
    return Annotated[
        flag.type or _PLAIN_TYPES.get(type_, type_), typer.Option(*names, help=flag.help, show_default=shown, **more)
    ]


_PLAIN_TYPES: dict[Any, Any] = {Sequence[str]: list[str], Sequence[str] | None: list[str] | None}
"""What typer reads for types of fields that it does not know."""


def _keyword(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
