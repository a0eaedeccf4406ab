"""From texts to objects: JSON and YAML documents are parsed, lists taken apart, kinds recognised, and each object
decoded into its Struct. Templates and charts, which are no objects yet, are recognised too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec.structs import force_setattr

from kwhatif.api.decode import convert, decode_json, decode_list
from kwhatif.api.field_types import check
from kwhatif.api.kinds import KINDS, Objects, struct_for
from kwhatif.api.meta import Resource
from kwhatif.api.times import check_times
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.json_reader import check_keys, read_json
from kwhatif.snapshot.read.other_documents import OtherDocumentError, sort_of_document, sort_of_kind
from kwhatif.snapshot.read.yaml_memory import read_yaml_once

TEMPLATE = "a template that was not rendered: render it first, as helm template does"
_KUSTOMIZE = "kustomize.config.k8s.io/"
# What Go's templates have between two pairs of braces, and a mapping of YAML does not.
_IN_BRACES = re.compile(
    rb"\{\{-?\s*(?:[.$(]|/\*|(?:if|else|end|range|with|define|include|template|tpl|toYaml|block)\b)"
)


def is_template(text: bytes) -> bool:
    """Whether there is something in a text that a template's engine would replace."""
    return _IN_BRACES.search(text) is not None


_LOOKS_LIKE_JSON = re.compile(rb"[ \t\r\n]*+[\[{]")
_JSON_NAME = re.compile(r"\.json(\.gz|\.zst)?$")
_YAML_NAME = re.compile(r"\.ya?ml(\.gz|\.zst)?$")
_TRY_YAML_UP_TO = 8 * 1024**2


class Origin(msgspec.Struct, frozen=True):
    """Where an object came from: file, number and line of the document (from 1), index in a list (from 0).

    For an object in a YAML list ``line`` is its own. ``whose`` is the object, where the document stands for others,
    too. Prints like ``web.yaml document 2 (line 14)``; where nothing stands before the object, like ``web.yaml``.
    """

    file: str
    document: int = 1
    line: int = 1
    index: int | None = None
    whose: str = ""

    def __str__(self) -> str:
        first = (self.document, self.line) == (1, 1)
        where = self.file if first else f"{self.file} document {self.document} (line {self.line})"
        where = where if self.index is None else f"{where} items[{self.index}]"
        return f"{where} for {self.whose}" if self.whose else where


class Document(msgspec.Struct, frozen=True):
    """A JSON document as its raw text, or a YAML document as plain Python values."""

    origin: Origin
    value: msgspec.Raw | Any
    item_lines: tuple[int, ...] = ()

    @property
    def source(self) -> str:
        """Its name in messages."""
        return str(self.origin)


def read_documents(
    text: Text,
    *,
    strictly: bool = False,
    duplicates: list[str] | None = None,
    broken: list[InputError] | None = None,
    as_kustomize: bool = False,
) -> list[Document]:
    """All documents of a text that hold something. Raises InputError; ``strictly``, also for a key that comes twice.

    YAML in which one does is always refused, unless there is a list of ``duplicates``, to which it is added in words.
    Documents of YAML that cannot be read are refused, too, unless there is a list of what is ``broken``. It may be
    read ``as_kustomize`` reads objects.

    What begins with a bracket is JSON, as kubectl has it; if it is not sound JSON it may still be YAML that
    begins with one, unless its name ends in .json.
    """
    if not _LOOKS_LIKE_JSON.match(text.data):
        return _yaml(text, duplicates, broken, as_kustomize)
    try:
        documents = list(read_json(text.data, text.name))
    except InputError as error:
        if _JSON_NAME.search(text.name) or len(text.data) > _TRY_YAML_UP_TO:
            raise
        try:
            return _yaml(text, duplicates, None, as_kustomize)
        except InputError:
            if _YAML_NAME.search(text.name):
                raise
            raise error from None
    for document in documents if strictly else ():
        check_keys(document.value, text.name)
    return [Document(Origin(text.name, d.number, d.line), d.value) for d in documents]


_DESCRIPTION = re.compile(rb"Name:[ \t]+\S[^\n]*\n(?:[^\n]*\n){0,3}(?:Namespace|Labels|Roles|Annotations):")


def _yaml(
    text: Text, duplicates: list[str] | None, broken: list[InputError] | None, as_kustomize: bool
) -> list[Document]:
    if _DESCRIPTION.match(text.data):
        problem = "expected an object, found what kubectl describe prints: kubectl get KIND NAME -o yaml prints one"
        raise InputError(problem, source=text.name)
    try:
        read = read_yaml_once(text.data, text.name, duplicates, broken, as_kustomize)
    except InputError as error:
        if not is_template(text.data):
            raise
        raise InputError(TEMPLATE, source=error.source, place=error.place) from None
    if broken and is_template(text.data):
        raise InputError(TEMPLATE, source=broken[0].source, place=broken[0].place)
    return [Document(Origin(text.name, d.number, d.line), d.value, d.item_lines) for d in read]


