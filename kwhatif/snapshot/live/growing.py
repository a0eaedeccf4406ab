"""A recording as it is written: line after line, so that whatever happens what was written stays readable.

Lines are packed and written about once a second, each time as a whole of its own (a frame of zstd, a member of gzip): a
run that is killed loses what came since, and a file that cannot be written any more ends with the last whole.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Sequence

import zstandard

from kwhatif.snapshot.format.drafts import Growing

Treat = Callable[[Sequence[bytes]], list[bytes]]
"""Makes other lines of some, as many or fewer. Raises OSError if that cannot go on."""

EVERY = 1.0
"""So many seconds lie between two wholes."""

_MOST_WAITING = 8 * 1024**2
_ZSTD_LEVEL, _GZIP_LEVEL = 3, 6


class RecordingFile:
    """Takes lines from any number of threads. ``failed`` is why nothing can be written any more, ``size`` in bytes.

    Nothing is written unless somebody calls ``flush``, or very much waits. What is written is what ``treat`` makes of
    the lines. Raises OSError if the file is there already, or cannot be made.
    """

    def __init__(self, path: str, treat: Treat | None = None) -> None:
        self.failed: OSError | None = None
        self._treat = treat
        self._file = Growing(path)
        self._pack = _packer(path)
        self._lines: list[bytes] = []
        self._waiting = 0
        self._taking, self._writing = threading.Lock(), threading.Lock()
        self._closed = False
        self.written = 0
        """So many lines are in the file."""

    @property
    def size(self) -> int:
        return self._file.size

    def add(self, line: Callable[[], bytes]) -> bool:
        """Add a line; it is made when its turn comes, so that the order is that of the times in it.

        False if it is not, since the file is closed or cannot be written.
        """
        with self._taking:
            if self._closed or self.failed:
                return False
            text = line()
            self._lines.append(text)
            self._waiting += len(text)
            full = self._waiting > _MOST_WAITING
        if full:
            self.flush()
        return True

    def flush(self) -> None:
        """Write what waits. What cannot be written is given up, and ``failed`` says why."""
        with self._writing:
            with self._taking:
                lines, self._lines, self._waiting = self._lines, [], 0
            if not lines or self.failed:
                return
            try:
                self._write(lines if self._treat is None else self._treat(lines))
            except OSError as error:
                self.failed = error

    def _write(self, lines: list[bytes]) -> None:
        """Write lines as a whole; where there is no room for all of them, as many as there is room for."""
        try:
            self._file.append(self._pack(b"".join(lines)))
            self.written += len(lines)
        except OSError:
            half = len(lines) // 2
            if not half:
                raise
            self._write(lines[:half])
            self._write(lines[half:])

    def close(self) -> None:
        """Write what waits; nothing can be added any more."""
        with self._taking:
            self._closed = True
        self.flush()
        self._file.close()

    def remove(self) -> None:
        """Close the file and take it away: there is nothing in it that would be worth keeping."""
        with self._taking:
            self._closed, self._lines = True, []
        with self._writing:
            self._file.remove()


def _packer(path: str) -> Callable[[bytes], bytes]:
    if path.endswith(".zst"):
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress
    if path.endswith(".gz"):
        return lambda data: gzip.compress(data, _GZIP_LEVEL, mtime=0)
    return lambda data: data
