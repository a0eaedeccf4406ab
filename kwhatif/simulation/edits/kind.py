"""The declaration of a kind of edit: its field of a ClusterEdits document, type, check, option, and application.

Each kind of edit is one ``EditKind`` in a file of its own; ``edits/document.py`` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, dataclass_transform

import msgspec
from msgspec import Meta

from kwhatif.api.decode import describe_value
from kwhatif.errors import InputError, UsageError

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft

T = TypeVar("T")

Plain = dict[str, Any]

Nodes = Annotated[
    str, Meta(description="The name of a node, or a label selector; in brackets it is always the latter.")
]


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class EditPart(
    msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A part of an edit. Unlike in objects of Kubernetes, unknown fields are refused."""


def _accept_any(what: object) -> None:
    """For an edit of which the type says everything."""


class EditKind(msgspec.Struct, Generic[T], frozen=True):
    """One kind of edit.

    field   of the document, in snake case; its value is of ``type``
    apply   makes the edit on a draft: (draft, value, where the edit stands) -> the edit in words. Raises InputError
            whose place is within the value
    check   what the type does not say: names, values and amounts that the API server would take. Raises InputError
    """

    field: str
    type: Any
    apply: Callable[[Draft, T, str], str]
    check: Callable[[T], None] = _accept_any

    @property
    def field_name(self) -> str:
        """The field as documents spell it."""
        first, *rest = self.field.split("_")
        return first + "".join(word.title() for word in rest)


class Option(msgspec.Struct, frozen=True):
    """An option of the command line that asks for an edit.

    ``read`` makes of its value what a document would say, given the names of the nodes there are. Raises UsageError.
    """

    name: str
    metavar: str
    help: str
    read: Callable[[str, Collection[str]], Plain]

    @classmethod
    def from_kind(cls, name: str, metavar: str, help_: str, kind: EditKind[str]) -> Option:
        """An option whose value is the edit's."""
        return cls(name, metavar, help_, lambda text, names: {kind.field_name: text})


class ParsedEdit(msgspec.Struct, frozen=True):
    """An edit and where it stands: ``$.edits[3]`` of a file, or an option, which has no places in it."""

    kind: EditKind[Any]
    what: Any
    source: str
    place: str = ""

    @property
    def name(self) -> str:
        """The field of the document that is set."""
        return self.kind.field

    @property
    def origin(self) -> str:
        """Where the edit stands, in words."""
        return f"{self.source} {self.place}" if self.place else self.source

    def error(self, problem: str, field: str = "") -> InputError:
        """A problem with the edit, or with one of its fields."""
        place = f"{self.place}.{self.kind.field_name}{field}" if self.place else ""
        return InputError(problem, source=self.source, place=place)


# --- what the values of options have in common


def build_usage_error(form: str, stated: str) -> UsageError:
    return UsageError(f"expected {form}, found {describe_value(stated)}")


def split_nodes(text: str, form: str) -> tuple[str, str]:
    """``NODES=REST`` as nodes and rest. A selector stands in brackets, so that it can be distinguished from what
    follows: ``[pool=batch]=dedicated=infra:NoSchedule``, ``worker-1=dedicated=infra:NoSchedule``.
    """
    if text.startswith("["):
        nodes, bracket, rest = text.partition("]")
        nodes += bracket
    else:
        nodes, equals, rest = text.partition("=")
        rest = equals + rest
    if not nodes.strip("[]") or not rest.startswith("=") or len(rest) == 1:
        raise build_usage_error(form, text)
    return nodes, rest[1:]


def whole_number(text: str) -> int:
    digits = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise build_usage_error("a whole number", text)
    return int(text)
