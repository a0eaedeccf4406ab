"""Which files of directories are read: by their names, and without those that match exclude patterns.

A pattern without a slash matches any directory or file of that name, one with a slash the end of a path; ``*`` matches
anything but a slash, ``**`` that as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache

from kwhatif.snapshot.read.files import is_manifest


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


def is_listed(name: str) -> bool:
    """Whether a file of this name may be a manifest, where it was found in a directory."""
    return is_manifest(name) and not name.startswith(".")
