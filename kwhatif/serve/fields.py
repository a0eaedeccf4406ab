"""The fields of a request, made of the options of a command: what its JSON may say.

A request never names a file, a URL, a module or another cluster. Options that name what is read take the text itself
(or, for messages, ``{"name": ..., "text": ...}``); those that name what is written, or where something is, are no
fields at all. So an option of a command becomes a field, or not, by what its flag says of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from kwhatif.commands.functions import in_python, is_needed
from kwhatif.commands.parameters import Parameter, parameters_of, takes_cluster, takes_edits
from kwhatif.commands.public import functions_by_name
from kwhatif.commands.registry import results_of
from kwhatif.errors import KwhatifError
from kwhatif.results.base import Result
from kwhatif.simulation.command import Command
from kwhatif.simulation.edits.flags import ADD_NODES, OPTIONS
from kwhatif.simulation.flag import Flag

_PLACE = re.compile(r"\b(FILE|DIR|URL|OUT|HOST|MODULE|NAMESPACE/NAME)\b")
"""What the metavar of an option says that names a place."""

_CONTENT = ("in", "manifests")

LEFT_OUT = frozenset(
    {
        "call_extenders",  # has the server connect to others
        "call_extender_bind",
        "render",  # runs helm
        "charts",  # directories
        "clusters",
        "usage",  # read as a stream, from directories, too
        "prometheus_step",
        "prometheus_timeout",
        "prometheus_retries",
        "prometheus_token_file",
        "workers",  # the server decides how many processes there are
        "resume",
        "recursive",  # about directories
        "exclude",
    }
)
"""Options that are no fields though they name no place."""

Content = str | dict[str, Any]
"""A text, an object, or ``{"name": NAME, "text": TEXT}``: a text that messages call by the name."""


@dataclass(frozen=True)
class RequestField:
    """A field: its ``name`` in JSON, the ``type`` of its value, and the option that it is."""

    name: str
    type: Any
    parameter: Parameter

    @property
    def holds_content(self) -> bool:
        return self.parameter.flag.file in _CONTENT

    @property
    def takes_objects(self) -> bool:
        """Whether the option of the command may be an object, or a text alone."""
        return self.parameter.flag.file == "manifests" or _has_mapping(self.parameter.type)


def _has_mapping(type_: Any) -> bool:
    return type_ is Any or get_origin(type_) is Mapping or any(map(_has_mapping, get_args(type_)))


@dataclass(frozen=True)
class Route:
    """A question that may be asked: ``name`` as in ``/v1/NAME``, and the class of the question."""

    name: str
    question: type[Command[Any]]

    @property
    def result(self) -> type[Result]:
        return results_of(self.question)[0]

    @property
    def summary(self) -> str:
        return cleandoc(self.question.__doc__ or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def fields(self) -> tuple[RequestField, ...]:
        return fields_of(self.question)

    @property
    def request(self) -> type[msgspec.Struct]:
        """The Struct that decodes a request."""
        return request_of(self)


@cache
def routes() -> dict[str, Route]:
    """The questions that a server answers, by name: those about a cluster whose options can all be said in JSON."""
    all_routes = (Route(name.replace("_", "-"), question) for name, question in functions_by_name().items())
    return {route.name: route for route in all_routes if _is_answered(route.question)}


def route_of(name: str) -> Route:
    """The question of this name. Raises KwhatifError if there is none."""
    route = routes().get(name)
    if route is None:
        raise KwhatifError(f"unknown question {name}")
    return route


def _is_answered(question: type[Command[Any]]) -> bool:
    if not takes_cluster(question) or not results_of(question)[0].schema:
        return False
    fields = {field.parameter.name for field in fields_of(question)}
    return all(
        parameter.name in fields or parameter.flag.file == "cluster"
        for parameter in parameters_of(question)
        if is_needed(parameter)
    )


def is_field(parameter: Parameter) -> bool:
    """Whether a request may say this option."""
    flag = parameter.flag
    if flag.shell or parameter.name in LEFT_OUT or flag.file in ("out", "cluster"):
        return False
    return flag.file in _CONTENT or not _PLACE.search(flag.metavar)


@cache
def fields_of(question: type[Command[Any]]) -> tuple[RequestField, ...]:
    """The fields of requests for a command: its options in their order, then what-if edits."""
    options = [parameter for parameter in parameters_of(question) if is_field(parameter)]
    edits = _edit_parameters() if takes_edits(question) else ()
    return tuple(RequestField(camel(option.name), _type_of(option), option) for option in (*options, *edits))


def _edit_parameters() -> Iterator[Parameter]:
    """The what-if edits: documents, and the options that stand for one."""
    documents = Flag("--edits", file="manifests", help="What-if edits: ClusterEdits documents, or single edits.")
    yield Parameter("edits", list[Any], (), documents, own=False)
    for name, metavar, help_ in (
        (ADD_NODES, "N", "What if there were N more nodes like this one? Also N,like=NODE,zone=Z."),
        *((option.name, option.metavar, option.help) for option in OPTIONS),
    ):
        yield Parameter(edit_name(name), list[str], (), Flag(name, metavar=metavar, help=help_), own=False)
    yield Parameter("like", str | None, None, Flag("--like", help="The node that addNodes copies."), own=False)
    yield Parameter(
        "in", list[str], (), Flag("--in", help="Where the nodes of addNodes are: zone=..., or any label."), own=False
    )


def edit_name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def camel(name: str) -> str:
    """``with_pending`` as JSON has it: ``withPending``."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(word.title() for word in rest)


