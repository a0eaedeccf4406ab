"""Checks the files that a rules file names, which may come with a pull request: regular ones, below the checkout.

The author of a change must not have the gate read files that only the gate may read, nor wait for a pipe, nor read a
device without end. Options and variables are not checked: their author runs the gate.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import display_path


def checkout_of(rules_file: str) -> str:
    """The directory that everything named by a rules file has to be below, as a path without links.

    The top of the git repository that the file is in; without one the working directory, if the file is below that, and
    else the directory of the file.
    """
    # Not of the file, which may be a link that leads to where it likes.
    folder = os.path.realpath(os.path.dirname(rules_file) or os.curdir)
    here = folder
    while True:
        if os.path.exists(os.path.join(here, ".git")):
            return here
        above = os.path.dirname(here)
        if above == here:
            break
        here = above
    working = os.path.realpath(os.curdir)
    return working if _is_below(folder, working) else folder


def check_named_files(paths: Iterable[tuple[str, str]], checkout: str, source: str) -> None:
    """Raises InputError for the first of these paths, each with its place in ``source``, that must not be read.

    A directory is checked as it is read: its own files, without those below. Missing files are reported by their
    reader.
    """
    for path, place in paths:
        for file in _files_of(path):
            problem = _problem(file, checkout)
            if problem:
                raise InputError(f"{display_path(file)} {problem}", source=source, place=place)


def _files_of(path: str) -> list[str]:
    # A recording may have a moment behind its name.
    if not os.path.lexists(path) and "@" in path and os.path.lexists(path.rpartition("@")[0]):
        path = path.rpartition("@")[0]
    if not os.path.isdir(path):
        return [path]
    try:
        return [path, *(os.path.join(path, name) for name in sorted(os.listdir(path)))]
    except OSError:
        return [path]


def _problem(path: str, checkout: str) -> str:
    try:
        target = os.path.realpath(path)
        if not _is_below(target, checkout):
            return f"is not below {display_path(checkout)}: a rules file may name no other files"
        found = os.stat(target)
    except (OSError, ValueError):
        return ""
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        return "is a pipe or a device: a rules file may name regular files only"
    return ""


def _is_below(path: str, folder: str) -> bool:
    try:
        return os.path.commonpath((path, folder)) == folder
    except ValueError:
        return False
