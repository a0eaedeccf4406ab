"""The documents and objects of a text, and the documents that are skipped because they are no Kubernetes objects.

A file that was named explicitly has to be a manifest. In a directory, documents that are no objects are skipped and
counted by sort, so that a repository can be read as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from kwhatif.api.kinds import kind_of
from kwhatif.errors import InputError, LimitError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.git_trees import blob_identity
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
    FLEET,
    KUSTOMIZATION,
    LOCKED,
    OTHER,
    TEMPLATE,
    UNREADABLE,
    VALUES,
    YTT,
    DocumentSort,
    OtherDocumentError,
    is_ytt,
    may_hold_objects,
    sort_of_document,
    sort_of_kind,
)
from kwhatif.snapshot.repository.file_account import ARROW, FileUse
from kwhatif.snapshot.repository.reading_report import (
    MissingVariables,
    ReadingOptions,
    ReadingReport,
)
from kwhatif.snapshot.repository.substitutions import Substitution, Variables, is_encrypted, without_encryption

_SNAPSHOT = ("kwhatif.dev/v1", "ClusterSnapshot")
"""A snapshot among manifests is an error, which the callers report."""

_OTHER_TEMPLATES = (b"{{", b"{%")
"""What templates of Jinja have, which is no YAML unless it stands in quotes."""

_DEPLOYERS = ("helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io")

_LOCK = b"\0GITCRYPT\0"

Note = Callable[[FileUse, str], None]
"""Says what became of the file that is read, and why."""

FoundItem = tuple[Document, Item, bool]
"""An object with its document, and whether its file was named itself rather than found in a directory."""


@dataclass(frozen=True)
class GivenText:
    """A text, and whether it was named itself rather than found in a directory.

    One that ``is_made`` is no file, but what a program printed. It may be read ``as_kustomize`` reads objects.
    """

    text: Text
    is_named: bool
    is_made: bool = False
    as_kustomize: bool = False


def find_items(
    text: GivenText, variables: Variables | None, options: ReadingOptions, report: ReadingReport
) -> Iterator[tuple[Document, Item]]:
    """The objects of a text, with what Flux substitutes and without what SOPS has encrypted; those that cannot be known
    are left out. Without ``variables`` they are as they stand there.

    Raises InputError for what is no manifest; of what was found in a directory that is left out, and a part of the
    report.
    """
    note = _notes_of(text, report)
    note(FileUse.passed_over, "it holds no objects")
    documents = _documents_of(text, note, report, strictly=options.is_sent_as_it_is)
    report.documents += len(documents) if text.is_named else 0
    # Asked of the text once, and not for each of its objects.
    if b"${" not in text.text.data and b"sops" not in text.text.data:
        variables = None
    may_be_template = not text.is_named and b"$(" in text.text.data
    for document in documents:
        try:
            for item in _items_of(document, text, note, report, may_be_template=may_be_template):
                note(FileUse.read, "")
                whole = item if variables is None else _complete_item(item, variables, options, report, text.text)
                if whole is not None:
                    yield document, whole
        except LimitError:
            raise
        except InputError as error:
            if text.is_named:
                raise
            report.leave_out(error, text.text.name)


def complete_items(
    items: Iterable[Item], deployment: Variables, options: ReadingOptions, report: ReadingReport
) -> Iterator[tuple[Document, Item]]:
    """Objects that a kustomization was built of, with what Flux substitutes; those of no cluster are left out."""
    for item in items:
        if (sort := sort_of_kind(item.api_version, item.kind)) is not None:
            report.pass_over(sort, item.source)
            continue
        whole = _complete_item(item, deployment, options, report) if _has_marks(item.value) else item
        if whole is not None:
            yield Document(item.origin, whole.value), whole


def _has_marks(value: Any) -> bool:
    """Whether something may be substituted in an object, or is encrypted."""
    if isinstance(value, str):
        return "${" in value
    if isinstance(value, dict):
        return "sops" in value or any(map(_has_marks, value.values()))
    return isinstance(value, list) and any(map(_has_marks, value))


def _notes_of(source_text: GivenText, report: ReadingReport) -> Note:
    """What notes the uses of a file; nothing is noted of what is none."""
    text = source_text.text

    def note(use: FileUse, reason: str) -> None:
        if not source_text.is_made:
            report.files.note(text.name, use, reason, lambda: blob_identity(text.data))

    return note


_WORDS = {VALUES: "values", KUSTOMIZATION: "kustomiz", FLEET: "fleet"}


def _use_of(sort: DocumentSort, name: str) -> FileUse:
    """Some sorts are taken for what they look like by their names alone: other programs have keys like theirs."""
    if _WORDS.get(sort, "") not in os.path.basename(name).casefold():
        return FileUse.passed_over
    return FileUse.unread if sort.makes_objects else FileUse.passed_over


def _documents_of(source_text: GivenText, note: Note, report: ReadingReport, *, strictly: bool) -> list[Document]:
    text = source_text.text
    duplicates: list[str] = []
    broken: list[InputError] = []
    documents: list[Document] = []
    try:
        if is_ytt(text.data) and not source_text.is_made:
            raise OtherDocumentError(YTT, source=text.name)
        documents = read_documents(
            text,
            strictly=True,
            duplicates=None if strictly else duplicates,
            broken=None if source_text.is_named else broken,
            as_kustomize=source_text.as_kustomize,
        )
    except InputError as error:
        if source_text.is_named:
            raise
        broken = [error]
    sort = _sort_of_broken(broken[0], text.data) if broken else None
    if sort is not None:
        report.pass_over(sort, text.name)
        note(_use_of(sort, text.name), str(sort))
        return []
    for problem in broken:
        report.leave_out(problem, text.name)
    report.duplicates += [f"{text.name}: {duplicate}" for duplicate in duplicates]
    return documents


def _sort_of_broken(error: InputError, data: bytes) -> DocumentSort | None:
    """What a text that cannot be read is instead of objects; None if it is meant to be some."""
    if isinstance(error, OtherDocumentError):
        return error.sort
    if is_template(data) or any(mark in data for mark in _OTHER_TEMPLATES):
        return TEMPLATE
    if data.startswith(_LOCK):
        return LOCKED
    return None if may_hold_objects(data) else UNREADABLE


def _items_of(
    document: Document, text: GivenText, note: Note, report: ReadingReport, *, may_be_template: bool
) -> Iterator[Item]:
    """The objects of a document; of one that is something else, none if it was found in a directory."""

    def pass_over(sort: DocumentSort) -> None:
        report.pass_over(sort, document.source)
        note(_use_of(sort, text.text.name), str(sort))

    if not text.is_named and (sort := _sort_of_found(document)) is not None:
        pass_over(sort)
        return
    for item in _items_in(document, text, pass_over):
        sort = sort_of_kind(item.api_version, item.kind)
        if sort is None and may_be_template and _has_variable_name(item):
            sort = TEMPLATE
        if sort is None or (text.is_named and (item.api_version, item.kind) == _SNAPSHOT):
            yield item
        elif text.is_named:
            raise OtherDocumentError(sort, source=item.source, place=item.place)
        else:
            pass_over(sort)


def _has_variable_name(item: Item) -> bool:
    """Whether a variable of kustomize's, such as ``$(NAMESPACE)``, stands in an object's name or namespace."""
    metadata = plain_of(item).get("metadata")
    names = (metadata.get(key) for key in ("name", "namespace")) if isinstance(metadata, dict) else ()
    return any(isinstance(name, str) and "$(" in name for name in names)


def _items_in(document: Document, text: GivenText, pass_over: Callable[[DocumentSort], None]) -> Iterator[Item]:
    try:
        yield from items_of(document)
    except OtherDocumentError as error:
        if text.is_named:
            raise
        pass_over(error.sort)


def _sort_of_found(document: Document) -> DocumentSort | None:
    """What a document of a directory is instead of objects; None if it is some, or meant to be."""
    try:
        value = decode(document.value, dict[str, Any])
    except InputError:
        return OTHER
    sort = sort_of_document(value)
    if sort is not None:
        return sort
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(value.get("metadata"), dict):
        return None
    if not (isinstance(api_version, str) and isinstance(kind, str)):
        return OTHER
    # Programs are configured by files that look like objects but for a name.
    is_known = kind_of(api_version, kind) is not None or kind.endswith("List") or "items" in value
    return None if is_known else sort_of_kind(api_version, kind) or CONFIGURATION


def _complete_item(
    item: Item, deployment: Variables, options: ReadingOptions, report: ReadingReport, text: Text | None = None
) -> Item | None:
    """The object with what Flux substitutes and without what SOPS has encrypted; None if it cannot be known.

    ``text`` is that of its file, where it stands as it is.
    """
    name = item.source if text is None else text.name
    whole = plain_of(item)
    if item.kind == "Secret" and is_encrypted(whole):
        report.encrypted.append(item.source)
        report.files.explain(item.origin.file, "SOPS has encrypted what it holds")
        whole = without_encryption(whole)
    variables = replace(deployment, values={**deployment.values, **options.variables})
    substitution = Substitution(variables, report.room, is_text=_is_text(item, whole))
    try:
        done = substitution.apply(whole)
    except InputError as error:
        raise error.with_source(name) from None
    named = substitution.named
    if substitution.is_text and named:
        # Nobody here reads more of it than its names.
        of_names = Substitution(variables, report.room, is_text=True)
        of_names.apply({"metadata": whole.get("metadata")})
        named = of_names.named
    for variable in sorted((named | substitution.unknown) & variables.encrypted.keys()):
        report.note_encrypted(variables.encrypted[variable], f"{item.kind} {_name_of(done)}")
    if named or substitution.unknown:
        if substitution.unknown and not deployment.are_of_flux and not _is_checked(item):
            # What nothing says that Flux deploys may mean what it says: a shell's variable, a program's.
            return structs.replace(item, value=whole)
        content = repr(whole).encode() if text is None else text.data
        missing = report.missing.setdefault(name, MissingVariables(content))
        missing.named |= named
        missing.unknown |= substitution.unknown
        if substitution.unknown:
            left_out = f"{item.kind} {_name_of(done)}"
            missing.left_out.append(left_out)
            why = f"Flux substitutes {', '.join(sorted(substitution.unknown))}, which nothing here says"
            report.files.note(f"{item.origin.file}{ARROW}{left_out}", FileUse.failed, why, lambda: repr(done))
            return None
    return structs.replace(item, value=done)


def _is_checked(item: Item) -> bool:
    """Whether the API server itself, or a controller that is known here, reads what an object says."""
    kind = kind_of(item.api_version, item.kind)
    is_custom = kind is not None and "." in kind.group and not kind.group.endswith(".k8s.io")
    return kind is not None and not (kind.idle and is_custom)


def _name_of(whole: Mapping[str, Any]) -> str:
    metadata = whole.get("metadata")
    return (metadata.get("name") if isinstance(metadata, dict) else None) or "..."


def _is_text(item: Item, whole: Mapping[str, Any]) -> bool:
    """Whether a variable without a value changes nothing that matters, whatever it stands for in an object.

    What the API server checks, such as an address, cannot be another word.
    """
    if kind_of(item.api_version, item.kind) is not None:
        return False
    return item.api_version.partition("/")[0] in _DEPLOYERS or not _has_key(whole, "containers")


def _has_key(value: Any, key: str) -> bool:
    if isinstance(value, dict):
        return key in value or any(_has_key(part, key) for part in value.values())
    return isinstance(value, list) and any(_has_key(element, key) for element in value)
