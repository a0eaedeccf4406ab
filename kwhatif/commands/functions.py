"""The functions of the Python API, made of the classes of commands: ``kwhatif.place(...)`` asks as the command does.

Files are given by their paths, manifests also as plain values, several of either or one.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass
from functools import cache
from inspect import Parameter as Signed
from inspect import Signature, cleandoc
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.commands.asking import ask
from kwhatif.commands.parameters import Parameter, parameters_of, takes_cluster, takes_edits
from kwhatif.errors import FidelityError, UsageError
from kwhatif.simulation.command import Command
from kwhatif.simulation.flag import Flag

if TYPE_CHECKING:
    from kwhatif.simulation.edits.kind import ParsedEdit
    from kwhatif.simulation.inputs import LiveSource
    from kwhatif.snapshot.format.model import Snapshot

Path: TypeAlias = str | os.PathLike[str]

Manifests: TypeAlias = Path | Mapping[str, Any] | Sequence[Path | Mapping[str, Any]]
"""Files or directories by their paths, objects as plain values, or several of either."""

ClusterSource: TypeAlias = "Path | Sequence[Path] | Snapshot | LiveSource"
"""A cluster: a snapshot, the files that make one up, or the ``live`` one."""

_CLUSTER = Flag("--snapshot", file="cluster", help="The cluster: a snapshot, its files, or ``live()``.")
_EDITS = Flag("--edits", file="manifests", help="What-if edits: documents by their paths, or single edits as values.")


@cache
def keywords_of(question: type[Command[Any]]) -> tuple[Parameter, ...]:
    """The parameters of the function: what comes without a name first, then the cluster, then all other options."""
    options = [parameter for parameter in parameters_of(question) if not parameter.flag.shell]
    first = sorted((option for option in options if option.flag.positional), key=lambda option: not is_needed(option))
    keywords = list(first)
    if takes_cluster(question) and "snapshot" not in {parameter.name for parameter in first}:
        needed = dataclasses.replace(_CLUSTER, required=question.needs_cluster)
        keywords.append(Parameter("snapshot", Any, (), needed, own=False))
    keywords += [option for option in options if option not in first]
    if takes_edits(question):
        keywords.append(Parameter("edits", Sequence[Any], (), _EDITS, own=False))
    return tuple(keywords)


def is_needed(parameter: Parameter) -> bool:
    """Whether an option has to be given."""
    return parameter.default is MISSING or parameter.flag.required


def signature_of(question: type[Command[Any]]) -> Signature:
    """The signature of the function."""
    return Signature(
        [
            Signed(
                keyword.name,
                Signed.POSITIONAL_OR_KEYWORD if keyword.flag.positional else Signed.KEYWORD_ONLY,
                default=Signed.empty if is_needed(keyword) else keyword.default,
            )
            for keyword in keywords_of(question)
        ]
    )


def function_of(name: str, question: type[Command[Any]]) -> Callable[..., Any]:
    """The function of a command's class: its signature and docstring are made of the fields."""
    signature, known = signature_of(question), {keyword.name: keyword for keyword in keywords_of(question)}

    def call(*values: Any, **named: Any) -> Any:
        for keyword in named:
            if keyword not in known:
                hint = suggest_spelling(keyword, list(known))
                raise TypeError(f"{name}() got an unexpected keyword argument {keyword!r}{hint}")
        arguments = signature.bind(*values, **named).arguments
        own: dict[str, Any] = {}
        more: dict[str, Any] = {}
        for keyword, value in arguments.items():
            if value is not None:
                (own if known[keyword].own else more)[keyword] = plain(known[keyword], value)
        if "edits" in more:
            more["edits"] = _PlainEdits.of(more["edits"])
        if "snapshot" in own:
            more["snapshot"] = own["snapshot"]
        with python_names(question):
            return ask(question(**own), None if question.takes is None else question.takes(**more))

    call.__name__ = call.__qualname__ = name
    call.__module__ = "kwhatif"
    call.__doc__ = docstring_of(question)
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def plain(parameter: Parameter, value: Any) -> Any:
    """What a field holds, given what a program says: names of paths, a list where there may be several, and
    ``NAME=VALUE`` for each pair of a mapping.
    """
    if parameter.flag.pairs is not None and isinstance(value, Mapping):
        return [f"{name}={str(part).lower() if isinstance(part, bool) else part}" for name, part in value.items()]
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if parameter.is_several or parameter.flag.file == "cluster":
        if isinstance(value, str | Mapping):
            return [value]
        if isinstance(value, Sequence):
            return [os.fspath(element) if isinstance(element, os.PathLike) else element for element in value]
    return value


def docstring_of(question: type[Command[Any]]) -> str:
    """The help of the command, and a line for each parameter, by the names that they have in Python."""
    lines = [in_python(cleandoc(question.__doc__ or ""), question), "", "Parameters", "----------"]
    for keyword in keywords_of(question):
        lines += [
            keyword.name,
            *wrap(in_python(keyword.flag.help, question), 100, initial_indent="    ", subsequent_indent="    "),
        ]
    return "\n".join(lines)


@contextmanager
def python_names(question: type[Command[Any]]) -> Iterator[None]:
    """What is wrong with options is said by their names in Python."""
    try:
        yield
    except (UsageError, FidelityError) as error:
        raise type(error)(in_python(str(error), question)) from error


def in_python(text: str, question: type[Command[Any]], spell: Callable[[str], str] = str) -> str:
    """A text in which flags have the names of keyword arguments: ``--no-recreate`` is ``recreate=False``.

    ``spell`` makes other names of these.
    """
    names = {
        parameter.flag.name.removeprefix("--"): parameter.name
        for parameter in parameters_of(question)
        if parameter.flag.name and not parameter.flag.negated
    }

    def name(flag: re.Match[str]) -> str:
        return spell(names.get(flag[2], flag[2].replace("-", "_"))) + ("=False" if flag[1] else "")

    return _FLAG.sub(name, text)


_FLAG = re.compile(r"(?<![\w-])--(no-)?([a-z][a-z0-9-]*)")


@dataclass(frozen=True)
class _PlainEdits:
    """Edits as programs give them, in the shape in which ``Inputs`` have them."""

    edits: Sequence[str]
    values: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, documents: Sequence[Any]) -> _PlainEdits | None:
        if not documents:
            return None
        return cls(
            [document for document in documents if isinstance(document, str)],
            [document for document in documents if not isinstance(document, str)],
        )

    def parse_edits(self, names: Collection[str]) -> Iterator[ParsedEdit]:
        from kwhatif.simulation.edits.document import read_edit

        for number, edit in enumerate(self.values):
            yield read_edit(edit, f"edits[{number}]")