T = TypeVar("T")
R = TypeVar("R", bound=Resource)


_NO_ITEMS = msgspec.Raw()


class _JsonHead(msgspec.Struct, rename="camel"):
    """The fields of a JSON object by which its Struct is chosen."""

    api_version: str | None = None
    kind: str | None = None
    items: msgspec.Raw = _NO_ITEMS


class _ValueHead(msgspec.Struct, rename="camel"):
    """As ``_JsonHead``, for plain Python values."""

    api_version: str | None = None
    kind: str | None = None
    items: Any = msgspec.UNSET


class ListMeta(msgspec.Struct, rename="camel"):
    """The metadata of a list: where it was read, which newer servers omit, and whether more follow."""

    self_link: str | None = None
    continue_: str | None = msgspec.field(default=None, name="continue")


class _List(msgspec.Struct):
    metadata: ListMeta | None = None


class Item(msgspec.Struct, frozen=True):
    """One object, not yet decoded. ``place`` is where it stands in its document, ``$`` or ``$.items[3]``.

    ``kept_because`` is why it stays in the cluster once it has left the manifests; empty if it goes.
    """

    value: Any
    api_version: str
    kind: str
    origin: Origin
    source: str
    place: str
    kept_because: str = ""


def decode(value: Any, type_: type[T]) -> T:
    """Raw JSON or plain Python values into ``type_``. Raises InputError."""
    return decode_json(value, type_) if isinstance(value, msgspec.Raw) else convert(value, type_)


def decoded_list(listed: Any, type_: type[T]) -> list[T]:
    """A list of such, raw or as plain Python values; null is an empty one. Raises InputError."""
    if isinstance(listed, msgspec.Raw):
        return decode_list(listed, type_)
    return convert(listed if listed is not None else [], list[type_])  # type: ignore[valid-type]


def inside(error: InputError, source: str, place: str) -> InputError:
    """An error about a part, as one about the whole: ``place`` is where the part stands in ``source``."""
    rest = error.place.removeprefix("$") if error.place.startswith("$") else ""
    return InputError(error.problem, source=error.source or source, place=place + rest)


def items_of(document: Document, head: tuple[str, str] = ("", "")) -> Iterator[Item]:
    """The objects of a document in order: itself, or the elements of a ``List``, ``PodList`` and so on.

    Elements of a typed list take apiVersion and kind from it where they have none. ``head`` are those of a document
    that says nothing of itself, and of the elements of one that is an array. Raises InputError.
    """
    _check_object(document)
    if any(head) and _is_array(document):
        yield from items_at(document, document.value, "$", *head)
    else:
        yield from _items(document, document.value, "$", document.origin, *head)


def _is_array(document: Document) -> bool:
    value = document.value
    return bytes(memoryview(value)[:1]) == b"[" if isinstance(value, msgspec.Raw) else isinstance(value, list)


def _items(document: Document, value: Any, place: str, origin: Origin, api_version: str, kind: str) -> Iterator[Item]:
    source = document.source
    try:
        head = _head(value)
        elements = _elements(head)
    except InputError as error:
        raise inside(error, source, place) from None
    api_version, kind = head.api_version or api_version, head.kind or kind
    sort = sort_of_kind(api_version, kind) if api_version.startswith(_KUSTOMIZE) else None
    if not (api_version and kind):
        sort = sort or sort_of_document(decode(value, dict[str, Any]))
    if sort is not None:
        raise OtherDocumentError(sort, source=source, place=place)
    for field, text, example in (("apiVersion", api_version, "v1"), ("kind", kind, "Pod")):
        if not text:
            problem = f'expected a string such as "{example}", found none'
            raise InputError(problem, source=source, place=f"{place}.{field}")
    if elements is None:
        yield Item(value, api_version, kind, origin, source, place)
        return
    inherited = (api_version, kind.removesuffix("List")) if kind != "List" else ("", "")
    lines = document.item_lines if place == "$" else ()
    yield from _elements_of(document, elements, f"{place}.items", origin, lines, *inherited)


def items_at(document: Document, value: Any, place: str, api_version: str, kind: str) -> Iterator[Item]:
    """The objects of the list that stands at ``place`` in a document, and that may go without apiVersion and kind.

    Raises InputError.
    """
    try:
        elements = decoded_list(value, msgspec.Raw if isinstance(value, msgspec.Raw) else Any)
    except InputError as error:
        raise inside(error, document.source, place) from None
    yield from _elements_of(document, elements, place, document.origin, (), api_version, kind)


