"""The stub of the Python API, ``kwhatif/__init__.pyi``, made of the classes of commands: by it editors and type
checkers know the signatures of functions that are made when they are used.

``python -m kwhatif.commands.stub kwhatif/__init__.pyi`` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING
from inspect import cleandoc
from textwrap import indent
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from kwhatif.commands.functions import in_python, is_needed, keywords_of
from kwhatif.commands.parameters import Parameter
from kwhatif.commands.public import functions_by_name, objects_by_name
from kwhatif.commands.registry import results_of
from kwhatif.simulation.command import Command
from kwhatif.snapshot.format.atomic_files import draft_of

_HEAD = '''"""Made of the classes of commands by ``python -m kwhatif.commands.stub kwhatif/__init__.pyi``."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from kwhatif.commands.functions import ClusterSource, Manifests, Path
'''


def stub_text() -> str:
    """The whole stub."""
    homes = sorted((home, name) for name, home in objects_by_name().items())
    imports = "\n".join(f"from {home} import {name} as {name}" for home, name in homes)
    lines = [_HEAD + imports, "__version__: str\n__all__: list[str]"]
    lines += [_function(name, question) for name, question in sorted(functions_by_name().items())]
    return "\n\n".join(lines) + "\n"


def _function(name: str, question: type[Command[Any]]) -> str:
    keywords = keywords_of(question)
    first = [keyword for keyword in keywords if keyword.flag.positional]
    rest = [keyword for keyword in keywords if not keyword.flag.positional]
    shown = [*map(_parameter, first), *(["*"] if rest else []), *map(_parameter, rest)]
    answers = " | ".join(result.__name__ for result in results_of(question))
    said = indent(in_python(cleandoc(question.__doc__ or ""), question), "    ").lstrip()
    parameters = "".join(f"    {line},\n" for line in shown)
    return f'def {name}(\n{parameters}) -> {answers}:\n    """{said}"""'


def _parameter(parameter: Parameter) -> str:
    text = f"{parameter.name}: {python_type(parameter)}"
    if is_needed(parameter):
        return text
    default = parameter.default
    return f"{text} = {'...' if default is MISSING else repr(default)}"


def python_type(parameter: Parameter) -> str:
    """The type that a program gives: of files their paths, of several one or many."""
    flag = parameter.flag
    none = " | None" if NoneType in get_args(parameter.type) else ""
    if flag.file == "manifests":
        return f"Manifests{none}"
    if flag.file == "cluster":
        return f"Sequence[ClusterSource]{none}" if parameter.is_several else f"ClusterSource{none}"
    if flag.pairs is not None:
        return f"Mapping[str, {flag.pairs.__name__}] | Sequence[str]{none}"
    if parameter.is_several:
        items = " | ".join(_item_types(parameter.type))
        item = "Path" if flag.file and items != "Any" else items
        return f"{item} | Sequence[{item}]{none}"
    words = [word for word in _words(parameter.type) if word != "None"]
    if flag.file:
        words = ["Path" if word == "str" else word for word in words]
    if flag.choices and not any(word.startswith("Literal") for word in words):
        words = [f"Literal[{', '.join(repr(str(choice)) for choice in flag.choices)}]"]
    return " | ".join(dict.fromkeys(words)) + none


def _item_types(type_: Any) -> Iterator[str]:
    for argument in (type_, *get_args(type_)):
        if get_origin(argument) in (Sequence, list):
            yield from _words(get_args(argument)[0])


def _words(type_: Any) -> Iterator[str]:
    """A type as it is written, each part of a union by itself."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (UnionType, Union):
        for argument in arguments:
            yield from _words(argument)
    elif type_ is NoneType:
        yield "None"
    elif origin is Literal:
        yield f"Literal[{', '.join(map(repr, arguments))}]"
    elif origin is Mapping:
        yield f"Mapping[{', '.join(' | '.join(_words(argument)) for argument in arguments)}]"
    elif origin is Sequence:
        yield f"Sequence[{' | '.join(_words(arguments[0]))}]"
    else:
        yield "Any" if type_ is Any else type_.__name__


if __name__ == "__main__":
    with draft_of(sys.argv[1]) as file:
        file.write(stub_text().encode())
