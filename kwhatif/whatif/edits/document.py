"""What-if edits of a cluster as a document, and as values.

    apiVersion: kwhatif.dev/v1
    kind: ClusterEdits
    edits:
    - cordon: worker-3
    - addNodes: {count: 3, like: worker-1, in: {zone: eu-west-1b}}
    - scale: {kind: Deployment, namespace: shop, name: web, replicas: 10}

The schema of the format is ``schemas/cluster-edits.schema.json``. The options of the command line are read by the
same rules: each is one edit, which stands at an option instead of in a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, dataclass_transform

import msgspec
from msgspec import Meta, inspect

from kwhatif.api.alike import did_you_mean
from kwhatif.api.decode import convert
from kwhatif.api.label_text import is_label_key, is_label_value
from kwhatif.api.mismatch import described, step
from kwhatif.api.quantity import Quantity
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import API_VERSION
from kwhatif.snapshot.read.documents import Document, read_documents
from kwhatif.snapshot.read.files import called, read_paths
from kwhatif.snapshot.read.items import decode, expect_head

__all__ = ["EFFECTS", "KIND", "AddNodes", "Edit", "Given", "NewTaint", "Scale", "read_edit", "read_edits"]

KIND = "ClusterEdits"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
MOST_NODES = 10_000
MOST_PODS = 100_000

_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")

Nodes = Annotated[
    str, Meta(description="The name of a node, or a label selector; in brackets it is always the latter.")
]
Pods = Annotated[
    str,
    Meta(description="A pod as NAME or NAMESPACE/NAME, a label selector, or NAMESPACE/[SELECTOR] for one namespace."),
]
Amounts = dict[str, Quantity]


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class _Part(msgspec.Struct, rename="camel", frozen=True, kw_only=True, omit_defaults=True):
    """A part of an edit. Unlike in objects of Kubernetes, unknown fields are refused."""


class NewTaint(_Part):
    """A taint; it takes the place of one with the same key and effect."""

    key: str
    effect: Annotated[str, Meta(extra_json_schema={"enum": list(EFFECTS)})]
    value: str = ""


class TaintNodes(NewTaint, kw_only=True):
    nodes: Nodes


class UntaintNodes(_Part):
    """Take a taint away; without an effect, all those with the key."""

    nodes: Nodes
    key: str
    effect: Annotated[str, Meta(extra_json_schema={"enum": list(EFFECTS)})] | None = None


class LabelNodes(_Part):
    """Set labels; null takes one away."""

    nodes: Nodes
    labels: dict[str, str | None]


class SetAmounts(_Part):
    """Set amounts by resource. One of the capacity moves the allocatable one along, as a kubelet would."""

    nodes: Nodes
    allocatable: Amounts | None = None
    capacity: Amounts | None = None


class AddNodes(_Part):
    """Add empty nodes like one that is there. ``in`` sets labels; zone and region stand for Kubernetes' own."""

    count: Annotated[int, Meta(ge=1, le=MOST_NODES)]
    like: Annotated[str, Meta(description="The name of a node.")]
    in_: dict[str, str] | None = msgspec.field(default=None, name="in")
    labels: dict[str, str | None] | None = None
    taints: list[NewTaint] | None = None


class Scale(_Part):
    """Give a workload a size. Without a namespace, the one where there is a workload of that name."""

    kind: Annotated[str, Meta(description="Deployment, ReplicaSet, StatefulSet or ReplicationController.")]
    name: str
    replicas: Annotated[int, Meta(ge=0, le=MOST_PODS)]
    namespace: str | None = None


class Edit(_Part):
    """One edit: exactly one of these."""

    cordon: Nodes | None = None
    uncordon: Nodes | None = None
    taint: TaintNodes | None = None
    untaint: UntaintNodes | None = None
    label: LabelNodes | None = None
    set: SetAmounts | None = None
    add_nodes: AddNodes | None = None
    remove_nodes: Nodes | None = None
    scale: Scale | None = None
    delete_pods: Pods | None = None


class _Envelope(msgspec.Struct, rename="camel"):
    edits: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Given:
    """An edit and where it stands: ``$.edits[3]`` of a file, or an option, which has no places in it.

    ``name`` is that of the field of Edit which is set, ``what`` its value.
    """

    name: str
    what: Any
    source: str
    place: str = ""

    @property
    def origin(self) -> str:
        """Where the edit stands, in words."""
        return f"{self.source} {self.place}" if self.place else self.source

    def error(self, problem: str, field: str = "") -> InputError:
        """A problem with the edit, or with one of its fields."""
        place = f"{self.place}.{_FIELDS[self.name]}{field}" if self.place else ""
        return InputError(problem, source=self.source, place=place)


_FIELDS = {field.name: field.encode_name for field in msgspec.structs.fields(Edit)}


def read_edits(paths: Sequence[str]) -> list[Given]:
    """The edits of documents, in their order. Raises InputError."""
    given: list[Given] = []
    for text in read_paths(paths):
        documents = read_documents(text)
        if not documents:
            raise InputError(f"holds no {KIND}: it is empty", source=called(text.name))
        for document in documents:
            given += _edits_of(document, document.source if len(documents) > 1 else text.name)
    return given


def _edits_of(document: Document, source: str) -> Iterator[Given]:
    expect_head(document, API_VERSION, KIND, source)
    try:
        value = decode(document.value, dict[str, Any])
        envelope = convert(value, _Envelope)
        _check_known(value, ("apiVersion", "kind", "metadata", "edits"), "$")
    except InputError as error:
        raise error.at(source) from None
    for i, edit in enumerate(envelope.edits):
        yield read_edit(edit, source, f"$.edits[{i}]")


