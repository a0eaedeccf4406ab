"""Words that are what they mean already, and options that nobody gives, without what typer makes of all others.

Before it looks at a word, typer 0.29 has pydantic make an adapter for the parameter: to import that and to make sixty
adapters takes a fifth of a short command's time. A text needs none, nor does a switch, a choice or a default.
"""

from __future__ import annotations

from enum import Enum
from typing import Any


def plain(params: Any) -> Any:
    """These parameters, which now make adapters only for words that need one; as they are where typer makes none."""
    for param in params:
        if getattr(param, "_runtime_param", _Plain) is None:
            param._runtime_param = _Plain()
    return params


class _Plain:
    """Takes the place of what typer makes of a parameter, until it is needed."""

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        kind = param.type_descriptor.annotation
        if (
            several
            and isinstance(value, list | tuple)
            and kind == list[str]
            and all(type(each) is str for each in value)
        ):
            return list(value)
        if type(value) is kind:
            return value
        if isinstance(kind, type) and issubclass(kind, Enum) and value in {each.value for each in kind}:
            return kind(value)
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
