"""Bytes of the files, directories and standard input that a command names, unpacked and known to be UTF-8."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.logs import without_logs
from kwhatif.snapshot.read.unpacking import unpacked

STDIN = "-"

APPLE_DOUBLE = "._"
_SUFFIXES = (".json", ".yaml", ".yml")
_PACKED_SUFFIXES = (".gz", ".zst")
_BBOLT_MAGIC = b"\xed\xda\x0c\xed"


@dataclass(frozen=True, slots=True)
class Text:
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
    itself may be called anything. Whether it is packed is told by its first bytes. Raises InputError.
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
    files = [found_in(path, file) for file in files if not os.path.isdir(file)]
    if not files:
        raise InputError("this directory has no .json, .yaml or .yml files", source=called(path))
    return files


def found_in(directory: str, file: str) -> str:
    """The file that was found in a directory. Raises InputError for a link that leads out of it, a pipe and a device.

    Who may write to the directory need not be allowed to see whatever the reader may, nor to have readers wait.
    """
    if os.path.islink(file):
        inside, target = os.path.realpath(directory), os.path.realpath(file)
        if os.path.commonpath((inside, target)) != inside:
            problem = f"a link that leads out of {called(directory)}, which is not followed"
            raise InputError(problem, source=called(file))
    if os.path.exists(file) and not os.path.isfile(file):
        raise InputError("a pipe or a device, which is read only if it is named by itself", source=called(file))
    return file


def first_bytes(file: str, most: int) -> bytes:
    """What a regular file begins with; nothing of what cannot be read, or is none."""
    try:
        if os.path.isfile(file):
            with open(file, "rb") as opened:
                return opened.read(most)
    except OSError:
        pass
    return b""


def is_manifest(name: str) -> bool:
    """Whether a file of this name is read when its directory is; what macOS writes beside files is not."""
    if name.startswith(APPLE_DOUBLE):
        return False
    stem, suffix = os.path.splitext(name)
    return (os.path.splitext(stem)[1] if suffix in _PACKED_SUFFIXES else suffix) in _SUFFIXES


def _text(path: str, max_bytes: int) -> Text:
    name = called(path)
    try:
        data = unpacked([_read(path, max_bytes)], max_bytes)
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
            # A pipe or device tells its size only by ending, and so do files that the system makes up.
            found = os.fstat(file.fileno())
            size = found.st_size if stat.S_ISREG(found.st_mode) and found.st_size else max_bytes
            data = file.read(min(size, max_bytes) + 1)
    return data


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
