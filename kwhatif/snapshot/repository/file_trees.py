"""The files of a repository, on disk or in a revision of git, behind one interface.

A path on disk is as it was given on the command line, or relative to the top of the repository; a path in a revision is
relative to its top.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.directories import list_manifests
from kwhatif.snapshot.read.files import Text, display_path, first_bytes, read_paths, text_of
from kwhatif.snapshot.read.git_revisions import RevisionFile, list_revision, origin_url, read_blobs
from kwhatif.snapshot.read.path_patterns import is_excluded, is_listed
from kwhatif.snapshot.repository.scratch_directories import ScratchDirectory

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
    def folders_in(self, folder: str) -> list[str]:
        """The directories in a directory, by name."""

    @abstractmethod
    def manifests_in(self, folder: str, exclude: Sequence[str] = ()) -> list[str]:
        """The files of a directory that may be manifests, by name."""

    @abstractmethod
    def archives_in(self, folder: str) -> list[str]:
        """The packed charts of a directory, by name."""

    @abstractmethod
    def read(self, path: str) -> Text:
        """The text of a file. Raises InputError."""

    @abstractmethod
    def prepare(self, paths: Sequence[str]) -> None:
        """Load files that will be read, where reading them at once is cheaper. Raises InputError."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL of the repository's remote; empty if it is unknown."""

    def folders_below(self, folder: str) -> Iterator[str]:
        """A directory and those below it, by path."""
        yield folder
        for each in self.folders_in(folder):
            yield from self.folders_below(each)

    def is_below(self, path: str, folder: str) -> bool:
        """Whether a path is that of a directory, or of what is in it."""
        inner, outer = self.place_of(path), self.place_of(folder)
        return inner == outer or outer in ("", os.sep) or inner.startswith(outer + os.sep)


@dataclass(frozen=True)
class DiskTree(FileTree):
    """Files on disk. ``top`` is the top of the repository that they are in, and ``revision`` whose files these are."""

    top: str
    revision: str = ""

    def display(self, path: str) -> str:
        if not self.revision:
            return display_path(path)
        return display_path(f"{self.revision}:{os.path.relpath(path, self.top)}")

    def path_named(self, name: str) -> str:
        return os.path.join(self.top, name.removeprefix(f"{self.revision}:")) if self.revision else name

    def place_of(self, path: str) -> str:
        return os.path.abspath(path)

    def at_top(self, path: str) -> str:
        found = os.path.normpath(os.path.join(self.top, path.lstrip("/")))
        real, inside = os.path.realpath(found), os.path.realpath(self.top)
        return found if os.path.commonpath((real, inside)) == inside else ""

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)

    def folders_in(self, folder: str) -> list[str]:
        try:
            names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
        except OSError:
            return []
        paths = [os.path.join(folder, name) for name in names]
        return [path for path in paths if os.path.isdir(path) and not os.path.islink(path)]

    def manifests_in(self, folder: str, exclude: Sequence[str] = ()) -> list[str]:
        return list_manifests(folder, exclude)

    def prepare(self, paths: Sequence[str]) -> None:
        """There is nothing to prepare: files are read one by one."""

    def archives_in(self, folder: str) -> list[str]:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return []
        return [os.path.join(folder, name) for name in names if name.endswith(_ARCHIVE)]

    def read(self, path: str) -> Text:
        if self.revision:
            return text_of(self.display(path), first_bytes(path, bounds.MANIFEST_BYTES + 1), bounds.MANIFEST_BYTES)
        (text,) = read_paths([path], max_bytes=bounds.MANIFEST_BYTES)
        return text

    @cached_property
    def url(self) -> str:
        return origin_url(self.top)


