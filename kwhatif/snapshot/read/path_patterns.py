"""Which files of directories are read: by their names, and without those that match exclude patterns."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from kwhatif.snapshot.read.files import is_manifest
from kwhatif.snapshot.read.other_documents import (
    CHARTS_OF_TERRAFORM,
    PROGRAMS,
    TEMPLATE,
    TEMPLATES,
    DocumentSort,
    may_hold_objects,
)


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


def may_be_program(name: str) -> bool:
    """Whether a program may make manifests of a file of this name; a template has another suffix behind that of one."""
    stem, suffix = os.path.splitext(name)
    is_template = suffix in TEMPLATES and is_manifest(stem)
    return (suffix in PROGRAMS or is_template) and not name.startswith(".")


def sort_of_program(name: str, read: Callable[[], bytes]) -> DocumentSort | None:
    """The sort of a file of which a program makes objects, or values of a chart; None for any other file."""
    if not may_be_program(name):
        return None
    stem, suffix = os.path.splitext(name)
    if suffix in TEMPLATES:
        is_of_values = any(word in stem.casefold() for word in ("values", "helmfile"))
        return TEMPLATE if is_of_values or may_hold_objects(read()) else None
    return None if suffix == ".tf" and not CHARTS_OF_TERRAFORM.search(read()) else PROGRAMS[suffix]


def matches_file(path: str, pattern: str) -> bool:
    """Whether a pattern of Argo CD's is that of a whole path; ``**`` stands for any number of directories."""
    from kwhatif.cel.globs import matches_glob

    parts, patterns = path.split("/"), pattern.strip("/").split("/")
    # reached: how many parts the patterns so far may have taken.
    reached = {0}
    for part_pattern in patterns:
        if part_pattern == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(parts) and matches_glob(parts[at], part_pattern)}
    return len(parts) in reached