def read_edit(value: Mapping[str, Any], source: str, place: str = "") -> Given:
    """An edit from plain values. Raises InputError; with a ``place`` in a file the error has one, too."""
    try:
        return _read(value, source, place)
    except InputError as error:
        inside = place + error.place.removeprefix("$") if place else ""
        raise InputError(error.problem, source=source, place=inside) from None


def _read(value: Mapping[str, Any], source: str, place: str) -> Given:
    told = {key: item for key, item in value.items() if item is not None}
    _check_fields(told, inspect.type_info(Edit), "$")
    if len(told) != 1:
        choices = ", ".join(_FIELDS.values())
        raise InputError(f"expected exactly one of {choices}, found {', '.join(told) or 'none'}", place="$")
    edit = convert(told, Edit)
    ((name, what),) = ((n, found) for n in _FIELDS if (found := getattr(edit, n)) is not None)
    try:
        _check(name, what)
    except InputError as error:
        raise InputError(error.problem, place=f"$.{_FIELDS[name]}{error.place}") from None
    return Given(name, what, source, place)


def _check_fields(value: object, type_: inspect.Type, place: str) -> None:
    """Raises InputError for a field that nobody here knows; what is of another type is left to be found later."""
    match type_:
        case inspect.UnionType(types=types):
            for choice in types:
                _check_fields(value, choice, place)
        case inspect.Metadata(type=inner):
            _check_fields(value, inner, place)
        case inspect.ListType(item_type=item_type) if isinstance(value, list):
            for i, item in enumerate(value):
                _check_fields(item, item_type, f"{place}[{i}]")
        case inspect.StructType(fields=fields) if isinstance(value, dict):
            known = {field.encode_name: field.type for field in fields}
            _check_known(value, tuple(known), place)
            for key, item in value.items():
                _check_fields(item, known[key], place + step(key))


def _check_known(keys: Iterable[str], known: Sequence[str], place: str) -> None:
    for key in keys:
        if key not in known:
            hint = did_you_mean(key, known) or f"; there are {', '.join(known)}"
            raise InputError(f"no field is called {described(key)}{hint}", place=place)


def _check(name: str, what: Any) -> None:
    """What types do not say: names, values and amounts that the API server would take. Raises InputError."""
    match what:
        case str() if not what.strip():
            raise InputError(f"expected {'a pod' if name == 'delete_pods' else 'a node'} or a selector, found none")
        case NewTaint():
            _check_taint(what, "")
        case UntaintNodes(key=key, effect=effect):
            _check_key(key, ".key")
            if effect is not None:
                _check_effect(effect, ".effect")
        case LabelNodes(labels=labels):
            if not labels:
                raise InputError("expected at least one label, found none", place=".labels")
            _check_labels(labels, ".labels")
        case SetAmounts(allocatable=allocatable, capacity=capacity):
            if not allocatable and not capacity:
                raise InputError("expected an amount under allocatable or capacity, found none")
            _check_amounts(allocatable or {}, ".allocatable")
            _check_amounts(capacity or {}, ".capacity")
        case AddNodes():
            _check_labels(what.in_ or {}, ".in")
            _check_labels(what.labels or {}, ".labels")
            for i, taint in enumerate(what.taints or ()):
                _check_taint(taint, f".taints[{i}]")


def _check_taint(taint: NewTaint, place: str) -> None:
    _check_key(taint.key, f"{place}.key")
    _check_effect(taint.effect, f"{place}.effect")
    _check_value(taint.value, f"{place}.value")


def _check_effect(effect: str, place: str) -> None:
    if effect not in EFFECTS:
        hint = did_you_mean(effect, EFFECTS)
        raise InputError(
            f"expected {', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}, found {described(effect)}{hint}", place=place
        )


def _check_labels(labels: Mapping[str, str | None], place: str) -> None:
    for key, value in labels.items():
        _check_key(key, place + step(key))
        if value is not None:
            _check_value(value, place + step(key))


def _check_key(key: str, place: str) -> None:
    if not is_label_key(key):
        raise InputError(f'expected a key such as "pool" or "example.com/pool", found {described(key)}', place=place)


def _check_value(value: str, place: str) -> None:
    if not is_label_value(value):
        problem = "expected at most 63 letters, digits, '-', '_' and '.', ends being letters or digits"
        raise InputError(f"{problem}, found {described(value)}", place=place)


def _check_amounts(amounts: Mapping[str, Quantity], place: str) -> None:
    for name, amount in amounts.items():
        here = place + step(name)
        if not is_label_key(name):
            raise InputError(
                f'expected a resource such as "cpu" or "example.com/gpu", found {described(name)}', place=here
            )
        if "/" not in name and name not in _PLAIN_RESOURCES and not name.startswith("hugepages-"):
            hint = (
                did_you_mean(name, _PLAIN_RESOURCES) or f"; there are {', '.join(_PLAIN_RESOURCES)} and hugepages-..."
            )
            raise InputError(f"Kubernetes has no resource {described(name)}{hint}", place=here)
        if amount < Quantity.from_units(0):
            raise InputError(f"expected no less than 0, found {described(str(amount))}", place=here)
        if (name == "pods" or "/" in name) and amount.milli_value() % 1000:
            raise InputError(f"expected a whole number, found {described(str(amount))}", place=here)
