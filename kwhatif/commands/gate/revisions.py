"""The two sides of a change that are named by git revisions.

``gate BASE HEAD`` compares all manifests of two revisions, ``gate DIR --base REVISION`` a directory of the work tree
with its content in that revision, and ``REVISION:PATH`` names a part of a revision as git does. Nothing is checked out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Files
from kwhatif.snapshot.read.files import STDIN
from kwhatif.snapshot.read.git_revisions import is_revision, tree_named, tree_of_path


def sides_of(base: Files | None, head: Files) -> tuple[Files | None, Files]:
    """Base and head, in which a revision stands for its manifests. Raises UsageError and InputError."""
    if base is None and len(head) == 2 and all(isinstance(each, str) and is_revision(each) for each in head):
        return [f"{head[0]}:"], [f"{head[1]}:"]
    heads = [f"{each}:" if isinstance(each, str) and is_revision(each) else each for each in head]
    if base is None:
        return None, heads
    return [one for each in base for one in _base_of(each, heads)], heads


def _base_of(each: str | Mapping[str, Any], heads: Files) -> Files:
    if not isinstance(each, str) or not is_revision(each):
        return [each]
    found: list[str] = []
    for path in heads:
        if not isinstance(path, str) or path == STDIN:
            raise UsageError(f"--base {each}: a revision is that of files and directories, which the manifests are not")
        tree = tree_named(path) if not os.path.exists(path) else None
        found.append(f"{each}:{tree.path}" if tree is not None else str(tree_of_path(each, path)))
    return found
