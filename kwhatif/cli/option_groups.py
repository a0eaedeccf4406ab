"""Options that belong together, as a class: a command takes the class, and its users see each option.

    @dataclass(frozen=True)
    class EngineOptions:
        policy: Policy = None
        seed: Seed = None

    @app.command()
    @grouped
    def place(files: Files, *, engine: EngineOptions) -> None: ...

``place`` then has ``--policy`` and ``--seed`` where ``engine`` stands, and is called with one ``EngineOptions``. A
command that does without some of them says ``Annotated[EngineOptions, Without("seed")]``; fields of the class that are
no options have no annotation for typer.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter
from typing import Annotated, Any, get_args, get_origin, get_type_hints


class Excluding:
    """The fields of a group that are no options of this command."""

    def __init__(self, *fields: str) -> None:
        self.fields = fields


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Take apart the parameters of a command that are annotated with dataclasses."""
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters
    groups = {name: _fields_of(hints[name]) for name in parameters if is_dataclass(_plain(hints[name]))}

    @functools.wraps(command)
    def call_command(**given: Any) -> None:
        whole = {
            name: _plain(hints[name])(**{field: given.pop(field) for field in options})
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
    group, left_out = _plain(hint), [name for each in get_args(hint)[1:] for name in each.fields]
    hints = get_type_hints(group, include_extras=True)
    return {
        field.name: _keyword(
            field.name, hints[field.name], Parameter.empty if field.default is MISSING else field.default
        )
        for field in fields(group)
        if get_origin(hints[field.name]) is Annotated and field.name not in left_out
    }


def _keyword(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
