"""Reads the files, directories and standard input that a command names: decompressed UTF-8, whole or line by line; with
the container logs in the output of ``kubectl cluster-info dump`` removed.

Upstream: k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import IO

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.compression import TruncatedError, decompress_all, decompress_chunks
from kwhatif.snapshot.read.other_documents import OtherDocumentError, sort_of_text

_START = re.compile(rb"^==== START (logs for container [^\n]{1,1000}) ====\n", re.MULTILINE)
_MARK = b"==== START logs for container "


def without_logs(data: bytes) -> tuple[bytes, int]:
    """The text with empty lines in place of the logs, and how many there were. Raises InputError if one has no end.

    No JSON and no YAML document has a line that begins like the head of a log. Logs need not end with a line break,
    nor be UTF-8.
    """
    if not data.startswith(_MARK) and data.find(b"\n" + _MARK) < 0:
        return data, 0
    kept: list[bytes] = []
    position = number = 0
    while match := _START.search(data, position):
        end = b"==== END " + match[1] + b" ====\n"
        stop = data.find(end, match.end())
        if stop < 0:
            line = data.count(b"\n", 0, match.start()) + 1
            problem = f"the {match[1].decode('utf-8', 'replace')} do not end: the file is truncated"
            raise InputError(problem, place=f"line {line}")
        stop += len(end)
        kept += data[position : match.start()], b"\n" * data.count(b"\n", match.start(), stop)
        position, number = stop, number + 1
    return b"".join((*kept, data[position:])), number


STDIN = "-"

APPLE_DOUBLE = "._"
_SUFFIXES = (".json", ".yaml", ".yml")
_PACKED_SUFFIXES = (".gz", ".zst")
_BBOLT_MAGIC = b"\xed\xda\x0c\xed"


class Text(msgspec.Struct, frozen=True):
    """The content of one file: UTF-8 without a byte order mark. ``name`` is what messages call it.

    ``logs`` is the number of container logs that stood in it and were left out.
    """

    name: str
    data: bytes
    logs: int = 0


def read_paths(paths: Sequence[str], *, max_bytes: int = bounds.SNAPSHOT_BYTES) -> Iterator[Text]:
    """The texts of files, directories and ``-`` (standard input), in the order given.

    Of a directory, as kubectl does it: its ``.json``, ``.yaml`` and ``.yml`` files by name, without its
    subdirectories; here also with ``.gz`` or ``.zst`` added; a link that leads out of it is refused. A file named by
    itself may be called anything. Whether it is packed, its first bytes show. Raises InputError.
    """
    for path in once(paths):
        for file in _files(path):
            yield _text(file, max_bytes)


_texts: ContextVar[Mapping[str, bytes] | None] = ContextVar("_texts", default=None)


@contextmanager
def read_only_texts(texts: Mapping[str, bytes]) -> Iterator[None]:
    """A context in which these texts are the only files there are, by their names: nothing is read from the disk.

    For questions of others, which may name no file.
    """
    token = _texts.set(texts)
    try:
        yield
    finally:
        _texts.reset(token)


def is_given(path: str) -> bool:
    """Whether a text stands for the file of this name."""
    texts = _texts.get()
    return texts is not None and path in texts


def exists(path: str) -> bool:
    """Whether there is such a file or directory."""
    return os.path.exists(path) if _texts.get() is None else is_given(path)


def is_directory(path: str) -> bool:
    """Whether there is such a directory."""
    return _texts.get() is None and os.path.isdir(path)


def may_read_disk() -> bool:
    """Whether there are other files than given texts."""
    return _texts.get() is None


def once(paths: Sequence[str]) -> Sequence[str]:
    """The paths. Raises InputError if standard input is among them more than once."""
    if list(paths).count(STDIN) > 1:
        raise InputError("can be read only once", source=display_path(STDIN))
    return paths


def _files(path: str) -> list[str]:
    if path == STDIN or not is_directory(path):
        return [path]
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise os_error(error, path) from None
    files = [os.path.join(path, name) for name in names if is_manifest(name)]
    files = [found_in(path, file) for file in files if not os.path.isdir(file)]
    if not files:
        raise InputError("this directory has no .json, .yaml or .yml files", source=display_path(path))
    return files


def found_in(directory: str, file: str) -> str:
    """A file found in a directory. Raises InputError for a link that leads out of it, a pipe and a device.

    Other users who may write to the directory must not make the reader read other files, or wait.
    """
    if os.path.islink(file):
        inside, target = os.path.realpath(directory), os.path.realpath(file)
        if os.path.commonpath((inside, target)) != inside:
            problem = f"a link that leads out of {display_path(directory)}, which is not followed"
            raise InputError(problem, source=display_path(file))
    if os.path.exists(file) and not os.path.isfile(file):
        raise InputError("a pipe or a device, which is read only if it is named by itself", source=display_path(file))
    return file


def first_bytes(file: str, most: int) -> bytes:
    """The first bytes of a regular file; empty if it cannot be read."""
    try:
        if os.path.isfile(file):
            with open(file, "rb") as opened:
                return opened.read(most)
    except OSError:
        pass
    return b""


@contextmanager
def regular_file(path: str) -> Iterator[tuple[IO[bytes], int]]:
    """A regular file of this very name, open, and its size. Raises InputError for a link, a pipe and a device.

    For files that other users who may write to the directory could have replaced.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise InputError("a pipe or a device, expected a regular file", source=display_path(path))
            yield file, about.st_size
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError("a link, which is not followed", source=display_path(path)) from None
        raise os_error(error, path) from None


