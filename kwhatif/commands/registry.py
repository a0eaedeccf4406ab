"""All commands, found by being there: a package below this one whose ``__init__`` has a ``POSITION`` is a command, or a
group of those below it.

The words of a command are the names of its packages, its line in the help is their docstring, and ``question.py`` has
its class. The command line, the Python API, the JSON schemas, the pages and the reference are made of this one table.
Packages say next to nothing, and classes are imported when they are needed, so that listing all commands is cheap.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args, get_origin

import kwhatif.commands as commands
from kwhatif.errors import KwhatifError
from kwhatif.simulation.command import Command

if TYPE_CHECKING:
    from kwhatif.results.base import Result


@dataclass(frozen=True)
class Entry:
    """A command, by its words behind the program (``place``, ``snapshot info``), or a group of some.

    ``purpose`` is its line of help, ``position`` its place among the others, ``default`` the command of a group that is
    meant where none is named, ``help`` what a group says of itself.
    """

    name: str
    purpose: str
    position: int
    package: str
    default: str = ""
    help: str = ""

    @property
    def group(self) -> str:
        """What the group of the command is called; empty for those that stand by themselves."""
        return self.name.rpartition(" ")[0]

    @property
    def is_group(self) -> bool:
        return bool(entries_of(self.name))

    @cached_property
    def command(self) -> type[Command[Any]]:
        """The class: the one of ``question.py`` that is no question of another command.

        Raises KwhatifError where there is none, or more than one.
        """
        module = import_module(f"{self.package}.question")
        own = [var for var in vars(module).values() if isinstance(var, type) and var.__module__ == module.__name__]
        classes = [class_ for class_ in own if issubclass(class_, Command) and not class_.__name__.startswith("_")]
        if len(classes) != 1:
            names = ", ".join(class_.__name__ for class_ in classes) or "none"
            raise KwhatifError(f"{module.__name__}: expected one class that is a Command, found {names}")
        return classes[0]

    @property
    def examples(self) -> tuple[str, ...]:
        return () if self.is_group else self.command.examples

    @property
    def may_be_no(self) -> bool:
        return bool(self.command.exit_1_when)

    @property
    def has_gaps(self) -> bool:
        return self.command.has_gaps()

    @cached_property
    def functions(self) -> Mapping[str, type[Command[Any]]]:
        """The classes of the Python functions, by their names."""
        named = self.command.functions
        if not named:
            return {self.name.replace(" ", "_"): self.command}
        return {name: load(path, self.package) for name, path in named.items()}


@cache
def all_entries() -> tuple[Entry, ...]:
    """Every command and group, in the order of the help."""
    return tuple(sorted(_find_entries(commands.__name__, ""), key=lambda entry: (entry.position, entry.name)))


@cache
def entries_of(group: str) -> dict[str, Entry]:
    """The commands of a group, or those that stand by themselves, by the last of their words."""
    return {entry.name.split()[-1]: entry for entry in all_entries() if entry.group == group}


@cache
def all_commands() -> dict[str, Entry]:
    """The commands that do something, by their words."""
    return {entry.name: entry for entry in all_entries() if not entry.is_group}


@cache
def results_of(question: type[Command[Any]]) -> tuple[type[Result], ...]:
    """The results that a class answers with: one, or those of its questions."""
    from kwhatif.results.base import Result

    for base in question.__mro__:
        for generic in vars(base).get("__orig_bases__", ()):
            if isinstance(get_origin(generic), type) and issubclass(get_origin(generic), Command):
                (answer,) = get_args(generic)
                types = tuple(argument for argument in (answer, *get_args(answer)) if isinstance(argument, type))
                if types and all(issubclass(class_, Result) for class_ in types):
                    return types
    raise KwhatifError(f"{question.__name__}: expected a Command[Result], found a result that is not named")


@cache
def all_results() -> tuple[type[Result], ...]:
    """Every result with a schema."""
    results = [
        result
        for entry in all_commands().values()
        for question in (entry.command, *entry.functions.values())
        for result in results_of(question)
    ]
    return tuple(dict.fromkeys(class_ for class_ in results if class_.schema))


def load(path: str, package: str = commands.__name__) -> Any:
    """The object of ``module:name`` below a package; modules of others are named in full.

    Raises KwhatifError where no object is named.
    """
    module, _, name = path.partition(":")
    if not name:
        raise KwhatifError(f"view {path!r}: expected module:name below {package}, such as place.text:VIEW")
    return getattr(import_module(module if module.startswith("kwhatif.") else f"{package}.{module}"), name)


def _find_entries(package: str, above: str) -> Iterator[Entry]:
    for info in pkgutil.iter_modules(import_module(package).__path__):
        if not info.ispkg:
            continue
        module = import_module(f"{package}.{info.name}")
        if hasattr(module, "POSITION"):
            name = f"{above} {info.name}".strip()
            purpose, _, text = (module.__doc__ or "").strip().partition("\n\n")
            default = getattr(module, "DEFAULT", "")
            yield Entry(name, purpose, module.POSITION, module.__name__, default, text or purpose)
            yield from _find_entries(module.__name__, name)