def disk_trees(paths: Sequence[str]) -> dict[str, DiskTree]:
    """The tree of each path on disk: that of the repository which it is in.

    Those that are in none have one together: that of the directory around here if they are in it, else of the nearest
    directory that all of them are in.
    """
    tops = {path: _top_of(path) for path in paths}
    alone = [os.path.abspath(path) for path, top in tops.items() if not top]
    here = os.path.abspath(os.curdir)
    common = os.path.commonpath([here, *alone])
    if common != here and alone:
        common = os.path.commonpath([path if os.path.isdir(path) else os.path.dirname(path) for path in alone])
    return {path: DiskTree(_shown_top(path, top or common)) for path, top in tops.items()}


def _top_of(path: str) -> str:
    """The directory at the top of the repository that a path is in; empty if it is in none."""
    folder = os.path.abspath(path)
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def _shown_top(path: str, top: str) -> str:
    """The top of the repository in messages: absolute or relative, as the given path is."""
    relative = os.path.relpath(top)
    return top if os.path.isabs(path) else "" if relative == os.curdir else relative


@dataclass
class RevisionTree(FileTree):
    """Manifests of a revision, read from git's objects: links, submodules and all other files are not there."""

    revision: str
    _texts: dict[str, bytes] = field(default_factory=dict)

    def display(self, path: str) -> str:
        return display_path(f"{self.revision}:{path}")

    def path_named(self, name: str) -> str:
        return name.removeprefix(f"{self.revision}:")

    def place_of(self, path: str) -> str:
        place = os.path.normpath(path)
        return "" if place == os.curdir else place

    def at_top(self, path: str) -> str:
        place = self.place_of(path.lstrip("/"))
        return "" if place.startswith(os.pardir) else place or os.curdir

    @cached_property
    def _files(self) -> dict[str, RevisionFile]:
        return {each.path: each for each in list_revision(self.revision)}

    @cached_property
    def _folders(self) -> dict[str, tuple[set[str], set[str]]]:
        """Directories with the paths of the directories and of the files in them."""
        found: dict[str, tuple[set[str], set[str]]] = {"": (set(), set())}
        for path in self._files:
            folder = os.path.dirname(path)
            found.setdefault(folder, (set(), set()))[1].add(path)
            while folder:
                above = os.path.dirname(folder)
                found.setdefault(above, (set(), set()))[0].add(folder)
                folder = above
        return found

    def is_folder(self, path: str) -> bool:
        return self.place_of(path) in self._folders

    def is_file(self, path: str) -> bool:
        return self.place_of(path) in self._files

    def folders_in(self, folder: str) -> list[str]:
        inside, _ = self._folders.get(self.place_of(folder), (set(), set()))
        return sorted(path for path in inside if not os.path.basename(path).startswith("."))

    def manifests_in(self, folder: str, exclude: Sequence[str] = ()) -> list[str]:
        _, files = self._folders.get(self.place_of(folder), (set(), set()))
        return sorted(path for path in files if is_listed(os.path.basename(path)) and not is_excluded(path, exclude))

    def archives_in(self, folder: str) -> list[str]:
        _, files = self._folders.get(self.place_of(folder), (set(), set()))
        return sorted(path for path in files if path.endswith(_ARCHIVE))

    def read(self, path: str) -> Text:
        place = self.place_of(path)
        if place not in self._texts:
            self.prepare([place])
        if place not in self._texts:
            raise InputError("git lacks the content of this file", source=self.display(place))
        return text_of(self.display(place), self._texts[place], bounds.MANIFEST_BYTES)

    def prepare(self, paths: Sequence[str]) -> None:
        wanted = [self._files[path] for path in map(self.place_of, paths) if path not in self._texts]
        self._texts |= read_blobs(self.revision, wanted)

    @cached_property
    def url(self) -> str:
        return origin_url()


def write_revision(revision: str, directory: ScratchDirectory) -> DiskTree:
    """All files of a revision in a directory, for programs that read files. Raises InputError if they are too large."""
    files = list(list_revision(revision))
    for path, data in read_blobs(revision, files).items():
        directory.write(path, data)
    return DiskTree(directory.path, revision)
