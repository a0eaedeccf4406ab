"""Reads manifests of files, directories and git revisions, and reports what was skipped.

A file that was named itself has to be one of manifests. In a directory, documents that are no objects of a cluster are
skipped and counted, so that a repository can be read as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.progress import report_start
from kwhatif.snapshot.read.directories import list_manifests
from kwhatif.snapshot.read.files import STDIN, Text, display_path, once, read_paths, text_of
from kwhatif.snapshot.read.git_revisions import read_tree, tree_named
from kwhatif.snapshot.read.kustomize_builds import (
    KustomizeBuilds,
    build_kustomization,
    plan_builds,
    program_of_kustomize,
)
from kwhatif.snapshot.read.objects import (
    Document,
    Item,
    Origin,
    decode,
    is_template,
    items_of,
    plain_of,
    read_documents,
)
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
from kwhatif.snapshot.read.path_patterns import is_excluded
from kwhatif.snapshot.read.substitutions import Substitution, is_encrypted, without_encryption

_SNAPSHOT = ("kwhatif.dev/v1", "ClusterSnapshot")
"""One among manifests is refused by the reader of manifests."""


@dataclass(frozen=True)
class ReadingOptions:
    """How manifests are read: what of directories is left out (``exclude``, patterns), and whether that may be all.

    Directories of git's revisions are read with those below them, unless not ``recursive``; others are named each.
    ``variables`` are those that Flux substitutes. ``render``: kustomizations are built ``never``, ``always``, or where
    that needs nothing that is not there (``auto``).
    """

    exclude: Sequence[str] = ()
    may_be_empty: bool = False
    recursive: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)
    render: str = "never"


@dataclass
class MissingVariables:
    """Variables of a file without a value: ``named`` stand for themselves, for ``unknown`` objects are ``left_out``."""

    named: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)


@dataclass
class ReadingReport:
    """What is worth knowing of manifests that were read.

    ``passed_over`` has the places of documents that are no objects, by sort, ``encrypted`` those of Secrets that SOPS
    has encrypted, ``missing`` the variables of Flux's that have no value, by file. ``built`` kustomizations were, and
    ``not_built`` says why others were not.
    """

    passed_over: dict[DocumentSort, list[str]] = field(default_factory=dict)
    built: int = 0
    not_built: dict[str, str] = field(default_factory=dict)
    encrypted: list[str] = field(default_factory=list)
    missing: dict[str, MissingVariables] = field(default_factory=dict)

    def pass_over(self, sort: DocumentSort, place: str) -> None:
        """Count a document that is no object."""
        self.passed_over.setdefault(sort, []).append(place)

    def notes(self) -> Iterator[str]:
        """The notes, one line each."""
        if self.passed_over:
            sorts = sorted(self.passed_over.items(), key=lambda entry: (-len(entry[1]), entry[0].name))
            counts = ", ".join(sort.count(len(places)) for sort, places in sorts)
            yield f"passed over in directories, as no objects of a cluster: {counts}"
        if self.built:
            yield f"{self.built} {'kustomization was' if self.built == 1 else 'kustomizations were'} built by kustomize"
        for folder, problem in self.not_built.items():
            yield f"{display_path(folder)} was not built by kustomize: {problem}"
        if self.encrypted:
            number = len(self.encrypted)
            what = "Secret is encrypted" if number == 1 else "Secrets are encrypted"
            yield f"{number} {what} by SOPS: what {'it holds' if number == 1 else 'they hold'} is not known"

    def gaps(self) -> Iterator[tuple[str, str]]:
        """What is unknown about the manifests, by file, and its consequence."""
        for file, missing in self.missing.items():
            names = sorted({*missing.named, *missing.unknown})
            options = " ".join(f"--var {name}=..." for name in names)
            effects = []
            if missing.left_out:
                verb = "is" if len(missing.left_out) == 1 else "are"
                effects.append(f"{', '.join(missing.left_out)} {verb} left out")
            if missing.named:
                effects.append("in names and labels their own names stand for variables")
            yield f"{file}: Flux substitutes {', '.join(names)}; give {options}", "; ".join(effects)


@dataclass(frozen=True)
class GivenText:
    """A text, and whether it was named itself rather than found in a directory."""

    text: Text
    is_named: bool


def read_items(
    sources: Sequence[str | Mapping[str, Any]], options: ReadingOptions, report: ReadingReport
) -> Iterator[tuple[Document, Item, bool]]:
    """The objects of manifests in their order, each with its document and whether its file was named itself.

    Raises InputError for what is no manifest, unless it was found in a directory; and if there is nothing at all.
    """
    nothing = True
    paths = once([each for each in sources if isinstance(each, str)])
    builds = _builds_of(paths, options, report)
    for number, each in enumerate(sources, 1):
        if isinstance(each, str):
            report_start(f"Loading {display_path(each)}")
            for entry in _texts_of(each, options, report, builds):
                for document in _documents_of(entry, report):
                    nothing = nothing and not entry.is_named
                    for item in _items_of(document, entry, report):
                        nothing = False
                        complete = _complete_item(item, entry.text, options, report)
                        if complete is not None:
                            yield document, complete, entry.is_named
        else:
            nothing = False
            document = Document(Origin(f"object {number}"), dict(each))
            for item in items_of(document):
                yield document, item, True
    if nothing and sources and not options.may_be_empty:
        names = ", ".join(map(display_path, paths))
        if not report.passed_over:
            raise InputError("holds no objects: it is empty", source=names)
        counts = ", ".join(sort.count(len(places)) for sort, places in report.passed_over.items())
        raise InputError(f"no objects of a cluster in here, only {counts}", source=names)


def _builds_of(paths: Sequence[str], options: ReadingOptions, report: ReadingReport) -> KustomizeBuilds:
    """What kustomize is to build of the directories; nothing unless that was asked for."""
    if options.render == "never":
        return KustomizeBuilds()
    folders = [path for path in paths if os.path.isdir(path) and not is_excluded(path, options.exclude)]
    builds = plan_builds(folders)
    if builds.roots and not program_of_kustomize():
        if options.render == "always":
            raise InputError(
                "neither kustomize nor kubectl is installed, one of which builds this", source=builds.roots[0]
            )
        builds = KustomizeBuilds(not_built=dict.fromkeys(builds.roots, "neither kustomize nor kubectl is installed"))
    if options.render == "always":
        for folder, problem in builds.not_built.items():
            raise InputError(f"cannot be built without more: {problem}", source=display_path(folder))
    report.built += len(builds.roots)
    report.not_built |= builds.not_built
    return builds


def _texts_of(
    path: str, options: ReadingOptions, report: ReadingReport, builds: KustomizeBuilds
) -> Iterator[GivenText]:
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
    if os.path.normpath(path) in builds.roots:
        yield GivenText(build_kustomization(path), is_named=False)
    for file in list_manifests(path, options.exclude):
        if os.path.normpath(file) in builds.covered:
            continue
        try:
            texts = list(read_paths([file], max_bytes=bounds.MANIFEST_BYTES))
        except OtherDocumentError as error:
            report.pass_over(error.sort, display_path(file))
            continue
        for text in texts:
            yield GivenText(text, is_named=False)


def _documents_of(given_text: GivenText, report: ReadingReport) -> list[Document]:
    text = given_text.text
    try:
        return read_documents(text, strictly=True)
    except InputError:
        if given_text.is_named:
            raise
        if is_template(text.data):
            report.pass_over(TEMPLATE, text.name)
        elif not may_hold_objects(text.data):
            report.pass_over(UNREADABLE, text.name)
        else:
            raise
    return []


def _items_of(document: Document, text: GivenText, report: ReadingReport) -> Iterator[Item]:
    """The objects of a document; of one that is something else, none if it was found in a directory."""
    if not text.is_named and (sort := _sort_of_found(document)) is not None:
        report.pass_over(sort, document.source)
        return
    for item in items_of(document):
        sort = sort_of_kind(item.api_version, item.kind)
        if sort is None or (text.is_named and (item.api_version, item.kind) == _SNAPSHOT):
            yield item
        elif text.is_named:
            raise OtherDocumentError(sort, source=item.source, place=item.place)
        else:
            report.pass_over(sort, document.source)


def _complete_item(item: Item, text: Text, options: ReadingOptions, report: ReadingReport) -> Item | None:
    """The object with Flux's substitutions and without SOPS's encrypted data; None if it cannot be known."""
    if b"${" not in text.data and b"sops" not in text.data:
        return item
    whole = plain_of(item)
    if item.kind == "Secret" and is_encrypted(whole):
        report.encrypted.append(item.source)
        whole = without_encryption(whole)
    substitution = Substitution(options.variables)
    whole = substitution.apply(whole)
    if substitution.named or substitution.unknown:
        missing = report.missing.setdefault(text.name, MissingVariables())
        missing.named |= substitution.named
        missing.unknown |= substitution.unknown
        if substitution.unknown:
            metadata = whole.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            missing.left_out.append(f"{item.kind} {name or '...'}")
            return None
    return replace(item, value=whole)


def _sort_of_found(document: Document) -> DocumentSort | None:
    """The sort of a document of a directory that is no object; None if it is one, or meant to be."""
    try:
        value = decode(document.value, dict[str, Any])
    except InputError:
        return OTHER
    found = sort_of_document(value)
    if found is not None:
        return found
    complete = isinstance(value.get("apiVersion"), str) and isinstance(value.get("kind"), str)
    return None if complete or isinstance(value.get("metadata"), dict) else OTHER
