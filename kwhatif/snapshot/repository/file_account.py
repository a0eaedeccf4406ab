"""The account of files: which of them became objects or were rendered, which were passed over, which were not read.

It is the one place that says of an answer what it was not made of: a file that changed and was not read is a gap.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import partial

from kwhatif.snapshot.read.files import is_manifest
from kwhatif.snapshot.read.path_patterns import is_excluded
from kwhatif.snapshot.read.rooted_files import WalkRoom
from kwhatif.snapshot.repository.file_trees import FileTree


class FileUse(IntEnum):
    """What became of a file; of two uses the greater one counts.

    ``unread`` may hold objects of which nobody knows. What is ``failed`` was to be rendered or read and was not: it
    counts although a part of it was read elsewhere. What is ``opaque`` was read, but nobody knows the value: it is a
    gap where it changes.
    """

    passed_over = 0
    unread = 1
    read = 2
    rendered = 3
    opaque = 4
    failed = 5

    @property
    def is_gap(self) -> bool:
        return self in (FileUse.unread, FileUse.failed)


@dataclass(frozen=True)
class FileEntry:
    """What became of one file, why, and what says which content it has: equal texts are equal files."""

    use: FileUse
    reason: str = ""
    content: Callable[[], str] = str


def name_of(file: str) -> str:
    """A file as the account has it: in one spelling, with what it names behind an arrow, if anything."""
    path, arrow, named = file.partition(ARROW)
    revision, colon, inner = path.rpartition(":")
    return f"{revision}{colon}{os.path.normpath(inner) if inner else ''}{arrow}{named}"


ARROW = " -> "
"""Between a file and a name in it of something that is not here."""


@dataclass
class FileAccount:
    """The files of one reading by their names in messages, each by one: ``./a.yaml`` is ``a.yaml``."""

    entries: dict[str, FileEntry] = field(default_factory=dict)

    def note(self, file: str, use: FileUse, reason: str, content: Callable[[], str]) -> None:
        """Say what became of a file; what counts more was said before or after."""
        name = name_of(file)
        there = self.entries.get(name)
        if there is None or use > there.use:
            self.entries[name] = FileEntry(use, reason, content)

    def explain(self, file: str, reason: str) -> None:
        """Say why something that was read in a file has no effect."""
        there = self.entries.get(name_of(file))
        if there is not None and not there.reason:
            self.entries[name_of(file)] = replace(there, reason=reason)

    def fail(self, file: str, reason: str) -> None:
        """Say that a part of a file could not be read."""
        there = self.entries.get(name_of(file))
        self.note(file, FileUse.failed, reason, str if there is None else there.content)

    def __contains__(self, file: str) -> bool:
        return name_of(file) in self.entries

    def gaps(self) -> Iterator[tuple[str, FileEntry]]:
        """The files that were not read, by name."""
        yield from ((file, entry) for file, entry in sorted(self.entries.items()) if entry.use.is_gap)

    def counts(self) -> Counter[FileUse]:
        return Counter(entry.use for entry in self.entries.values())

    def changes_from(
        self, before: FileAccount, names: Mapping[str, str], names_before: Mapping[str, str]
    ) -> Iterator[tuple[str, FileEntry]]:
        """The files that are not as they were ``before``, with what became of them; of two readings the worse.

        ``names`` and ``names_before`` have the names by which files of the two are the same.
        """
        now = {names.get(file, file): (file, entry) for file, entry in self.entries.items()}
        then = {names_before.get(file, file): (file, entry) for file, entry in before.entries.items()}
        kept = _named_parts(now) & _named_parts(then)
        for name in sorted(now.keys() | then.keys()):
            file, entry = now.get(name) or then[name]
            if _named_part(name, entry) in kept:
                # It may stand in another file now.
                continue
            if name in now and name in then:
                other = then[name][1]
                if entry.content() == other.content():
                    continue
                entry = other if other.use.is_gap and not entry.use.is_gap else entry
                entry = replace(entry, use=FileUse.failed) if entry.use is FileUse.opaque else entry
            if entry.use is not FileUse.opaque:
                yield file, entry


def _named_part(name: str, entry: FileEntry) -> tuple[str, str] | None:
    """What a file names that is not here or not known, and its state; None for the entry of a file."""
    part = name.partition(ARROW)[2]
    return (part, entry.content()) if part else None


def _named_parts(entries: Mapping[str, tuple[str, FileEntry]]) -> set[tuple[str, str]]:
    return {part for name, (_, entry) in entries.items() if (part := _named_part(name, entry))}


class TreeFiles:
    """Notes what became of files of one tree."""

    def __init__(self, tree: FileTree, account: FileAccount) -> None:
        self._tree, self._account = tree, account

    def note(self, paths: Iterable[str], use: FileUse, reason: str = "") -> None:
        """Say what became of files."""
        for path in paths:
            self._account.note(self._tree.display(path), use, reason, partial(self._tree.identity_of, path))

    def note_absent(
        self, path: str, names: Mapping[str, str], state: Callable[[], str], use: FileUse = FileUse.failed
    ) -> None:
        """Say what a file names that is not here, and why; if a name or its ``state`` changes, so does what is not
        judged.
        """
        for name, why in names.items():
            self._account.note(f"{self._tree.display(path)}{ARROW}{name}", use, why, state)

    def note_rest(self, folder: str, excluded: Sequence[str]) -> None:
        """Say of the other files of a directory why nobody looked at them."""
        for name, is_folder in self._tree.files_in(folder):
            path = self._tree.path_in(folder, name)
            if is_folder or self._tree.display(path) in self._account:
                continue
            if is_excluded(path, excluded):
                reason = "left out by an exclude pattern"
            elif name.startswith("."):
                reason = "hidden"
            elif not is_manifest(name):
                reason = "no manifest by its name"
            else:
                reason = "nothing leads to it"
            self.note([path], FileUse.passed_over, reason)

    def note_hidden(self, folder: str) -> None:
        """Say of manifests in hidden directories that nobody looked at them; git's own is left alone."""
        hidden = [name for name, is_folder in self._tree.files_in(folder) if is_folder and name.startswith(".")]
        ahead = [self._tree.path_in(folder, name) for name in hidden if name != ".git"]
        room = WalkRoom(folder)
        while ahead:
            within = ahead.pop()
            entries = self._tree.files_in(within)
            room.take(0, len(entries))
            ahead += (self._tree.path_in(within, name) for name, is_folder in entries if is_folder)
            files = (
                self._tree.path_in(within, name) for name, is_folder in entries if not is_folder and is_manifest(name)
            )
            self.note(files, FileUse.passed_over, "in a hidden directory")
