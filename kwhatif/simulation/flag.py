"""An option, declared once: on the field of a dataclass that holds its value.

    @dataclass(frozen=True)
    class SchedulerOptions:
        policy: Annotated[str | None, Flag("--policy", metavar="FILE", help="A KubeSchedulerConfiguration.")] = None

The command line makes its option of it, with the type and the default of the field; in Python the field's name is that
of the keyword argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class Flag:
    """What the command line calls a field, and what its help says.

    ``type`` is what the command line reads where the field holds more than that. ``completion`` says what a shell
    completes. ``least`` is the smallest number. A ``--no-`` flag, which is ``negated``, turns its field off.
    """

    name: str
    help: str
    short: str = ""
    metavar: str = ""
    type: Any = None
    completion: Literal["", "node", "pod", "workload"] = ""
    least: int | None = None
    shows_default: bool = False
    negated: bool = False


def flags_of(group: type) -> Iterator[tuple[str, Any, Flag]]:
    """The fields of a dataclass that are options: name, type and flag, in their order."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        hint = hints[field.name]
        if get_origin(hint) is Annotated:
            plain, *more = get_args(hint)
            yield from ((field.name, plain, each) for each in more if isinstance(each, Flag))
