"""Options that belong together, as a class: a command takes the class, and its users see each option.

    @dataclass(frozen=True)
    class EngineOptions:
        policy: Policy = None
        seed: Seed = None

    @app.command()
    @grouped
    def place(files: Files, *, engine: EngineOptions) -> None: ...

``place`` then has ``--policy`` and ``--seed`` where ``engine`` stands, and is called with one ``EngineOptions``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter
from typing import Any, get_type_hints

__all__ = ["grouped"]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Take apart the parameters of a command that are annotated with dataclasses."""
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters
    groups = {name: hints[name] for name in parameters if is_dataclass(hints[name])}

    @functools.wraps(command)
    def called(**given: Any) -> None:
        whole = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **whole)

    shown: list[Parameter] = []
    for name, parameter in parameters.items():
        if name in groups:
            shown += _options_of(groups[name])
        else:
            shown.append(_keyword(name, hints[name], parameter.default))
    # What typer looks at: the signature, and the annotations, which it wants evaluated.
    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    del called.__wrapped__
    return called


def _options_of(group: Any) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        yield _keyword(field.name, hints[field.name], Parameter.empty if field.default is MISSING else field.default)


def _keyword(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
