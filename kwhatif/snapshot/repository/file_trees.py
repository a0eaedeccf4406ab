"""The files of a repository, on disk or in a revision of git, behind one interface.

A path on disk is as it was given on the command line, or relative to the top of the repository; a path in a revision is
relative to its top.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.directories import list_manifests
from kwhatif.snapshot.read.files import Text, display_path, read_paths, text_of
from kwhatif.snapshot.read.git_revisions import origin_url
from kwhatif.snapshot.read.git_trees import blob_identity
from kwhatif.snapshot.read.rooted_files import FileRoot, LeadsOutError, WalkRoom

_ARCHIVE = ".tgz"


class FileTree(ABC):
    """Files and directories, of which those with a dot in front are not looked at."""

    @abstractmethod
    def display(self, path: str) -> str:
        """The name of a path in messages."""

    @abstractmethod
    def path_named(self, name: str) -> str:
        """The path for a name in messages, the inverse of ``display``."""

    @abstractmethod
    def place_of(self, path: str) -> str:
        """The normal form of a path, equal for all ways to write it."""

    @abstractmethod
    def at_top(self, path: str) -> str:
        """The path in this tree of one that begins at the top of the repository; empty for one that leads out of it."""

    @abstractmethod
    def is_folder(self, path: str) -> bool: ...

    @abstractmethod
    def is_file(self, path: str) -> bool: ...

    @abstractmethod
    def leads_out(self, path: str) -> bool:
        """Whether a path leads out of the tree, be it by a link."""

    @abstractmethod
    def folders_in(self, folder: str) -> list[str]:
        """The directories in a directory, by name."""

    @abstractmethod
    def manifests_in(self, folder: str, exclude: Sequence[str] = ()) -> list[str]:
        """The files of a directory that may be manifests, by name."""

    @abstractmethod
    def files_in(self, folder: str) -> list[tuple[str, bool]]:
        """Whatever is in a directory, hidden or not, by name, and whether it is a directory."""

    @abstractmethod
    def content_of(self, path: str) -> bytes:
        """A file as it is. Raises InputError."""

    @abstractmethod
    def identity_of(self, path: str) -> str:
        """What git would call the content of a file; empty for one that cannot be read."""

    def files_below(self, folder: str) -> Iterator[str]:
        """All files of a directory and of those below it, but for what is hidden."""
        for subfolder in self.folders_below(folder):
            for name, is_folder in self.files_in(subfolder):
                if not is_folder and not name.startswith("."):
                    yield self.path_in(subfolder, name)

    def read(self, path: str) -> Text:
        """The text of a file. Raises InputError."""
        return text_of(self.display(path), self.content_of(path), bounds.MANIFEST_BYTES)

    def read_named(self, path: str) -> Text:
        """The text of a file that the user named, which may be a link or a pipe. Raises InputError."""
        return self.read(path)

    @abstractmethod
    def prepare(self, paths: Sequence[str]) -> None:
        """Load files that will be read, where reading them at once is cheaper. Raises InputError."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL of the repository's remote; empty if it is unknown."""

    @abstractmethod
    def is_inside(self, path: str, folder: str) -> bool:
        """Whether what a path leads to is in a directory."""

    def path_in(self, folder: str, name: str) -> str:
        """The path of what a document in a directory calls ``name``, wherever that leads."""
        return os.path.normpath(os.path.join(folder, name))

    def folders_below(self, folder: str) -> Iterator[str]:
        """A directory and those below it, by path. Raises InputError if they are too deep or too many."""
        room = WalkRoom(folder)
        ahead = [(folder, 0)]
        while ahead:
            path, depth = ahead.pop()
            below = self.folders_in(path)
            room.take(depth, len(below))
            yield path
            ahead += [(inner, depth + 1) for inner in reversed(below)]

    def archives_in(self, folder: str) -> list[str]:
        """The packed charts of a directory, by name."""
        files = self.files_in(folder) if self.is_folder(folder) else []
        return [os.path.join(folder, name) for name, is_folder in files if not is_folder and name.endswith(_ARCHIVE)]

    def is_below(self, path: str, folder: str) -> bool:
        """Whether a path is that of a directory, or of what is in it."""
        inner, outer = self.place_of(path), self.place_of(folder)
        return inner == outer or outer in ("", os.sep) or inner.startswith(outer + os.sep)


