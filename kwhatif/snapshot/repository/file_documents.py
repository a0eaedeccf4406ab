"""The documents and objects of a text, and the documents that are skipped because they are no Kubernetes objects.

A file that was named explicitly has to be a manifest. In a directory, documents that are no objects are skipped and
counted by sort, so that a repository can be read as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kwhatif.api.kinds import kind_of
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import (
    Document,
    Item,
    decode,
    is_template,
    items_of,
    plain_of,
    read_documents,
)
from kwhatif.snapshot.read.other_documents import (
    CONFIGURATION,
    OTHER,
    TEMPLATE,
    UNREADABLE,
    DocumentSort,
    OtherDocumentError,
    may_hold_objects,
    sort_of_document,
    sort_of_kind,
)
from kwhatif.snapshot.repository.reading_report import (
    MissingVariables,
    ReadingOptions,
    ReadingReport,
    UnreadableFile,
)
from kwhatif.snapshot.repository.substitutions import Substitution, is_encrypted, without_encryption

_SNAPSHOT = ("kwhatif.dev/v1", "ClusterSnapshot")
"""A snapshot among manifests is an error, which the callers report."""

_OTHER_TEMPLATES = (b"{{", b"{%")
"""What templates of Jinja have, which is no YAML unless it stands in quotes."""

_DEPLOYERS = ("helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io")

FoundItem = tuple[Document, Item, bool]
"""An object with its document, and whether its file was named itself rather than found in a directory."""


@dataclass(frozen=True)
class GivenText:
    """A text, and whether it was named itself rather than found in a directory."""

    text: Text
    is_named: bool


def find_items(
    given: GivenText, variables: Mapping[str, str], options: ReadingOptions, report: ReadingReport
) -> Iterator[tuple[Document, Item]]:
    """The objects of a text, with what Flux substitutes and without what SOPS has encrypted; those that cannot be known
    are left out. Raises InputError for what is no manifest, unless it was found in a directory.
    """
    try:
        documents = _documents_of(given, report)
        report.documents += len(documents) if given.is_named else 0
        # Asked of the text once, and not for each of its objects.
        is_whole = b"${" not in given.text.data and b"sops" not in given.text.data
        may_be_template = not given.is_named and b"$(" in given.text.data
        for document in documents:
            for item in _items_of(document, given, report, may_be_template=may_be_template):
                whole = item if is_whole else _complete_item(item, given.text, variables, options, report)
                if whole is not None:
                    yield document, whole
    except InputError as error:
        if given.is_named or not options.with_unreadable:
            raise
        report.unreadable.append(UnreadableFile(error, given.text.data))


def _documents_of(given: GivenText, report: ReadingReport) -> list[Document]:
    text = given.text
    try:
        return read_documents(text, strictly=True)
    except InputError:
        if given.is_named:
            raise
        if is_template(text.data) or any(mark in text.data for mark in _OTHER_TEMPLATES):
            report.pass_over(TEMPLATE, text.name)
        elif not may_hold_objects(text.data):
            report.pass_over(UNREADABLE, text.name)
        else:
            raise
    return []


def _items_of(document: Document, given: GivenText, report: ReadingReport, *, may_be_template: bool) -> Iterator[Item]:
    """The objects of a document; of one that is something else, none if it was found in a directory."""
    if not given.is_named and (sort := _sort_of_found(document)) is not None:
        report.pass_over(sort, document.source)
        return
    for item in _items_in(document, given, report):
        sort = sort_of_kind(item.api_version, item.kind)
        if sort is None and may_be_template and _has_variable_name(item):
            sort = TEMPLATE
        if sort is None or (given.is_named and (item.api_version, item.kind) == _SNAPSHOT):
            yield item
        elif given.is_named:
            raise OtherDocumentError(sort, source=item.source, place=item.place)
        else:
            report.pass_over(sort, document.source)


def _has_variable_name(item: Item) -> bool:
    """Whether a variable of kustomize's, such as ``$(NAMESPACE)``, stands in an object's name or namespace."""
    metadata = plain_of(item).get("metadata")
    names = (metadata.get(key) for key in ("name", "namespace")) if isinstance(metadata, dict) else ()
    return any(isinstance(name, str) and "$(" in name for name in names)


def _items_in(document: Document, given: GivenText, report: ReadingReport) -> Iterator[Item]:
    try:
        yield from items_of(document)
    except OtherDocumentError as error:
        if given.is_named:
            raise
        report.pass_over(error.sort, document.source)


def _sort_of_found(document: Document) -> DocumentSort | None:
    """What a document of a directory is instead of objects; None if it is some, or meant to be."""
    try:
        value = decode(document.value, dict[str, Any])
    except InputError:
        return OTHER
    found = sort_of_document(value)
    if found is not None:
        return found
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(value.get("metadata"), dict):
        return None
    if not (isinstance(api_version, str) and isinstance(kind, str)):
        return OTHER
    # Programs are configured by files that look like objects but for a name.
    is_known = kind_of(api_version, kind) is not None or kind.endswith("List") or "items" in value
    return None if is_known else sort_of_kind(api_version, kind) or CONFIGURATION


def _complete_item(
    item: Item, text: Text, variables: Mapping[str, str], options: ReadingOptions, report: ReadingReport
) -> Item | None:
    """The object with what Flux substitutes and without what SOPS has encrypted; None if it cannot be known."""
    whole = plain_of(item)
    if item.kind == "Secret" and is_encrypted(whole):
        report.encrypted.append(item.source)
        whole = without_encryption(whole)
    substitution = Substitution({**variables, **options.variables}, report.room, is_text=_is_text(item, whole))
    try:
        done = substitution.apply(whole)
    except InputError as error:
        raise error.with_source(text.name) from None
    named = substitution.named
    if substitution.is_text and named:
        # Nobody here reads more of it than its names.
        of_names = Substitution(substitution.variables, report.room, is_text=True)
        of_names.apply({"metadata": whole.get("metadata")})
        named = of_names.named
    if named or substitution.unknown:
        missing = report.missing.setdefault(text.name, MissingVariables(text.data))
        missing.named |= named
        missing.unknown |= substitution.unknown
        if substitution.unknown:
            metadata = done.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            missing.left_out.append(f"{item.kind} {name or '...'}")
            return None
    return replace(item, value=done)


def _is_text(item: Item, whole: Mapping[str, Any]) -> bool:
    """Whether a variable without a value changes nothing that matters, whatever it stands for in an object."""
    known = kind_of(item.api_version, item.kind)
    if known is not None:
        return known.idle
    return item.api_version.partition("/")[0] in _DEPLOYERS or not _has_key(whole, "containers")


def _has_key(value: Any, key: str) -> bool:
    if isinstance(value, dict):
        return key in value or any(_has_key(each, key) for each in value.values())
    return isinstance(value, list) and any(_has_key(each, key) for each in value)
