"""Documents of manifests, and what was passed over on the way to them.

A file that was named itself has to be one of manifests. Of a directory, what is no object of a cluster is passed
over and counted by sort, so that a repository can be read as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.progress import report_start
from kwhatif.snapshot.read.directories import list_manifests
from kwhatif.snapshot.read.files import STDIN, Text, display_path, once, read_paths, text_of
from kwhatif.snapshot.read.git_revisions import read_tree, tree_named
from kwhatif.snapshot.read.objects import Document, Item, Origin, decode, is_template, items_of, read_documents
from kwhatif.snapshot.read.other_documents import (
    OTHER,
    TEMPLATE,
    UNREADABLE,
    DocumentSort,
    OtherDocumentError,
    may_hold_objects,
    sort_of_document,
    sort_of_kind,
)

_SNAPSHOT = ("kwhatif.dev/v1", "ClusterSnapshot")
"""Whoever names one among manifests is told that by those who read them."""


@dataclass(frozen=True)
class ReadingOptions:
    """How manifests are read: what of directories is left out (``exclude``, patterns), and whether that may be all.

    Directories of git's revisions are read with those below them, unless not ``recursive``; others are named each.
    """

    exclude: Sequence[str] = ()
    may_be_empty: bool = False
    recursive: bool = True


@dataclass
class ReadingReport:
    """What is worth knowing of manifests that were read.

    ``passed_over`` has the places of documents that are no objects, by sort.
    """

    passed_over: dict[DocumentSort, list[str]] = field(default_factory=dict)

    def pass_over(self, sort: DocumentSort, place: str) -> None:
        """Count a document that is no object."""
        self.passed_over.setdefault(sort, []).append(place)

    def notes(self) -> Iterator[str]:
        """Each thing worth knowing, in one line."""
        if self.passed_over:
            sorts = sorted(self.passed_over.items(), key=lambda entry: (-len(entry[1]), entry[0].name))
            counts = ", ".join(sort.count(len(places)) for sort, places in sorts)
            yield f"passed over in directories, as no objects of a cluster: {counts}"


@dataclass(frozen=True)
class GivenText:
    """A text, and whether it was named itself rather than found in a directory."""

    text: Text
    is_named: bool


def read_items(
    given: Sequence[str | Mapping[str, Any]], options: ReadingOptions, report: ReadingReport
) -> Iterator[tuple[Document, Item, bool]]:
    """The objects of manifests in their order, each with its document and whether its file was named itself.

    Raises InputError for what is no manifest, unless it was found in a directory; and if there is nothing at all.
    """
    nothing = True
    paths = once([each for each in given if isinstance(each, str)])
    for number, each in enumerate(given, 1):
        if isinstance(each, str):
            report_start(f"Loading {display_path(each)}")
            for entry in _texts_of(each, options, report):
                for document in _documents_of(entry, report):
                    nothing = nothing and not entry.is_named
                    for item in _items_of(document, entry, report):
                        nothing = False
                        yield document, item, entry.is_named
        else:
            nothing = False
            document = Document(Origin(f"object {number}"), dict(each))
            for item in items_of(document):
                yield document, item, True
    if nothing and given and not options.may_be_empty:
        names = ", ".join(map(display_path, paths))
        if not report.passed_over:
            raise InputError("holds no objects: it is empty", source=names)
        counts = ", ".join(sort.count(len(places)) for sort, places in report.passed_over.items())
        raise InputError(f"no objects of a cluster in here, only {counts}", source=names)


def _texts_of(path: str, options: ReadingOptions, report: ReadingReport) -> Iterator[GivenText]:
    tree = tree_named(path)
    if tree is not None:
        for file, data in read_tree(tree, options.exclude, recursive=options.recursive):
            name = display_path(f"{tree.revision}:{file}")
            try:
                text = text_of(name, data, bounds.MANIFEST_BYTES)
            except OtherDocumentError as error:
                if file == tree.path:
                    raise
                report.pass_over(error.sort, name)
            else:
                yield GivenText(text, is_named=file == tree.path)
        return
    if path == STDIN or not os.path.isdir(path):
        for text in read_paths([path], max_bytes=bounds.MANIFEST_BYTES):
            yield GivenText(text, is_named=True)
        return
    for file in list_manifests(path, options.exclude):
        try:
            texts = list(read_paths([file], max_bytes=bounds.MANIFEST_BYTES))
        except OtherDocumentError as error:
            report.pass_over(error.sort, display_path(file))
            continue
        for text in texts:
            yield GivenText(text, is_named=False)


def _documents_of(given: GivenText, report: ReadingReport) -> list[Document]:
    text = given.text
    try:
        return read_documents(text, strictly=True)
    except InputError:
        if given.is_named:
            raise
        if is_template(text.data):
            report.pass_over(TEMPLATE, text.name)
        elif not may_hold_objects(text.data):
            report.pass_over(UNREADABLE, text.name)
        else:
            raise
    return []


def _items_of(document: Document, given: GivenText, report: ReadingReport) -> Iterator[Item]:
    """The objects of a document; of one that is something else, none if it was found in a directory."""
    if not given.is_named and (sort := _sort_of_found(document)) is not None:
        report.pass_over(sort, document.source)
        return
    for item in items_of(document):
        sort = sort_of_kind(item.api_version, item.kind)
        if sort is None or (given.is_named and (item.api_version, item.kind) == _SNAPSHOT):
            yield item
        elif given.is_named:
            raise OtherDocumentError(sort, source=item.source, place=item.place)
        else:
            report.pass_over(sort, document.source)


def _sort_of_found(document: Document) -> DocumentSort | None:
    """What a document of a directory is instead of objects; None if it is some, or meant to be."""
    try:
        value = decode(document.value, dict[str, Any])
    except InputError:
        return OTHER
    found = sort_of_document(value)
    if found is not None:
        return found
    complete = isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str)
    return None if complete or isinstance(value.get("metadata"), dict) else OTHER
