"""Files that are read line by line, as they are unpacked: what they hold need not fit into memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import IO

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import called, os_error
from kwhatif.snapshot.read.unpacking import CutShort, unpacking

_HEAD = 4096
_AT_ONCE = 1024**2


@dataclass
class Lines:
    """The lines of a text, numbered from 1, without those that are empty.

    ``cut`` says, once they have been read, that the packed text has no end.
    """

    name: str
    pieces: Iterable[bytes]
    cut: bool = False

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        number, rest, size = 1, list[bytes](), 0
        for piece in self._whole():
            if b"\n" not in piece:
                rest.append(piece)
                size += len(piece)
                if size > bounds.ANSWER_BYTES:
                    raise InputError(f"longer than the limit of {bounds.ANSWER_BYTES:,} bytes", place=f"line {number}")
                continue
            *lines, last = b"".join([*rest, piece]).split(b"\n")
            for line in lines:
                if line.strip():
                    yield number, line
                number += 1
            rest, size = [last], len(last)
        if (line := b"".join(rest)).strip():
            yield number, line

    def _whole(self) -> Iterator[bytes]:
        try:
            yield from self.pieces
        except CutShort:
            self.cut = True
        except InputError as error:
            raise error.at(self.name) from None


def lines_that_begin(
    path: str, begins: Callable[[bytes], bool], max_bytes: int = bounds.RECORDING_BYTES
) -> Lines | None:
    """The lines of a regular file whose text ``begins`` so; None of any other, and of one that cannot be read.

    To read more than ``max_bytes`` of them raises InputError.
    """
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            return None
        file = open(path, "rb")  # noqa: SIM115
    except (OSError, ValueError):
        return None
    pieces = _pieces(file, path, min(about.st_size + 1, _AT_ONCE), max_bytes)
    head = b""
    try:
        while len(head) < _HEAD and (piece := next(pieces, None)) is not None:
            head += piece
    except InputError:
        if not head:
            file.close()
            return None
    if not begins(head):
        file.close()
        return None
    return Lines(called(path), chain([head], pieces))


def _pieces(file: IO[bytes], path: str, size: int, max_bytes: int) -> Iterator[bytes]:
    with file:
        try:
            yield from unpacking(iter(lambda: file.read(size), b""), max_bytes)
        except OSError as error:
            raise os_error(error, path) from None
