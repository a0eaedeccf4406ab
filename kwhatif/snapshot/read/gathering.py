"""Manifests of a repository: the files of directories and of what is below them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import STDIN, called, found_in, is_manifest, os_error

_OF_KUSTOMIZE = ("kustomization.yaml", "kustomization.yml")


def gathered(paths: Sequence[str], *, recursive: bool = True, may_be_empty: bool = False) -> list[str]:
    """The files that ``kubectl -R`` would read, in the order of their paths; a file named by itself stays as it is.

    Other than kubectl, this passes over names that begin with a dot, such as ``.git`` and the gate's own rules, and
    over kustomization files, which are no objects of a cluster. Raises InputError for a path that is not there, or a
    directory without manifests unless it ``may_be_empty``.
    """
    found: list[str] = []
    for path in paths:
        if path == STDIN or not os.path.isdir(path):
            if path != STDIN and not os.path.exists(path):
                raise InputError("no such file or directory", source=called(path))
            found.append(path)
            continue
        files = list(_below(path, recursive=recursive))
        if not files and not may_be_empty:
            where = "nor do those below it" if recursive else "and those below it are not looked at"
            raise InputError(f"this directory has no .json, .yaml or .yml files, {where}", source=called(path))
        found += files
    return list(dict.fromkeys(found))


def _below(path: str, *, recursive: bool) -> Iterator[str]:
    def complain(error: OSError) -> None:
        raise os_error(error, error.filename or path) from None

    for folder, folders, names in os.walk(path, onerror=complain):
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if recursive else []
        for name in sorted(names):
            if is_manifest(name) and not name.startswith(".") and name not in _OF_KUSTOMIZE:
                yield found_in(path, os.path.join(folder, name))
