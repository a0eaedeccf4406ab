"""The spec of a command, as a value.

Every package of ``kwhatif.commands`` whose ``spec`` module has ``SPECS`` is a command, or a group of some. The command
line, the examples of ``--help``, the Python API, the JSON schemas, the pages of ``--report html=`` and the reference in
the documents are made of this one table. Modules are named, and imported when they are needed, so that listing all
commands is cheap.
"""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

import kwhatif.commands as commands

CLUSTER = "--snapshot samples/cluster"
"""The cluster of most examples."""

MANIFESTS = "samples/manifests"


@dataclass(frozen=True)
class ResultSpec:
    """A result of a command.

    ``type`` and ``page`` are ``module:name`` below the command's package: the Struct of the result and the ``PageSpec``
    of its page, if any. ``about`` is the description in the JSON schema, a file called ``schema``.
    """

    type: str
    schema: str
    about: str
    page: str = ""


@dataclass(frozen=True)
class CommandSpec:
    """A command, by its words behind the program: ``place``, ``snapshot info``.

    ``module`` is its module of the command line, ``purpose`` its line of help, ``position`` its place among the others.
    ``examples`` are words behind the command, which a test runs beside the samples. ``may_be_no``: its answer may be
    "no", exit code 1. ``has_gaps``: its answer has a fidelity. It ``takes`` manifests, other files, or neither.
    ``functions`` are those of the Python API, as ``module:name``.
    """

    name: str
    module: str
    purpose: str
    position: int = 0
    examples: tuple[str, ...] = ()
    may_be_no: bool = False
    has_gaps: bool = False
    takes: Literal["", "files", "manifests"] = ""
    functions: tuple[str, ...] = ()
    results: tuple[ResultSpec, ...] = ()
    package: str = ""

    @property
    def group(self) -> str:
        """What the group of the command is called; empty for those that stand by themselves."""
        return self.name.rpartition(" ")[0]


@cache
def all_specs() -> tuple[CommandSpec, ...]:
    """Every command, in the order of the help."""
    return tuple(sorted(_find_specs(), key=lambda spec: (spec.position, spec.name)))


@cache
def specs_by_name() -> dict[str, CommandSpec]:
    return {spec.name: spec for spec in all_specs()}


@cache
def commands_of(group: str) -> dict[str, CommandSpec]:
    """The commands of a group, or those that stand by themselves, by the last word of their names."""
    return {spec.name.split()[-1]: spec for spec in all_specs() if spec.group == group}


def load(package: str, path: str) -> Any:
    """The object of ``module:name``; modules are those of the package unless they are named in full."""
    module, _, name = path.partition(":")
    return getattr(import_module(module if module.startswith("kwhatif.") else f"{package}.{module}"), name)


def _find_specs() -> Iterator[Any]:
    from kwhatif.commands.registry import all_entries

    yield from all_entries()
    for info in pkgutil.iter_modules(commands.__path__):
        if info.ispkg and importlib.util.find_spec(f"{commands.__name__}.{info.name}.spec"):
            yield from import_module(f"{commands.__name__}.{info.name}.spec").SPECS