def _type_of(parameter: Parameter) -> Any:
    """The type of the value in JSON."""
    flag, several = parameter.flag, parameter.is_several
    if flag.file in _CONTENT:
        return Content | list[Content] if several else Content
    if flag.duration:
        return float | str
    if flag.parse is not None:
        return str
    kind, words, mapping = _without_none(parameter.type), _words_of(parameter), _MAPPING
    if several:
        return _LIST[words] | str if flag.pairs is None else _LIST[words] | str | mapping[str, flag.pairs]
    if words is not str:
        return words
    if kind in (int, float) and (flag.least is not None or flag.most is not None):
        return Annotated[kind, Meta(ge=flag.least, le=flag.most)]
    return kind


_LIST: Any = list
_MAPPING: Any = dict
_LITERAL: Any = Literal


def _words_of(parameter: Parameter) -> Any:
    """The words that a field may have, or any text."""
    if parameter.flag.choices:
        return _LITERAL[tuple(map(str, parameter.flag.choices))]
    types = [parameter.type]
    for type_ in types:
        if get_origin(type_) is Literal:
            return type_
        types += [argument for argument in get_args(type_) if get_origin(argument) is not None]
    return str


def _without_none(type_: Any) -> Any:
    if isinstance(type_, UnionType) or getattr(type_, "__origin__", None) is Union:
        return Union[tuple(argument for argument in get_args(type_) if argument is not NoneType)]  # noqa: UP007
    return type_


@cache
def request_of(route: Route) -> type[msgspec.Struct]:
    """The Struct that decodes a request; what is not said is None, where it may be left out."""
    fields: list[tuple[str, Any] | tuple[str, Any, None]] = []
    for field in route.fields:
        name, type_, about = f"field_{field.parameter.name}", field.type, _description_of(field, route)
        if is_needed(field.parameter):
            fields.append((name, Annotated[type_, about]))
        else:
            fields.append((name, Annotated[type_ | None, about], None))
    names = {f"field_{field.parameter.name}": field.name for field in route.fields}
    title = "".join(word.title() for word in route.name.split("-")) + "Request"
    made = msgspec.defstruct(title, fields, rename=names.get, forbid_unknown_fields=True, kw_only=True, frozen=True)
    made.__doc__ = route.summary
    return made


def _description_of(field: RequestField, route: Route) -> Meta:
    return Meta(description=in_python(field.parameter.flag.help, route.question, camel))
