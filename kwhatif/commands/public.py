"""The names of the Python API: a function for each command and for each question that its options choose, the types of
their results, and what else programs need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from kwhatif.commands.functions import function_of
from kwhatif.commands.registry import all_commands, results_of
from kwhatif.simulation.command import Command

OTHERS = {
    "KwhatifError": "kwhatif.errors",
    "Plugin": "kwhatif.framework.interface",
    "Snapshot": "kwhatif.snapshot.format.model",
    "live": "kwhatif.commands.live_cluster",
    "load_snapshot": "kwhatif.snapshot.load",
}
"""What gives a cluster, and what plugins are made of: name -> its module."""


@cache
def functions_by_name() -> Mapping[str, type[Command[Any]]]:
    """Name of each function -> the class that it is made of."""
    return {name: command for entry in all_commands().values() for name, command in entry.functions.items()}


@cache
def objects_by_name() -> Mapping[str, str]:
    """Name of everything else -> its module."""
    results = {
        result.__name__: result.__module__ for made in functions_by_name().values() for result in results_of(made)
    }
    return {**results, **OTHERS}


def names() -> list[str]:
    """Every public name, sorted."""
    return sorted({*functions_by_name(), *objects_by_name()})


def public_object(name: str) -> Callable[..., Any] | Any:
    """The function, type or other object of a name. Raises KeyError."""
    if name in OTHERS:
        return getattr(import_module(OTHERS[name]), name)
    entry = all_commands().get(name)
    if entry is not None and not entry.command.functions:
        # The most common case imports no other command.
        return function_of(name, entry.command)
    if name in functions_by_name():
        return function_of(name, functions_by_name()[name])
    return getattr(import_module(objects_by_name()[name]), name)
