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
it has a ``Flag``, or an annotation for typer; one that holds such a class has the options of that.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from inspect import Parameter
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from kwhatif.cli.completion import COMPLETIONS
from kwhatif.commands.parameters import is_several
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag, flags_of, format_duration, parse_duration


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


class Renamed(Excluding):
    """Fields of a group that are other flags of this command, where the names of theirs mean something else."""

    def __init__(self, **flags: Flag) -> None:
        super().__init__()
        self.flags = flags


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Take apart the parameters of a command that are annotated with dataclasses."""
    hints = get_type_hints(command, include_extras=True)
    parts = {
        name: _Group.from_hint(hints[name])
        if is_dataclass(_plain(hints[name]))
        else _keyword(name, hints[name], parameter.default)
        for name, parameter in inspect.signature(command).parameters.items()
    }

    @functools.wraps(command)
    def call_command(**given: Any) -> None:
        whole = {name: part.build(given) for name, part in parts.items() if isinstance(part, _Group)}
        command(**given, **whole)

    shown = [each for part in parts.values() for each in (part.parameters() if isinstance(part, _Group) else [part])]
    # What typer looks at: the signature, and the annotations, which it wants evaluated.
    call_command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call_command.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    del call_command.__wrapped__
    return call_command


@dataclass(frozen=True)
class _Group:
    """A class of options: by the name of each field its option, or the class that it holds."""

    type: Any
    parts: Mapping[str, Parameter | _Group]
    flags: Mapping[str, tuple[Any, Flag]]

    @classmethod
    def from_hint(cls, hint: Any, outer: Sequence[Excluding] = ()) -> _Group:
        """The group that a parameter or a field is annotated with; ``outer`` is what the groups around it leave out."""
        group, choices = _plain(hint), [*outer, *(get_args(hint)[1:] if get_origin(hint) is Annotated else ())]
        hints = get_type_hints(group, include_extras=True)
        renamed = {
            name: flag for choice in choices if isinstance(choice, Renamed) for name, flag in choice.flags.items()
        }
        flags = {name: (type_, renamed.get(name, flag)) for name, type_, flag in flags_of(group)}
        parts: dict[str, Parameter | _Group] = {}
        for field in fields(group):
            of_field = hints[field.name]
            if is_dataclass(_plain(of_field)):
                parts[field.name] = cls.from_hint(of_field, choices)
            elif get_origin(of_field) is Annotated and all(choice.has(field.name) for choice in choices):
                flag = flags.get(field.name)
                parts[field.name] = (
                    keyword_of(field.name, flag[0], field.default, flag[1]) if flag else _parameter_of(field, of_field)
                )
        return cls(group, parts, flags)

    def parameters(self) -> Iterator[Parameter]:
        """Every option, in the order of the fields."""
        for part in self.parts.values():
            yield from part.parameters() if isinstance(part, _Group) else [part]

    def build(self, given: dict[str, Any]) -> Any:
        """The value of the class by what typer has read, from which its options are taken."""
        values: dict[str, Any] = {}
        for name, part in self.parts.items():
            if isinstance(part, _Group):
                values[name] = part.build(given)
            elif name in given:
                value, (type_, flag) = given.pop(name), self.flags.get(name, (None, None))
                if flag is None:
                    values[name] = value
                elif value is not None:
                    found = value_of(type_, flag, value)
                    if found or not is_several(flag.type or type_):
                        values[name] = found
        return self.type(**values)


def value_of(type_: Any, flag: Flag, given: Any) -> Any:
    """What a field holds, given what the command line has read. Raises UsageError."""
    if flag.negated:
        return not given
    if parse := parse_duration if flag.duration else flag.parse:
        try:
            return parse(given)
        except ValueError as error:
            raise UsageError(f"{flag.name}: {error}") from None
    return given.value if isinstance(given, Enum) else given


def _plain(hint: Any) -> Any:
    """The class that is meant, without what is said about it."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _parameter_of(field: Field[Any], annotation: Any) -> Parameter:
    """The parameter of a field that is annotated for typer."""
    return _keyword(field.name, annotation, Parameter.empty if field.default is MISSING else field.default)


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
    return _keyword(name, option_of(type_, flag), default)


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
        choice = make_enum("Choice", {each: each for each in choices})
        return choice | None if type(None) in get_args(type_) else choice
    return type_


def _choices_of(type_: Any, flag: Flag) -> tuple[str, ...]:
    """The words of which a field has one."""
    return flag.choices or next(
        (get_args(each) for each in (type_, *get_args(type_)) if get_origin(each) is Literal), ()
    )


def _keyword(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
