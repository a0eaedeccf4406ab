"""Temporary directories for other programs to read from and run in, deleted afterwards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


class ScratchDirectory:
    """An empty directory that only this user can access."""

    def __init__(self, path: str) -> None:
        self.path = path

    def write(self, name: str, data: bytes) -> str:
        """Write a file, in directories that are made for it, and return its path."""
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path


@contextmanager
def scratch_directory() -> Iterator[ScratchDirectory]:
    """A new directory, which is deleted in the end."""
    with tempfile.TemporaryDirectory(prefix="kwhatif-") as path:
        yield ScratchDirectory(path)
