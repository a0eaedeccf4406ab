"""Bytes of the files, directories and standard input that a command names, unpacked and known to be UTF-8."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import zstandard

from kwhatif.errors import InputError
from kwhatif.snapshot.read.logs import without_logs

STDIN = "-"
MAX_BYTES = 2 * 1024**3
"""No file may be larger than this once unpacked."""

MAX_RATIO = 1000
_RATIO_COUNTS_FROM = 64 * 1024**2

APPLE_DOUBLE = "._"
_SUFFIXES = (".json", ".yaml", ".yml")
_PACKED_SUFFIXES = (".gz", ".zst")
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_BBOLT_MAGIC = b"\xed\xda\x0c\xed"
_CHUNK = 4 * 1024**2
# A few bytes of zstd can stand for 128 KiB, so it is fed little at a time.
_ZSTD_SLICE = 1024


@dataclass(frozen=True, slots=True)
class Text:
    """The content of one file: UTF-8 without a byte order mark. ``name`` is what messages call it.

    ``logs`` is the number of container logs that stood in it and were left out.
    """

    name: str
    data: bytes
    logs: int = 0


def read_paths(paths: Sequence[str], *, max_bytes: int = MAX_BYTES) -> Iterator[Text]:
    """The texts of files, directories and ``-`` (standard input), in the order given.

    Of a directory, as kubectl does it: its ``.json``, ``.yaml`` and ``.yml`` files by name, without its
    subdirectories; here also with ``.gz`` or ``.zst`` added. A file named by itself may be called anything.
    Whether it is packed is told by its first bytes. Raises InputError.
    """
    for path in once(paths):
        for file in _files(path):
            yield _text(file, max_bytes)


def once(paths: Sequence[str]) -> Sequence[str]:
    """The paths. Raises InputError if standard input is among them more than once."""
    if list(paths).count(STDIN) > 1:
        raise InputError("can be read only once", source=called(STDIN))
    return paths


def _files(path: str) -> list[str]:
    if path == STDIN or not os.path.isdir(path):
        return [path]
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise os_error(error, path) from None
    files = [os.path.join(path, name) for name in names if is_manifest(name)]
    files = [file for file in files if not os.path.isdir(file)]
    if not files:
        raise InputError("this directory has no .json, .yaml or .yml files", source=called(path))
    return files


def is_manifest(name: str) -> bool:
    """Whether a file of this name is read when its directory is; what macOS writes beside files is not."""
    if name.startswith(APPLE_DOUBLE):
        return False
    stem, suffix = os.path.splitext(name)
    return (os.path.splitext(stem)[1] if suffix in _PACKED_SUFFIXES else suffix) in _SUFFIXES


def _text(path: str, max_bytes: int) -> Text:
    name = called(path)
    try:
        data = _read(path, max_bytes)
        if data.startswith(_GZIP_MAGIC):
            data = _gunzip(data, max_bytes)
        elif data.startswith(_ZSTD_MAGIC):
            data = _unzstd(data, max_bytes)
        _check_sort(data)
        data, logs = without_logs(data)
        _check_utf8(data)
    except OSError as error:
        raise os_error(error, path) from None
    except ValueError:
        raise InputError("no file can have this name", source=name) from None
    except InputError as error:
        raise error.at(name) from None
    return Text(name, data.removeprefix(b"\xef\xbb\xbf"), logs)


def _read(path: str, max_bytes: int) -> bytes:
    if path == STDIN:
        data = sys.stdin.buffer.read(max_bytes + 1)
    else:
        with open(path, "rb") as file:
            # A regular file is read in one go; a pipe or device tells its size only by ending.
            size = os.fstat(file.fileno()).st_size if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else 0
            data = file.read() if 0 < size <= max_bytes else file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return data


class _Unpacked:
    """What has come out of a packed file so far, and the guard over its size."""

    def __init__(self, packed: int, max_bytes: int) -> None:
        self._packed, self._max_bytes = packed, max_bytes
        self._size = 0
        self._chunks: list[bytes] = []

    def add(self, chunk: bytes) -> None:
        self._size += len(chunk)
        self._chunks.append(chunk)
        if self._size > self._max_bytes:
            raise _too_large(self._max_bytes)
        if self._size > _RATIO_COUNTS_FROM and self._size > MAX_RATIO * self._packed:
            raise InputError(f"unpacks to more than {MAX_RATIO} times its size, as no manifest would")

    def joined(self) -> bytes:
        return b"".join(self._chunks)


def _gunzip(packed: bytes, max_bytes: int) -> bytes:
    out = _Unpacked(len(packed), max_bytes)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            while chunk := file.read(_CHUNK):
                out.add(chunk)
    except EOFError:
        raise InputError("the gzip data ends too early: the file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"damaged gzip data: {error}") from None
    return out.joined()


def _unzstd(packed: bytes, max_bytes: int) -> bytes:
    out = _Unpacked(len(packed), max_bytes)
    position = 0
    try:
        while position < len(packed):
            frame = zstandard.ZstdDecompressor().decompressobj()
            while not frame.eof:
                if position >= len(packed):
                    raise InputError("the zstd data ends too early: the file is truncated")
                piece = packed[position : position + _ZSTD_SLICE]
                out.add(frame.decompress(piece))
                position += len(piece) - len(frame.unused_data)
    except zstandard.ZstdError as error:
        raise InputError(f"damaged zstd data: {error}") from None
    return out.joined()


def _check_sort(data: bytes) -> None:
    """Refuse what would be read, had it been unpacked or exported first."""
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


def _too_large(max_bytes: int) -> InputError:
    return InputError(f"larger than the limit of {max_bytes:,} bytes")


def os_error(error: OSError, path: str) -> InputError:
    """What the system said of a path, in our words."""
    match error:
        case FileNotFoundError():
            problem = "no such file or directory"
        case PermissionError():
            problem = "no permission to read it"
        case _:
            problem = f"cannot be read: {error.strerror or error}"
    return InputError(problem, source=called(path))


def called(path: str) -> str:
    """What messages call a path."""
    if path == STDIN:
        return "standard input"
    return path if path.isprintable() else ascii(path)
