"""Manifests of a repository: the directories below the named ones, and the files of each."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import STDIN, display_path, exists, is_directory, os_error
from kwhatif.snapshot.read.git_revisions import tree_named
from kwhatif.snapshot.read.path_patterns import is_excluded, is_listed, may_be_program
from kwhatif.snapshot.read.rooted_files import walk_folders


def gather_directories(paths: Sequence[str], *, recursive: bool = True, may_be_empty: bool = False) -> list[str]:
    """The directories with manifests below those given, in the order of their paths; a file stays as it is, and so
    does a ``REVISION:PATH`` of git.

    Other than ``kubectl -R``, this passes over directories whose names begin with a dot, such as ``.git``. Raises
    InputError for a path that is not there, or a directory without manifests unless it ``may_be_empty``.
    """
    files: list[str] = []
    for path in paths:
        if path == STDIN or not is_directory(path):
            if path != STDIN and not exists(path) and tree_named(path) is None:
                raise InputError("no such file or directory", source=display_path(path))
            files.append(path)
            continue
        folders = list(_folders_below(path, recursive=recursive))
        if not folders and not may_be_empty:
            where = "nor do those below it" if recursive else "and those below it are not looked at"
            raise InputError(f"this directory has no .json, .yaml or .yml files, {where}", source=display_path(path))
        files += folders
    return list(dict.fromkeys(files))


def _folders_below(path: str, *, recursive: bool) -> Iterator[str]:
    for folder, names in walk_folders(path):
        if any(is_listed(name) or may_be_program(name) for name in names):
            yield folder
        if not recursive:
            return


def describe_nothing(paths: Sequence[str]) -> str:
    """What to say of paths without any object: they are empty, or what there is lies in directories below them."""
    listed = {path: [names for _, names in walk_folders(path)] for path in paths if is_directory(path)}
    below = sum(is_listed(name) for folders in listed.values() for names in folders[1:] for name in names)
    if not below:
        return "holds no objects: it is empty"
    files = "1 file" if below == 1 else f"{below} files"
    return f"holds no objects itself; {files} in directories below: --recursive (-R) reads them, too"


def list_manifests(directory: str, exclude: Sequence[str] = ()) -> list[str]:
    """The files of a directory that may be manifests, by name, without those left out and those that are hidden.

    Raises InputError for a directory that cannot be read.
    """
    try:
        names = sorted(filter(is_listed, os.listdir(directory)))
    except OSError as error:
        raise os_error(error, directory) from None
    files = [os.path.join(directory, name) for name in names]
    return [file for file in files if not os.path.isdir(file) and not is_excluded(file, exclude)]
