"""Files that appear complete or not at all, and their packing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_GZIP_LEVEL = 6
_ZSTD_LEVEL = 9
_PRIVATE = 0o600


@contextmanager
def draft_of(target: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """A file beside ``target`` that takes its name when all is written, and is gone if that fails. Raises OSError.

    Nobody but its owner can read a ``private`` one.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(draft, "xb", opener=_opener if private else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags, _PRIVATE)


@contextmanager
def packed(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    """The file, written to through gzip or zstd if its name ends in ``.gz`` or ``.zst``; the same bytes every time."""
    if name.endswith(".gz"):
        import gzip

        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=_GZIP_LEVEL) as packer:
            yield packer  # type: ignore[misc]
    elif name.endswith(".zst"):
        import zstandard

        with zstandard.ZstdCompressor(level=_ZSTD_LEVEL).stream_writer(file, closefd=False) as writer:
            yield writer
    else:
        yield file
