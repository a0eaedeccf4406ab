"""Opens what documents of others name: regular files below a directory that the user named, and nothing else.

No link that leads out of it is followed, no pipe and no device is opened. The author of a change must not have the run
read what only its user may read, nor wait, nor read without end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Literal

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import display_path, may_read_disk, os_error

FileSort = Literal["file", "folder", "link out", "other", ""]
"""What there is: a regular file, a directory, a link that leads out, a pipe or device; empty for nothing."""

_BY_HANDLE = {os.open, os.stat} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FOLDER = getattr(os, "O_DIRECTORY", 0)
_PLAIN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEVER_WAITING = getattr(os, "O_NONBLOCK", 0)


class LeadsOutError(InputError):
    """A path that leads out of the directory below which there may be files."""


class FileRoot:
    """A directory below which files are opened, by paths as they are seen from the working directory."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self._folders: dict[str, str] = {}

    def resolve(self, path: str) -> str:
        """The real path of what a path leads to, which need not be there. Raises LeadsOutError."""
        if not may_read_disk():
            raise LeadsOutError("no file is read here: only what was sent", source=display_path(path))
        try:
            folder, name = os.path.split(os.path.abspath(path))
            # Whoever replaces a directory by a link meanwhile makes it an error to open what is in it.
            if folder not in self._folders:
                self._folders[folder] = os.path.realpath(folder)
            target = os.path.join(self._folders[folder], name)
            if os.path.islink(target):
                target = os.path.realpath(target)
            inside = "\0" not in path and (target == self.path or target.startswith(os.path.join(self.path, "")))
        except (OSError, ValueError):
            inside = False
        if not inside:
            raise LeadsOutError(f"leads out of {display_path(self.path)}, and is not read", source=display_path(path))
        return target

    def sort_of(self, path: str) -> FileSort:
        """What a path leads to."""
        try:
            mode = os.stat(self.resolve(path), follow_symlinks=False).st_mode
        except LeadsOutError:
            return "link out" if os.path.lexists(path) else ""
        except (OSError, ValueError):
            return ""
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"

    def is_file(self, path: str) -> bool:
        """Whether it leads to a regular file."""
        return self.sort_of(path) == "file"

    def is_folder(self, path: str) -> bool:
        """Whether it leads to a directory."""
        return self.sort_of(path) == "folder"

    def read(self, path: str, most: int) -> bytes:
        """The content of a regular file, or its first bytes if it has more than ``most``. Raises InputError."""
        try:
            with self._open(self.resolve(path)) as handle, open(handle, "rb", closefd=False) as file:
                # What is read at once takes its room beforehand.
                return file.read(min(most, os.fstat(handle).st_size + 1))
        except OSError as error:
            raise _to_input_error(error, path) from None

    def entries_in(self, path: str) -> list[tuple[str, bool]]:
        """The names in a directory, in their order, each with whether it is that of a directory. Raises InputError."""
        target = self.resolve(path)
        try:
            with (
                self._open(target, _FOLDER) if _BY_HANDLE else nullcontext(target) as folder,
                os.scandir(folder) as entries,
            ):
                return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError as error:
            raise _to_input_error(error, path) from None

    @contextmanager
    def _open(self, target: str, sort: int = 0) -> Iterator[int]:
        """A handle of a path without links: who puts one there meanwhile makes it an error."""
        with _handle_of(target, self.path, _PLAIN | sort | _NEVER_WAITING) as handle:
            mode = os.fstat(handle).st_mode
            if not (stat.S_ISDIR(mode) if sort else stat.S_ISREG(mode)):
                raise OSError(errno.EINVAL, "a pipe or a device" if not sort else "no directory")
            yield handle


@contextmanager
def _handle_of(target: str, root: str, flags: int) -> Iterator[int]:
    """A handle of ``target``, which is below ``root``, by way of the handles of the directories between them."""
    if not _BY_HANDLE:
        if not stat.S_ISREG(os.lstat(target).st_mode):
            raise OSError(errno.EINVAL, "a pipe or a device")
        handle = os.open(target, flags)
        try:
            yield handle
        finally:
            os.close(handle)
        return
    *folders, name = [part for part in os.path.relpath(target, root).split(os.sep) if part != os.curdir] or [os.curdir]
    handle = os.open(root, os.O_RDONLY | _FOLDER)
    try:
        for folder in folders:
            inner = os.open(folder, _PLAIN | _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        # A device may do something by being opened.
        mode = os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(errno.EINVAL, "a pipe or a device")
        last = os.open(name, flags, dir_fd=handle)
        os.close(handle)
        handle = last
        yield handle
    finally:
        os.close(handle)


def walk_folders(path: str) -> Iterator[tuple[str, list[str]]]:
    """A directory and those below it, by path, each with the names in it; hidden ones and links are not gone into.

    Raises InputError for what cannot be read, and for directories that are too deep or too many.
    """
    root, room = FileRoot(path), WalkRoom(path)
    ahead = [(path, 0)]
    while ahead:
        folder, depth = ahead.pop()
        entries = root.entries_in(folder)
        room.take(depth, len(entries))
        yield folder, [name for name, is_folder in entries if not is_folder]
        below = [name for name, is_folder in entries if is_folder and not name.startswith(".")]
        ahead += [(os.path.join(folder, name), depth + 1) for name in reversed(below)]


class WalkRoom(msgspec.Struct):
    """Counts what a walk comes to. ``name`` is where it began, in messages."""

    name: str
    entries: int = 0

    def take(self, depth: int, entries: int) -> None:
        """Count the entries of a directory that lies so deep. Raises InputError for what is too much."""
        self.entries += entries
        if depth > bounds.DEPTH:
            problem = f"its directories are more than {bounds.DEPTH} in each other"
            raise InputError(problem, source=display_path(self.name))
        if self.entries > bounds.TREE_ENTRIES:
            problem = f"more than {bounds.TREE_ENTRIES:,} files and directories"
            raise InputError(problem, source=display_path(self.name))


def _to_input_error(error: OSError, path: str) -> InputError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return InputError("a link, which is not followed", source=display_path(path))
    if error.errno == errno.EINVAL:
        return InputError(f"{error.strerror}, expected a regular file", source=display_path(path))
    return os_error(error, path)
