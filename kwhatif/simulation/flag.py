"""The declaration of an option, once, on the field of a dataclass that holds its value.

    @dataclass(frozen=True)
    class SchedulerOptions:
        policy: Annotated[str | None, Flag("--policy", metavar="FILE", help="A KubeSchedulerConfiguration.")] = None

The command line makes its option of it, with the type and the default of the field; in Python the field's name is that
of the keyword argument. A field without a ``Flag`` is no option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Flag:
    """What the command line calls a field, and what its help says.

    ``variable`` is an environment variable that stands for it. ``completion`` says what a shell completes. ``choices``
    are the words that it may be, where its type does not say so, ``least`` and ``most`` the smallest and the largest
    number. A ``--no-`` flag, which is ``negated``, turns its field off. A ``duration`` is
    written as Go does (``1m30s``) and held in seconds. ``type`` is what the command line reads where the field holds
    something else, and ``parse`` makes the one of the other; it raises ValueError or UsageError.

    ``file`` says that the field names a file which is read (``in``) or written (``out``), ``manifests``, which may be
    directories and, in Python, plain values, or the files of another ``cluster``. ``pairs`` is the type of the values
    of a mapping that Python gives, each of which the command line writes as ``NAME=VALUE``. ``positional`` fields come
    first in Python, ``required`` ones have to be given. Fields for the ``shell`` alone are none of Python's.
    """

    name: str = ""
    help: str = ""
    short: str = ""
    variable: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    type: Any = None
    parse: Callable[[Any], Any] | None = None
    completion: Literal["", "node", "pod", "workload"] = ""
    least: float | None = None
    most: float | None = None
    shows_default: bool = False
    negated: bool = False
    duration: bool = False
    file: Literal["", "in", "out", "manifests", "cluster"] = ""
    pairs: Any = None
    positional: bool = False
    required: bool = False
    shell: bool = False


@dataclass(frozen=True)
class InputFile(Flag):
    """A field that names a file which is read."""

    metavar: str = "FILE"
    file: Literal["", "in", "out", "manifests", "cluster"] = "in"


@dataclass(frozen=True)
class OutputFile(InputFile):
    """A field that names a file which is written."""

    file: Literal["", "in", "out", "manifests", "cluster"] = "out"


@dataclass(frozen=True)
class Duration(Flag):
    """A field with a length of time."""

    metavar: str = "DURATION"
    duration: bool = True


@dataclass(frozen=True, kw_only=True)
class Argument(Flag):
    """A field whose values stand on the command line without a flag; with ``repeats``, behind ``-f``, too."""

    positional: bool = True
    repeats: bool = False


class Cluster:
    """Marks the field with the cluster: the command line has all its options for finding one, Python a value."""


class WhatIf:
    """Marks the field with what-if edits: the command line has an option for each sort, Python documents."""


@cache
def hints_of(group: type) -> dict[str, Any]:
    """The fields of a dataclass with their annotations."""
    hints = get_type_hints(group, include_extras=True)
    return {field.name: hints[field.name] for field in fields(group)}


def flags_of(group: type) -> Iterator[tuple[str, Any, Flag]]:
    """The fields of a dataclass that are options: name, type and flag, in their order."""
    for name, hint in hints_of(group).items():
        if get_origin(hint) is Annotated:
            plain, *more = get_args(hint)
            yield from ((name, plain, flag) for flag in more if isinstance(flag, Flag))


def marked_field(group: type, mark: type) -> str:
    """The name of the field that is marked as ``Cluster`` or ``WhatIf``; nothing if there is none."""
    marked = (
        name for name, hint in hints_of(group).items() if any(isinstance(argument, mark) for argument in get_args(hint))
    )
    return next(marked, "")


def values_of(group: type, options: Any) -> dict[str, Any]:
    """The fields of a dataclass as other ``options``, which have them too, hold them."""
    return {field.name: getattr(options, field.name) for field in fields(group)}


def words_of(group: type, options: Any) -> Iterator[str]:
    """The options of a dataclass as they are to be given again on a command line, without those that are empty."""
    for name, _, flag in flags_of(group):
        value = getattr(options, name)
        if value is True:
            yield flag.name
        elif value:
            for word in [value] if isinstance(value, str) else value:
                yield from (flag.name, str(word))


def split_words(texts: Sequence[str]) -> tuple[str, ...]:
    """What is given in one option or in several, with commas between, each once."""
    return tuple(dict.fromkeys(word for text in texts for word in text.split(",") if word))


def parse_duration(text: str) -> float:
    """The seconds of a length of time as Go writes it. Raises ValueError."""
    from kwhatif.golang.parsing import SECOND, Duration

    length = Duration.parse(text) / SECOND
    if length < 0:
        raise ValueError(f"{text}: expected a length of time, such as 1m30s")
    return length


def parse_moment(text: str) -> datetime:
    """A time. Raises ValueError."""
    from kwhatif.api.times import parse_time

    try:
        return parse_time(text)
    except ValueError:
        raise ValueError(f"expected a time such as 2026-03-01T12:00:00Z, found {text}") from None


def format_duration(length: float) -> str:
    """Seconds as people write them: ``5m``, ``90s``."""
    return f"{length / 60:g}m" if length and length % 60 == 0 else f"{length:g}s"
