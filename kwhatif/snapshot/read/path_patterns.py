"""Which files of directories are read: by their names, and without those that match exclude patterns."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kwhatif.snapshot.read.files import is_manifest


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns leaves out a file, or a directory that it is in (``cel/globs.py``). One that begins
    with ``./`` is the file of this very path, from the working directory or from the top of a revision.
    """
    if not patterns:
        return False
    if any(pattern.startswith("./") and os.path.abspath(pattern) == os.path.abspath(path) for pattern in patterns):
        return True
    # Few runs leave anything out, and all pay for what is imported.
    from kwhatif.cel.globs import matches_path

    plain = path.replace(os.sep, "/")
    return any(matches_path(plain, pattern) for pattern in patterns if pattern.strip("/"))


def is_listed(name: str) -> bool:
    """Whether a file of this name may be a manifest, where it was found in a directory."""
    return is_manifest(name) and not name.startswith(".")
