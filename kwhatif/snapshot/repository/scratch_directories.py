"""Temporary directories for other programs to read from and run in, deleted afterwards.

What is written there may be called as others call it: a name is checked, and a file written by the handles of the
directories that it is in, so that none lands elsewhere.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kwhatif.errors import InputError
from kwhatif.snapshot.read.git_trees import problem_of_name

_BY_HANDLE = {os.open, os.mkdir} <= os.supports_dir_fd
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class ScratchDirectory:
    """An empty directory that only this user can access."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)

    def write(self, name: str, data: bytes) -> str:
        """Write a new file, in directories that are made for it, and return its path.

        Raises InputError for a name, its parts between slashes, that no file may have, or that two have.
        """
        *folders, last = name.split("/")
        for part in (*folders, last):
            problem = problem_of_name(os.fsencode(part))
            if problem:
                raise InputError(f"a file is called {name!a}, {problem}")
        try:
            self._write(folders, last, data)
        except OSError as error:
            raise InputError(f"{name!a} cannot be written for a program: {error.strerror}") from None
        return os.path.join(self.path, *folders, last)

    def _write(self, folders: list[str], name: str, data: bytes) -> None:
        if not _BY_HANDLE:
            folder = os.path.join(self.path, *folders)
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name), "xb") as file:
                file.write(data)
            return
        handle = os.open(self.path, _FOLDER)
        try:
            for subfolder in folders:
                with suppress(FileExistsError):
                    os.mkdir(subfolder, 0o700, dir_fd=handle)
                inner = os.open(subfolder, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = inner
            with open(os.open(name, _NEW, 0o600, dir_fd=handle), "wb") as file:
                file.write(data)
        finally:
            os.close(handle)


@contextmanager
def scratch_directory() -> Iterator[ScratchDirectory]:
    """A new directory, which is deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="kwhatif-") as path:
        yield ScratchDirectory(path)
