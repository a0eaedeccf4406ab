"""Atomic writing of files, private directories, compression and locks: nothing else here writes to a file.

Other users who may write to the directory must not be able to redirect the output: a file is created anew beside its
name, without following links, and then renamed. A link of that name is replaced; its target stays as it is.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO

from kwhatif.errors import InputError, UsageError
from kwhatif.progress import report_start

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_GZIP_LEVEL = 6
_ZSTD_LEVEL = 9
_PRIVATE, _PUBLIC = 0o600, 0o666
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NAMELESS = getattr(os, "O_TMPFILE", 0) if os.path.isdir("/proc/self/fd") else 0
_HAS_DIRECTORY_FD = {os.open, os.rename, os.unlink, os.stat, os.link} <= os.supports_dir_fd
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_AT_ONCE = 1024**2

_replaced: ContextVar[list[str] | None] = ContextVar("_replaced", default=None)


@contextmanager
def note_replaced_links() -> Iterator[list[str]]:
    """The notes about links that had the name of an output; the list fills while files are written."""
    notes: list[str] = []
    token = _replaced.set(notes)
    try:
        yield notes
    finally:
        _replaced.reset(token)


class _Directory:
    """A directory, held open, so that it cannot be exchanged while a file is written."""

    def __init__(self, path: str, *, private: bool = False) -> None:
        """Raises OSError, with ``private`` also for a link and for a directory that others may write to."""
        self.path = path or os.curdir
        self.fd: int | None = None
        if private:
            check_private_directory(self.path)
        if _HAS_DIRECTORY_FD:
            self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | (_NOFOLLOW if private else 0))
            if private:
                try:
                    _check_owner(os.fstat(self.fd), self.path)
                except OSError:
                    self.close()
                    raise

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)

    def _name(self, name: str) -> str:
        return name if self.fd is not None else os.path.join(self.path, name)

    def lstat(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self._name(name), dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def readlink(self, name: str) -> str:
        return os.readlink(self._name(name), dir_fd=self.fd)

    def create(self, mode: int) -> tuple[int, str]:
        """A new file, open for writing, and its name, which is empty while it has none."""
        if _NAMELESS and self.fd is not None:
            # What a run that is killed has written of it goes away with the run.
            with suppress(OSError):
                return os.open(os.curdir, os.O_WRONLY | _NAMELESS, mode, dir_fd=self.fd), ""
        name = _draft_name()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _BINARY
        return os.open(self._name(name), flags, mode, dir_fd=self.fd), name

    def name_file(self, descriptor: int) -> str:
        """Give a file without a name an unused one."""
        name = _draft_name()
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=self.fd, follow_symlinks=True)
        return name

    def rename(self, old: str, new: str) -> None:
        os.replace(self._name(old), self._name(new), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def unlink(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._name(name), dir_fd=self.fd)


def _draft_name() -> str:
    # Several runs may write the same file at the same time, whose name may be as long as names can be.
    return f".kwhatif-{os.urandom(8).hex()}.tmp"


def check_private_directory(path: str) -> None:
    """Raises OSError for a link, and for a directory that belongs to another user or that others may write to."""
    about = os.lstat(path)
    if not stat.S_ISDIR(about.st_mode):
        what = "a link" if stat.S_ISLNK(about.st_mode) else "no directory"
        raise NotADirectoryError(errno.ENOTDIR, f"{path} is {what}")
    _check_owner(about, path)


def _check_owner(about: os.stat_result, path: str) -> None:
    if not hasattr(os, "geteuid"):
        return
    if about.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"{path} belongs to another user")
    if about.st_mode & _OTHERS_MAY_WRITE:
        raise PermissionError(errno.EPERM, f"others may write to {path}")


def make_directory(path: str) -> None:
    """Make a directory for files of ours, below one that was named. Raises OSError for a link that has the name."""
    os.makedirs(path, exist_ok=True)
    if os.path.islink(path):
        raise NotADirectoryError(errno.ENOTDIR, f"{path} is a link")


@contextmanager
def draft_of(path: str, *, private: bool = False, private_directory: bool = False) -> Iterator[IO[bytes]]:
    """A file that takes its name when all is written, and leaves nothing behind if that fails. Raises OSError.

    Only its owner can read a ``private`` one; any other keeps the mode of the file that it replaces. With
    ``private_directory`` only the owner may write to its directory, either. What is no regular file, such as a pipe or
    ``/dev/null``, cannot be replaced and is written directly.
    """
    report_start(f"Writing {path}")
    head, name = os.path.split(path)
    if name in ("", os.curdir, os.pardir) or os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not private_directory and _is_special(path):
        with os.fdopen(_open_special(path), "wb") as special:
            yield special
        return
    directory = _Directory(head, private=private_directory)
    try:
        before = directory.lstat(name)
        mode = _PRIVATE if private else _kept_mode(before)
        descriptor, draft = directory.create(_PUBLIC if mode is None else mode)
        try:
            # Closed here and nowhere else: what closing raises, as on a disk that is full, must not keep the draft.
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                if mode is not None and hasattr(os, "fchmod"):
                    os.fchmod(descriptor, mode)
                yield file
                file.flush()
                os.fsync(descriptor)
                draft = draft or directory.name_file(descriptor)
            closing, descriptor = descriptor, -1
            os.close(closing)
            directory.rename(draft, name)
            draft = ""
        finally:
            if descriptor >= 0:
                with suppress(OSError):
                    os.close(descriptor)
            if draft:
                directory.unlink(draft)
        if before is not None and stat.S_ISLNK(before.st_mode):
            _note_replaced_link(path)
    finally:
        directory.close()


@contextmanager
def new_file(path: str, *, private: bool = False) -> Iterator[IO[bytes]]:
    """``draft_of`` for a file that an option names. Raises UsageError if it cannot be written."""
    if path == "-":
        raise UsageError("'-' is no file to write to: standard output is for the answer")
    try:
        with draft_of(path, private=private) as file:
            yield file
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


@contextmanager
def draft_of_directory(path: str) -> Iterator[str]:
    """A directory to fill, which takes its name when that is done, and leaves nothing behind if it fails.

    Raises OSError: FileExistsError where anything has the name already, be it a link that leads nowhere.
    """
    path = path.rstrip(f"/{os.sep}") or path
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    draft = os.path.join(os.path.dirname(path), _draft_name())
    os.mkdir(draft)
    try:
        yield draft
        os.rename(draft, path)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _note_replaced_link(path: str) -> None:
    notes = _replaced.get()
    if notes is not None:
        notes.append(f"note: {path} was a link: it is a file of its own now, and what the link led to is as it was")


def _is_special(path: str) -> bool:
    """Whether a name leads to a pipe, a device or a socket."""
    try:
        about = os.stat(path)
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode)


def _open_special(path: str) -> int:
    """Open a pipe or a device, possibly through links of our own or of the system's, such as /dev/stdout.

    Raises OSError for a link of another user.
    """
    about = os.lstat(path)
    if stat.S_ISLNK(about.st_mode) and hasattr(os, "geteuid") and about.st_uid not in (0, os.geteuid()):
        raise PermissionError(errno.EPERM, "a link that belongs to another user, which is not followed")
    descriptor = os.open(path, os.O_WRONLY | _BINARY)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EBUSY, "it was no regular file a moment ago")
    return descriptor


def _kept_mode(before: os.stat_result | None) -> int | None:
    """The mode of the existing file, unless it is a link or belongs to another user."""
    if before is None or not stat.S_ISREG(before.st_mode):
        return None
    if hasattr(os, "geteuid") and before.st_uid != os.geteuid():
        return None
    return stat.S_IMODE(before.st_mode)


@contextmanager
def lock_directory(path: str) -> Iterator[None]:
    """An exclusive lock on a directory, for which other runs wait. Raises OSError.

    For a file that is read, added to and replaced: what replaces it cannot carry the lock, but its directory can. Where
    directories cannot be locked, as on Windows, there is no lock.
    """
    if fcntl is None:
        yield
        return
    directory = os.open(os.path.dirname(path) or os.curdir, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


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
    """A file that exists from the beginning and grows by what is appended, each time as a whole or not at all.

    Only its owner can read it, and only one run at a time can append to it (but for Windows, where nothing is locked).
    It has to be a new one, or with ``resume`` a regular file of the same user. Raises OSError: FileExistsError where
    there is one already, BlockingIOError where another run appends to it.
    """

    def __init__(self, path: str, *, resume: bool = False) -> None:
        self._path = path
        kind = os.O_RDWR | _NONBLOCK if resume else os.O_WRONLY | os.O_CREAT | os.O_EXCL
        # What failed is cut off again: the next piece has to go where the file ends then.
        self._fd = os.open(path, kind | os.O_APPEND | _NOFOLLOW | _BINARY, _PRIVATE)
        try:
            about = os.fstat(self._fd)
            if not stat.S_ISREG(about.st_mode):
                raise OSError(errno.EINVAL, "a pipe or a device, expected a regular file")
            if resume and hasattr(os, "geteuid") and about.st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "it belongs to another user")
            self.is_locked = self._lock(about)
        except OSError:
            os.close(self._fd)
            raise
        self.size = about.st_size

    def _lock(self, about: os.stat_result) -> bool:
        if fcntl is None:
            return False
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(errno.EAGAIN, "another run is writing to it") from None
        now = os.lstat(self._path)
        if (now.st_dev, now.st_ino) != (about.st_dev, about.st_ino):
            raise BlockingIOError(errno.EAGAIN, "another run has just replaced it")
        return True

    def read_lines(self, max_bytes: int) -> Iterator[bytes]:
        """The lines that are there, each with its end but for a last one that has none.

        Raises OSError, and InputError for more than ``max_bytes`` of them.
        """
        if self.size > max_bytes:
            raise InputError(f"larger than the limit of {max_bytes:,} bytes", source=self._path)
        rest, left = b"", self.size
        os.lseek(self._fd, 0, os.SEEK_SET)
        while left and (piece := os.read(self._fd, min(left, _AT_ONCE))):
            left -= len(piece)
            *lines, rest = (rest + piece).split(b"\n")
            yield from (line + b"\n" for line in lines)
        if rest:
            yield rest

    def cut(self, size: int) -> None:
        """Truncate to a size in bytes. Raises OSError."""
        os.ftruncate(self._fd, size)
        self.size = size

    def append(self, data: bytes) -> None:
        """Append, on the disk before it returns. Raises OSError, after which the file is as before."""
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            os.fsync(self._fd)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._fd, self.size)
            raise
        self.size += len(data)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            closing, self._fd = self._fd, -1
            with suppress(OSError):
                os.close(closing)

    def remove(self) -> None:
        """Close and delete the file."""
        if not self.is_locked:
            self.close()
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        self.close()