def is_manifest(name: str) -> bool:
    """Whether a file of this name is read when its directory is; macOS's resource files are not."""
    if name.startswith(APPLE_DOUBLE):
        return False
    stem, suffix = os.path.splitext(name)
    return (os.path.splitext(stem)[1] if suffix in _PACKED_SUFFIXES else suffix) in _SUFFIXES


def _text(path: str, max_bytes: int) -> Text:
    try:
        data = _read(path, max_bytes)
    except OSError as error:
        raise os_error(error, path) from None
    except ValueError:
        raise InputError("no file can have this name", source=display_path(path)) from None
    return text_of(display_path(path), data, max_bytes)


def text_of(name: str, data: bytes, max_bytes: int) -> Text:
    """The text of a file's bytes, decompressed. Raises InputError, with the name, if it is no text."""
    try:
        data = decompress_all([data], max_bytes)
        _check_sort(data)
        data, logs = without_logs(data)
        _check_utf8(data)
    except OtherDocumentError as error:
        raise OtherDocumentError(error.sort, source=name) from None
    except InputError as error:
        raise error.with_source(name) from None
    return Text(name, data.removeprefix(b"\xef\xbb\xbf"), logs)


def _read(path: str, max_bytes: int) -> bytes:
    """The content, up to one byte more than the limit, by which callers see that it is too large."""
    if (texts := _texts.get()) is not None:
        if path not in texts:
            raise InputError("no file is read here: only what was sent", source=display_path(path))
        return texts[path]
    if path == STDIN:
        if sys.stdin is None:  # type: ignore[redundant-expr, unused-ignore]
            raise InputError("it is closed: there is nothing to read from", source="standard input")
        return _read_to_end(sys.stdin.buffer, 0, max_bytes)
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        return _read_to_end(file, status.st_size if stat.S_ISREG(status.st_mode) else 0, max_bytes)


def _read_to_end(file: IO[bytes], size: int, max_bytes: int) -> bytes:
    """The expected size at once, then in pieces, so that endless files and wrong sizes take no memory."""
    data = file.read(min(size, max_bytes) + 1)
    if len(data) <= size or len(data) > max_bytes:
        return data
    # A pipe or device tells its size only by ending, and so do files that the system makes up or that grow.
    pieces, total = [data], len(data)
    while total <= max_bytes and (piece := file.read(min(_AT_ONCE, max_bytes + 1 - total))):
        pieces.append(piece)
        total += len(piece)
    return b"".join(pieces)


def _check_sort(data: bytes) -> None:
    """Refuse what would be read, had it been unpacked or exported first."""
    sort = sort_of_text(data)
    if sort is not None:
        raise OtherDocumentError(sort)
    if data[257:262] == b"ustar" and b"\0" in data[:512]:
        raise InputError("a tar archive: unpack it and name the directory")
    if data[16:20] == _BBOLT_MAGIC:
        problem = "a database of etcd, which cannot be read here; kwokctl makes a readable one with --format k8s"
        raise InputError(problem)


def _check_utf8(data: bytes) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("the text is UTF-16, expected UTF-8")
    if data.isascii():
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"the text is not UTF-8: the byte 0x{data[error.start]:02x} does not belong here"
        raise InputError(problem, place=f"line {line}") from None


def os_error(error: OSError, path: str) -> InputError:
    """The system's error about a path, in our words."""
    match error:
        case FileNotFoundError():
            problem = "no such file or directory"
        case PermissionError():
            problem = "no permission to read it"
        case _:
            problem = f"cannot be read: {error.strerror or error}"
    return InputError(problem, source=display_path(path))


def display_path(path: str) -> str:
    """A path in messages."""
    if path == STDIN:
        return "standard input"
    return path if path.isprintable() else ascii(path)


_HEAD = 4096
_AT_ONCE = 1024**2


class Lines(msgspec.Struct):
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
        except TruncatedError:
            self.cut = True
        except InputError as error:
            raise error.with_source(self.name) from None


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
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    pieces = _pieces(file, path, min(about.st_size + 1, _AT_ONCE), max_bytes)
    head = b""
    try:
        while len(head) < _HEAD and (piece := next(pieces, None)) is not None:
            head += piece
    except InputError:
        if not head:
            return None
    if not begins(head):
        pieces.close()
        return None
    return Lines(display_path(path), chain([head], pieces))


def _pieces(file: int, path: str, size: int, max_bytes: int) -> Generator[bytes]:
    try:
        yield from decompress_chunks(iter(lambda: os.read(file, size), b""), max_bytes)
    except OSError as error:
        raise os_error(error, path) from None
    finally:
        os.close(file)
