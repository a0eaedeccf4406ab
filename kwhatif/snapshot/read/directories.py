"""Manifests of a repository: the directories below those that a command names, and the files of each.

What is left out is told by patterns: one without a slash means any directory or file of that name, one with a slash the
end of a path; ``*`` stands for anything but a slash, ``**`` for that as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import STDIN, display_path, found_in, is_manifest, os_error


@cache
def _expression_of(pattern: str) -> re.Pattern[str]:
    """A pattern as an expression for whole paths."""
    text = ""
    for part in re.split(r"(\*\*/?|\*|\?)", pattern.strip("/")):
        match part:
            case "**/" | "**":
                text += r"(?:.*/)?" if part.endswith("/") else ".*"
            case "*":
                text += "[^/]*"
            case "?":
                text += "[^/]"
            case _:
                text += re.escape(part)
    return re.compile(rf"(?:.*/)?{text}(?:/.*)?", re.DOTALL)


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns leaves out a file, or a directory that it is in."""
    plain = path.replace(os.sep, "/")
    return any(_expression_of(pattern).fullmatch(plain) for pattern in patterns if pattern.strip("/"))


def gather_directories(paths: Sequence[str], *, recursive: bool = True, may_be_empty: bool = False) -> list[str]:
    """The directories with manifests below those given, in the order of their paths; a file stays as it is.

    Other than ``kubectl -R``, this passes over directories whose names begin with a dot, such as ``.git``. Raises
    InputError for a path that is not there, or a directory without manifests unless it ``may_be_empty``.
    """
    found: list[str] = []
    for path in paths:
        if path == STDIN or not os.path.isdir(path):
            if path != STDIN and not os.path.exists(path):
                raise InputError("no such file or directory", source=display_path(path))
            found.append(path)
            continue
        folders = list(_folders_below(path, recursive=recursive))
        if not folders and not may_be_empty:
            where = "nor do those below it" if recursive else "and those below it are not looked at"
            raise InputError(f"this directory has no .json, .yaml or .yml files, {where}", source=display_path(path))
        found += folders
    return list(dict.fromkeys(found))


def _folders_below(path: str, *, recursive: bool) -> Iterator[str]:
    def complain(error: OSError) -> None:
        raise os_error(error, error.filename or path) from None

    for folder, folders, names in os.walk(path, onerror=complain):
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if recursive else []
        if any(map(_is_listed, names)):
            yield folder


def _is_listed(name: str) -> bool:
    return is_manifest(name) and not name.startswith(".")


def list_manifests(directory: str, exclude: Sequence[str] = ()) -> list[str]:
    """The files of a directory that may be manifests, by name, without those left out and those that are hidden.

    Raises InputError for a directory that cannot be read, and for a link that leads out of it.
    """
    try:
        names = sorted(filter(_is_listed, os.listdir(directory)))
    except OSError as error:
        raise os_error(error, directory) from None
    files = [os.path.join(directory, name) for name in names]
    return [found_in(directory, file) for file in files if not os.path.isdir(file) and not is_excluded(file, exclude)]
