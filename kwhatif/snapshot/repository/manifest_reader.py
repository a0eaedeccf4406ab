"""Reads the objects of manifests from any source: files, directories, revisions of git, standard input, plain
values.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.progress import report_start
from kwhatif.snapshot.read.directories import describe_nothing
from kwhatif.snapshot.read.files import STDIN, display_path, is_given, once, read_paths
from kwhatif.snapshot.read.git_revisions import tree_named
from kwhatif.snapshot.read.objects import Document, Origin, items_of
from kwhatif.snapshot.read.path_patterns import may_be_program
from kwhatif.snapshot.repository.file_documents import FoundItem, GivenText, find_items
from kwhatif.snapshot.repository.file_trees import DiskTree, FileTree, disk_trees
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from kwhatif.snapshot.repository.revision_tree import RevisionTree
from kwhatif.snapshot.repository.substitutions import NO_VARIABLES

if TYPE_CHECKING:
    from kwhatif.snapshot.repository.tree_reader import TreeReader


class ManifestReader:
    """Reads the given paths."""

    def __init__(self, options: ReadingOptions, report: ReadingReport) -> None:
        self._options, self._report = options, report
        self._readers: dict[str, TreeReader] = {}
        self._places: dict[str, tuple[TreeReader, list[str]]] = {}

    def prepare(self, paths: Sequence[str]) -> None:
        """Find out what each path names, and read it. Raises InputError."""
        roots = self._options.roots
        on_disk = disk_trees([path for path in (*paths, *roots) if not _is_text(path) and tree_named(path) is None])
        planned: dict[str, tuple[list[str], list[str]]] = {}
        for path in paths:
            if _is_text(path):
                continue
            key, tree, place = self._tree_of(path, on_disk)
            self._reader_of(key, tree)
            folders, files = planned.setdefault(key, ([], []))
            named = [place]
            if tree.is_folder(place):
                if tree_named(path) is not None and self._options.recursive:
                    named = [folder for folder in tree.folders_below(place) if _has_manifests(tree, folder)]
                folders += named
            elif tree.is_file(place) or tree_named(path) is None:
                files += named
            else:
                named = []
            self._places[path] = (self._readers[key], named)
        for key, (folders, files) in planned.items():
            self._readers[key].prepare(folders, files)
        for path in roots:
            if _is_text(path):
                continue
            key, tree, place = self._tree_of(path, on_disk)
            if tree.is_folder(place):
                self._reader_of(key, tree).account_rest(place)

    def _reader_of(self, key: str, tree: FileTree) -> TreeReader:
        if key not in self._readers:
            # Few read directories, and all pay for what is imported.
            from kwhatif.snapshot.repository.tree_reader import TreeReader

            self._readers[key] = TreeReader(tree, self._options, self._report)
        return self._readers[key]

    def read(self, path: str) -> Iterator[FoundItem]:
        """The objects of a path. Raises InputError."""
        if _is_text(path):
            for text in read_paths([path], max_bytes=bounds.MANIFEST_BYTES):
                for document, item in find_items(
                    GivenText(text, is_named=True), NO_VARIABLES, self._options, self._report
                ):
                    yield document, item, True
            return
        reader, named = self._places[path]
        for file in named:
            yield from reader.read(file)

    def read_deployed(self) -> Iterator[FoundItem]:
        """The objects of directories that objects of others deploy."""
        for reader in self._readers.values():
            yield from reader.read_deployed()

    def _tree_of(self, path: str, on_disk: Mapping[str, DiskTree]) -> tuple[str, FileTree, str]:
        """Which tree a path is in, by a key, and the path in it."""
        tree = tree_named(path)
        if tree is None:
            return f"disk {on_disk[path].top}", on_disk[path], path
        return f"revision {tree.revision}", RevisionTree(tree.revision), tree.path or os.curdir


def _has_manifests(tree: FileTree, folder: str) -> bool:
    """Whether a directory has files that may be manifests, or that programs make some of."""
    return bool(tree.manifests_in(folder)) or any(may_be_program(name) for name, _ in tree.files_in(folder))


def _is_text(path: str) -> bool:
    """Whether what a path names is no part of a tree of files."""
    return path == STDIN or is_given(path)


def read_items(
    files: Sequence[str | Mapping[str, Any]], options: ReadingOptions, report: ReadingReport
) -> Iterator[FoundItem]:
    """The objects of manifests in their order, each with its document and whether its file was named itself.

    Raises InputError for what is no manifest, unless it was found in a directory; and if there is nothing at all.
    """
    nothing = True
    paths = once([path for path in files if isinstance(path, str)])
    reader = ManifestReader(options, report)
    reader.prepare(paths)
    for number, file in enumerate(files, 1):
        if isinstance(file, str):
            report_start(f"Loading {display_path(file)}")
            for read in reader.read(file):
                nothing = False
                yield read
        else:
            nothing = False
            document = Document(Origin(f"object {number}"), dict(file))
            for item in items_of(document):
                yield document, item, True
    for read in reader.read_deployed():
        nothing = False
        yield read
    nothing = nothing and not report.documents and not report.missing
    if nothing and files and not options.may_be_empty:
        if report.unreadable:
            raise report.unreadable[0]
        names = ", ".join(map(display_path, paths))
        if not report.passed_over:
            raise InputError(describe_nothing(paths), source=names)
        counts = ", ".join(sort.count(len(places)) for sort, places in report.passed_over.items())
        reasons = "".join(f"; {name} was not rendered: {why}" for name, why in list(report.not_rendered.items())[:1])
        raise InputError(f"no objects of a cluster in here, only {counts}{reasons}", source=names)
