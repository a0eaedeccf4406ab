"""What typer makes an option or an argument of: the flag of a field, with its type and default, and what the words that
were read mean.
"""

from __future__ import annotations

from dataclasses import MISSING
from enum import Enum, StrEnum
from inspect import Parameter
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from kwhatif.cli.completion import COMPLETIONS
from kwhatif.commands.parameters import is_several
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag, format_duration, parse_duration


def value_of(type_: Any, flag: Flag, value: Any) -> Any:
    """What a field holds, given what the command line has read. Raises UsageError."""
    if flag.negated:
        return not value
    if parse := parse_duration if flag.duration else flag.parse:
        try:
            return parse(value)
        except ValueError as error:
            raise UsageError(f"{flag.name}: {error}") from None
    return value.value if isinstance(value, Enum) else value


def keyword_of(name: str, type_: Any, default: Any, flag: Flag) -> Parameter:
    """The parameter of a field that has a flag."""
    if flag.negated:
        default = False
    elif default is MISSING:
        default = Parameter.empty
    elif flag.duration and isinstance(default, float):
        default = format_duration(default)
    elif default is not Parameter.empty and (is_several(flag.type or type_) or flag.parse is not None):
        default = None
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=option_of(type_, flag))


def option_of(type_: Any, flag: Flag) -> Any:
    """The annotation from which typer makes the option of a field."""
    more: dict[str, Any] = {"metavar": flag.metavar} if flag.metavar else {}
    if flag.least is not None:
        more["min"] = flag.least
    if flag.most is not None:
        more["max"] = flag.most
    if flag.variable:
        more["envvar"] = flag.variable
    if flag.completion:
        more["autocompletion"] = COMPLETIONS[flag.completion]
    shown = flag.shows_default or type_ is bool
    kind = flag.type or _read_type(type_, flag)
    if not flag.name:
        return Annotated[kind, typer.Argument(help=flag.help, show_default=shown, **more)]
    names = [name for name in (flag.name, flag.short) if name]
    return Annotated[kind, typer.Option(*names, help=flag.help, show_default=shown, **more)]


def _read_type(type_: Any, flag: Flag) -> Any:
    """What typer reads for a field of this type."""
    if flag.duration:
        return str | None if type(None) in get_args(type_) else str
    if is_several(type_):
        return list[str] | None
    if choices := _choices_of(type_, flag):
        make_enum: Any = StrEnum
        choice = make_enum("Choice", {value: value for value in choices})
        return choice | None if type(None) in get_args(type_) else choice
    return type_


def _choices_of(type_: Any, flag: Flag) -> tuple[str, ...]:
    """The words of which a field has one."""
    return flag.choices or next(
        (get_args(argument) for argument in (type_, *get_args(type_)) if get_origin(argument) is Literal), ()
    )
