"""Checks the files that a rules file names, which may come with a pull request: regular ones, below the checkout.

The author of a change must not have the gate read files that only the gate may read, nor wait for a pipe, nor read a
device without end. Options and variables are not checked: their author runs the gate.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import STDIN, display_path
from kwhatif.snapshot.read.rooted_files import FileRoot, LeadsOutError


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
    root = FileRoot(checkout)
    for path, place in paths:
        for file in _files_of(path):
            problem = _problem(file, root)
            if problem:
                raise InputError(f"{display_path(file)} {problem}", source=source, place=place)


def beside(source: str, path: str) -> str:
    """A path of a rules file, which is relative to the file's directory, as it is seen from here."""
    return os.path.join("" if source in (STDIN, display_path(STDIN)) else os.path.dirname(source), path)


def own_users() -> set[int]:
    """The users whose files decide: who runs this, and the system."""
    return {os.geteuid() if hasattr(os, "geteuid") else 0, 0}


def problem_of_owner(path: str) -> str:
    """Why another user may have put a file where it lies; empty if none can have."""
    if os.name != "posix":
        return ""
    file, folder = os.stat(path), os.stat(os.path.dirname(path))
    if file.st_uid not in own_users():
        return "it belongs to another user"
    if folder.st_uid not in own_users():
        return "its directory belongs to another user"
    of_others = folder.st_mode & stat.S_IWGRP and folder.st_gid not in (0, os.getegid(), *os.getgroups())
    if folder.st_mode & stat.S_IWOTH or of_others:
        return "others may write to its directory"
    return ""


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


def _problem(path: str, root: FileRoot) -> str:
    if path == STDIN:
        return "may hold anything: a rules file may name regular files only"
    try:
        root.resolve(path)
    except LeadsOutError:
        return f"is not below {display_path(root.path)}: a rules file may name no other files"
    if root.sort_of(path) == "other":
        return "is a pipe or a device: a rules file may name regular files only"
    return ""


def _is_below(path: str, folder: str) -> bool:
    try:
        return os.path.commonpath((path, folder)) == folder
    except ValueError:
        return False
