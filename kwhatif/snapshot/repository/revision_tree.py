"""The files of a revision of git, as a tree of files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import display_path
from kwhatif.snapshot.read.git_revisions import list_revision, origin_url, read_blobs
from kwhatif.snapshot.read.git_trees import RevisionFile
from kwhatif.snapshot.read.path_patterns import is_excluded, is_listed
from kwhatif.snapshot.read.rooted_files import LeadsOutError
from kwhatif.snapshot.repository.file_trees import FileTree

_MOST_LINKS = 40
"""Links in each other, as Linux has it."""


@dataclass
class RevisionTree(FileTree):
    """Files of a revision, read from git's objects. Links lead to what they would in a work tree, but to nothing
    outside of the revision; submodules are not there.
    """

    revision: str
    _texts: dict[str, bytes] = field(default_factory=dict)
    _followed: dict[str, str | None] = field(default_factory=dict)

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
        return {file.path: file for file in list_revision(self.revision)}

    @cached_property
    def _links(self) -> dict[str, str]:
        """What the links say, by their paths."""
        links = [file for file in self._files.values() if file.is_link]
        said = read_blobs(self.revision, links)
        # A path that no file can have leads to nothing in here.
        return {path: os.fsdecode(to) if len(to) <= bounds.PATH_LENGTH else os.sep for path, to in said.items()}

    def _follow(self, path: str) -> str | None:
        """The place that a path leads to by way of links; None if that is outside of the revision."""
        if path not in self._followed:
            self._followed[path] = self._place_behind(path)
        return self._followed[path]

    def _place_behind(self, path: str) -> str | None:
        place = self.place_of(path)
        if os.path.isabs(place) or place.split(os.sep)[0] == os.pardir:
            return None
        parts: list[str] = []
        ahead, links = place.split(os.sep)[::-1] if self._links else [], 0
        while ahead:
            part = ahead.pop()
            if part == os.pardir:
                if not parts:
                    return None
                parts.pop()
            elif part not in ("", os.curdir):
                parts.append(part)
            to = self._links.get(os.sep.join(parts))
            if to is not None:
                links += 1
                if links > _MOST_LINKS or to.startswith("/"):
                    return None
                parts.pop()
                ahead += to.split("/")[::-1]
        return os.sep.join(parts) if self._links else place

    def _file_at(self, path: str) -> RevisionFile | None:
        place = self._follow(path)
        return None if place is None else self._files.get(place)

    @cached_property
    def _folders(self) -> dict[str, tuple[list[str], list[str]]]:
        """Directories with the paths of the directories and of the files in them."""
        folders: dict[str, tuple[list[str], list[str]]] = {"": ([], [])}
        for path in self._files:
            inner, folder = path, os.path.dirname(path)
            while folder not in folders:
                folders[folder] = ([], [inner]) if inner == path else ([inner], [])
                inner, folder = folder, os.path.dirname(folder)
            folders[folder][inner == path].append(inner)
        return folders

    def is_folder(self, path: str) -> bool:
        return self._follow(path) in self._folders

    def is_file(self, path: str) -> bool:
        return self._file_at(path) is not None

    def leads_out(self, path: str) -> bool:
        return self._follow(path) is None

    def is_inside(self, path: str, folder: str) -> bool:
        inner, outer = self._follow(path), self._follow(folder)
        return inner is not None and outer is not None and self.is_below(inner, outer)

    def _inside(self, folder: str) -> tuple[list[str], list[str]]:
        place = self._follow(folder)
        return ([], []) if place is None else self._folders.get(place, ([], []))

    def files_in(self, folder: str) -> list[tuple[str, bool]]:
        folders, files = self._inside(folder)
        entries = [*((path, True) for path in folders), *((path, False) for path in files)]
        return sorted((os.path.basename(path), is_folder) for path, is_folder in entries)

    def folders_in(self, folder: str) -> list[str]:
        names = sorted(os.path.basename(path) for path in self._inside(folder)[0])
        return [os.path.join(self.place_of(folder), name) for name in names if not name.startswith(".")]

    def manifests_in(self, folder: str, exclude: Sequence[str] = ()) -> list[str]:
        names = sorted(os.path.basename(path) for path in self._inside(folder)[1])
        paths = [os.path.join(self.place_of(folder), name) for name in names if is_listed(name)]
        return [path for path in paths if not is_excluded(path, exclude) and not self.is_folder(path)]

    def content_of(self, path: str) -> bytes:
        place = self._follow(path)
        if place is None:
            raise LeadsOutError("leads out of the revision, and is not read", source=self.display(path))
        if place not in self._files:
            raise InputError("no such file in the revision", source=self.display(path))
        if place not in self._texts:
            self.prepare([place])
        if place not in self._texts:
            raise InputError("git lacks the content of this file", source=self.display(path))
        return self._texts[place]

    def identity_of(self, path: str) -> str:
        file = self._file_at(path)
        return "" if file is None else file.identity

    def prepare(self, paths: Sequence[str]) -> None:
        files = {file.path: file for path in paths if (file := self._file_at(path)) is not None}
        self._texts |= read_blobs(self.revision, [file for path, file in files.items() if path not in self._texts])

    @cached_property
    def url(self) -> str:
        return origin_url()