@dataclass(frozen=True)
class DiskTree(FileTree):
    """Files on disk. ``top`` is the top of the repository that they are in; nothing outside of it is there."""

    top: str

    @cached_property
    def _root(self) -> FileRoot:
        return FileRoot(self.top)

    def display(self, path: str) -> str:
        return display_path(path)

    def path_named(self, name: str) -> str:
        return name

    def place_of(self, path: str) -> str:
        return os.path.abspath(path)

    def at_top(self, path: str) -> str:
        path_below = os.path.normpath(os.path.join(self.top, path.lstrip("/")))
        return "" if self.leads_out(path_below) else path_below

    def is_folder(self, path: str) -> bool:
        return self._root.sort_of(path) == "folder"

    def is_file(self, path: str) -> bool:
        return self._root.sort_of(path) == "file"

    def leads_out(self, path: str) -> bool:
        try:
            self._root.resolve(path)
        except LeadsOutError:
            return True
        return False

    def is_inside(self, path: str, folder: str) -> bool:
        return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))

    def files_in(self, folder: str) -> list[tuple[str, bool]]:
        return self._root.entries_in(folder)

    def folders_in(self, folder: str) -> list[str]:
        try:
            entries = self._root.entries_in(folder)
        except InputError:
            return []
        return [os.path.join(folder, name) for name, is_folder in entries if is_folder and not name.startswith(".")]

    def manifests_in(self, folder: str, exclude: Sequence[str] = ()) -> list[str]:
        return list_manifests(folder, exclude)

    def prepare(self, paths: Sequence[str]) -> None:
        """There is nothing to prepare: files are read one by one."""

    def content_of(self, path: str) -> bytes:
        return self._root.read(path, bounds.MANIFEST_BYTES + 1)

    def identity_of(self, path: str) -> str:
        try:
            data = self.content_of(path)
        except InputError:
            return ""
        return blob_identity(data)

    def read_named(self, path: str) -> Text:
        (text,) = read_paths([path], max_bytes=bounds.MANIFEST_BYTES)
        return text

    @cached_property
    def url(self) -> str:
        return origin_url(self.top)


def disk_trees(paths: Sequence[str]) -> dict[str, DiskTree]:
    """The tree of each path on disk: that of the repository which it is in.

    Those that are in none have one together: that of the directory around here if they are in it, else of the nearest
    directory that all of them are in. The root of the file system and a home directory are no such tree.
    """
    # A directory that the user named counts for what it is, wherever a link leads.
    real = {path: _real_path(path) for path in paths}
    known: dict[str, str] = {}
    tops = {path: _top_of(real[path], known) for path in paths}
    alone = [real[path] for path, top in tops.items() if not top]
    here = os.path.realpath(os.curdir)
    common = os.path.commonpath([here, *alone])
    if alone and (common != here or here in (os.path.dirname(here), os.path.expanduser("~"))):
        common = os.path.commonpath([path if os.path.isdir(path) else os.path.dirname(path) for path in alone])
    given: dict[str, str] = {}
    for path, top in tops.items():
        whole = top or common
        if not os.path.abspath(path).startswith(os.path.join(given.get(whole, "?"), "")):
            given[whole] = _as_given(path, whole)
        tops[path] = given[whole]
    return {path: DiskTree(_shown_top(path, top)) for path, top in tops.items()}


def _real_path(path: str) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:
        raise InputError("no file can have this name", source=display_path(path)) from None


def _as_given(path: str, top: str) -> str:
    """The top of the repository as the path to what is in it has it, if there a link leads to it."""
    folder = os.path.abspath(path)
    while os.path.realpath(folder) != top:
        above = os.path.dirname(folder)
        if above == folder:
            return top
        folder = above
    return folder


def _top_of(path: str, tops: dict[str, str]) -> str:
    """The directory at the top of the repository that a path is in; empty if it is in none.

    ``tops`` has the tops of directories, and gets those that were looked at.
    """
    folder, seen = os.path.abspath(path), []
    while folder not in tops:
        seen.append(folder)
        above = os.path.dirname(folder)
        if os.path.exists(os.path.join(folder, ".git")):
            tops[folder] = folder
        elif above == folder:
            tops[folder] = ""
        else:
            folder = above
    tops |= dict.fromkeys(seen, tops[folder])
    return tops[folder]


def _shown_top(path: str, top: str) -> str:
    """The top of the repository in messages: absolute or relative, as the given path is."""
    relative = os.path.relpath(top)
    return top if os.path.isabs(path) else "" if relative == os.curdir else relative


def with_parents(place: str) -> Iterator[str]:
    """A place and the directories that it is in, up to the top of all."""
    yield place
    while (above := os.path.dirname(place)) != place:
        place = above
        yield place