def _elements_of(
    document: Document,
    elements: list[Any],
    place: str,
    origin: Origin,
    lines: tuple[int, ...],
    api_version: str,
    kind: str,
) -> Iterator[Item]:
    for i, element in enumerate(elements):
        line = lines[i] if i < len(lines) else origin.line
        of_element = Origin(origin.file, origin.document, line, i)
        yield from _items(document, element, f"{place}[{i}]", of_element, api_version, kind)


def head_of(document: Document, otherwise: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """The apiVersion and kind of a document; those given, or empty ones, if it has none. Raises InputError."""
    if any(otherwise) and _is_array(document):
        return otherwise
    _check_object(document)
    try:
        head = _head(document.value)
    except InputError as error:
        raise inside(error, document.source, "$") from None
    return (head.api_version or "", head.kind or "") if head.api_version or head.kind else otherwise


def _check_object(document: Document) -> None:
    """Raises InputError for a document that is plain text, without quoting it: the file may be anything."""
    value = document.value
    if memoryview(value)[0] == ord('"') if isinstance(value, msgspec.Raw) else isinstance(value, str):
        raise InputError("expected an object, found text", source=document.source, place="$")


def list_meta(document: Document) -> ListMeta:
    """The metadata of a document that is a list. Raises InputError."""
    try:
        return decode(document.value, _List).metadata or ListMeta()
    except InputError as error:
        raise inside(error, document.source, "$") from None


def _head(value: Any) -> _JsonHead | _ValueHead:
    return decode(value, _JsonHead) if isinstance(value, msgspec.Raw) else convert(value, _ValueHead)


def _elements(head: _JsonHead | _ValueHead) -> list[Any] | None:
    """The elements of a list kind, or None if this is not one."""
    kind = head.kind or ""
    if not kind.endswith("List"):
        return None
    try:
        if isinstance(head, _ValueHead):
            if head.items is not msgspec.UNSET:
                return [] if head.items is None else convert(head.items, list[Any])
        elif head.items is not _NO_ITEMS:
            return decode_list(head.items, msgspec.Raw)
    except InputError as error:
        raise inside(error, "", "$.items") from None
    return [] if kind == "List" or kind.removesuffix("List") in KINDS else None


def resource_of(item: Item, struct: type[R], *, generated_names: bool = False) -> R:
    """Decode an object into its Struct. Raises InputError, also if it has no name.

    ``generated_names``: ``metadata.generateName`` will do for a name, as for something yet to be created.
    """
    try:
        obj = decode(item.value, struct)
        check_name(obj, item.kind if generated_names else "")
        check_times(obj)
    except InputError as error:
        sort = sort_of_kind(item.api_version, item.kind)
        if sort is not None:
            raise OtherDocumentError(sort, source=item.source, place=item.place) from None
        raise inside(error, item.source, item.place) from None
    # Frozen for all others, none of which has seen this object yet.
    if not obj.api_version:
        force_setattr(obj, "api_version", item.api_version)
    if not obj.kind:
        force_setattr(obj, "kind", item.kind)
    return obj


def plain_of(item: Item, *, checked: bool = False) -> dict[str, Any]:
    """An object as plain values, with apiVersion and kind. Raises InputError; if ``checked``, for any misfit in it."""
    try:
        plain = {"apiVersion": item.api_version, "kind": item.kind, **decode(item.value, dict[str, Any])}
        if checked:
            check(plain, item.api_version.rpartition("/")[0], item.kind)
    except InputError as error:
        raise inside(error, item.source, item.place) from None
    return plain


def check_name(obj: Resource, new: str = "") -> None:
    """Raises InputError if the object has no name; one yet to be created, of the kind ``new``, may get one."""
    if new and not (obj.metadata.name or obj.metadata.generate_name):
        problem = f'{new} "" is invalid: metadata.name: Required value: name or generateName is required'
        raise InputError(problem, place="$.metadata.name")
    if not new and not obj.metadata.name:
        raise InputError("expected a name, found none", place="$.metadata.name")
    if "{{" in obj.name and is_template(obj.name.encode()):
        raise InputError(TEMPLATE, place="$.metadata.name")


def put_in_namespace(obj: Resource, namespace: str) -> None:
    """Give a namespace to an object that was just decoded and has none."""
    if not obj.metadata.namespace:
        force_setattr(obj.metadata, "namespace", namespace)


def decode_objects(raws: Iterable[msgspec.Raw | dict[str, Any]]) -> Objects:
    """The objects of a list in memory, as the API server has them: nothing is filled in or counted.

    Kinds that scheduling does not read are left out. Raises InputError with a place such as
    ``$[3].spec.priority``.
    """
    objects, nowhere = Objects(), Origin("")
    for i, raw in enumerate(raws):
        for item in _items(Document(nowhere, raw), raw, f"$[{i}]", nowhere, "", ""):
            struct = struct_for(item.api_version, item.kind)
            if struct is not None:
                objects.add(resource_of(item, struct))
    return objects
