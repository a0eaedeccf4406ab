"""Files that appear complete or not at all, and their packing: nothing else here writes to a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kwhatif.progress import report_start

_GZIP_LEVEL = 6
_ZSTD_LEVEL = 9
_PRIVATE, _PUBLIC = 0o600, 0o666


@contextmanager
def draft_of(path: str, *, private: bool = False) -> Iterator[IO[bytes]]:
    """A file that takes its name when all is written, and leaves nothing behind if that fails. Raises OSError.

    Nobody but its owner can read a ``private`` one; any other is for those who could read the file that it replaces.
    What is no regular file, such as a pipe or ``/dev/null``, cannot be replaced and is written directly.
    """
    report_start(f"Writing {path}")
    target = Path(os.path.realpath(path))
    if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):
        with target.open("wb") as file:
            yield file
        return
    # Several runs may write the same file at the same time, whose name may be as long as names can be.
    draft = target.with_name(f".kwhatif-{os.urandom(8).hex()}.tmp")
    mode = _PRIVATE if private else _mode_of(target)
    with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, _PUBLIC if mode is None else mode)) as file:
        try:
            if mode is not None:
                draft.chmod(mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()
            draft.replace(target)
        except BaseException:
            file.close()
            with suppress(FileNotFoundError):
                draft.unlink()
            raise


@contextmanager
def lock_directory(path: str) -> Iterator[None]:
    """Other runs that want to be alone with a file of this directory wait until this one is done. Raises OSError.

    For a file that is read, added to and replaced: what replaces it cannot carry the lock, but its directory can. Where
    directories cannot be locked, as on Windows, nobody waits.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    directory = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def _mode_of(target: Path) -> int | None:
    """Who may do what with a file, None if there is none."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return None


@contextmanager
def compress_file(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
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


class AppendOnlyFile:
    """A file that is there from the beginning and grows by what is appended, each time as a whole or not at all.

    Only its owner can read it. One that is there already goes on after its first so many bytes, which are to be
    ``kept``; without a word of that it raises OSError.
    """

    def __init__(self, path: str, kept: int | None = None) -> None:
        self.size = kept or 0
        self._path = path
        # What failed is cut off again: the next piece has to go where the file ends then.
        opener = lambda name, flags: os.open(name, flags | os.O_APPEND, _PRIVATE)  # noqa: E731
        if kept is None:
            self._file = open(path, "xb", 0, opener=opener)  # noqa: SIM115
        else:
            self._file = open(path, "ab", 0, opener=opener)  # noqa: SIM115
            self._file.truncate(kept)

    def append(self, data: bytes) -> None:
        """Add this, on the disk before it returns. Raises OSError, and the file ends where it ended before."""
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                self._file.truncate(self.size)
            raise
        self.size += len(data)

    def close(self) -> None:
        """Nothing more is appended."""
        self._file.close()

    def remove(self) -> None:
        """Close it, and take it away."""
        self._file.close()
        with suppress(FileNotFoundError):
            os.unlink(self._path)
