"""Files of a git revision, read by ``git`` without a checkout.

``REVISION:PATH`` names a file or a directory as git does. Nothing of the repository's own configuration that would run
a program is used: no hooks, no filters, no pagers, no fetching of what a partial clone lacks.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.path_patterns import is_excluded, is_listed

_SECONDS = 60
_FILES = ("100644", "100755")
_SETTINGS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-pager", "--no-replace-objects")


@dataclass(frozen=True)
class GitTree:
    """A file or directory of a revision: ``revision`` as it was spelt, and ``path`` from the top of the work tree."""

    revision: str
    path: str

    def __str__(self) -> str:
        return f"{self.revision}:{self.path}"


def _run_git(arguments: Sequence[str], stdin: bytes = b"") -> bytes | None:
    """What git prints; None if it fails, or there is no git. Raises InputError if it takes too long."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    for name in ("GIT_DIR", "GIT_WORK_TREE"):
        if name in os.environ:
            environment[name] = os.environ[name]
    try:
        ran = subprocess.run(
            ["git", *_SETTINGS, *arguments],
            input=stdin,
            capture_output=True,
            env=environment,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return None
    except subprocess.TimeoutExpired:
        raise InputError(f"git {arguments[0]} took longer than {_SECONDS} seconds") from None
    return ran.stdout if ran.returncode == 0 else None


def is_revision(text: str) -> bool:
    """Whether a word is no existing path but names a commit of the surrounding repository."""
    if not text or text.startswith("-") or os.path.exists(text) or not text.isprintable():
        return False
    return _run_git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}"]) is not None


def tree_named(text: str) -> GitTree | None:
    """The tree of ``REVISION:PATH``, whether or not there is such a path; None for a word that names something else."""
    revision, colon, path = text.partition(":")
    if not colon or os.path.exists(text) or not is_revision(revision):
        return None
    return GitTree(revision, os.path.normpath(path) if path.strip("./") else "")


def tree_of_path(revision: str, path: str) -> GitTree:
    """The tree of a path of the work tree in a revision. Raises InputError for a path outside of the repository."""
    found = _run_git(["rev-parse", "--show-toplevel"])
    top = os.path.realpath((found or b"").decode().rstrip("\n") or os.curdir)
    place = os.path.relpath(os.path.realpath(path), top)
    if place.startswith(os.pardir):
        raise InputError(f"not in the repository, so {revision} has no such path", source=path)
    return GitTree(revision, "" if place == os.curdir else place)


def read_tree(tree: GitTree, exclude: Sequence[str] = (), *, recursive: bool = True) -> Iterator[tuple[str, bytes]]:
    """Paths and contents of the manifests in a tree, by path; hidden directories, links and submodules are passed over.

    A path that the revision does not have holds nothing. Raises InputError for a repository that cannot be read, and
    for files that are too large together.
    """
    words = ["ls-tree", "-z", "--full-tree", "-r", "-l", f"{tree.revision}^{{commit}}"]
    listed = _run_git([*words, "--", tree.path] if tree.path else words)
    if listed is None:
        raise InputError("git cannot list this revision", source=str(tree))
    wanted: list[tuple[str, str]] = []
    left = bounds.MANIFEST_BYTES
    for line in filter(None, listed.split(b"\0")):
        about, _, name = line.partition(b"\t")
        mode, kind, identity, size = about.decode("ascii").split()
        path = os.fsdecode(name)
        if kind != "blob" or mode not in _FILES or not _is_wanted(path, tree, recursive=recursive):
            continue
        if path != tree.path and is_excluded(path, exclude):
            continue
        left -= int(size)
        if left < 0:
            raise InputError(f"more than the limit of {bounds.MANIFEST_BYTES:,} bytes", source=str(tree))
        wanted.append((path, identity))
    yield from _contents_of(wanted, tree)


def _is_wanted(path: str, tree: GitTree, *, recursive: bool) -> bool:
    if path == tree.path:
        return True
    below = path[len(tree.path) :].lstrip("/").split("/")
    hidden = any(part.startswith(".") for part in below)
    return is_listed(below[-1]) and not hidden and (recursive or len(below) == 1)


def _contents_of(wanted: Sequence[tuple[str, str]], tree: GitTree) -> Iterator[tuple[str, bytes]]:
    if not wanted:
        return
    asked = "".join(f"{identity}\n" for _, identity in wanted).encode()
    answer = _run_git(["cat-file", "--batch"], asked)
    if answer is None:
        raise InputError("git cannot read this revision", source=str(tree))
    position = 0
    for path, identity in wanted:
        end = answer.index(b"\n", position)
        head = answer[position:end].split()
        if len(head) != 3:
            raise InputError(f"git lacks the object {identity} of {path}", source=str(tree))
        size = int(head[2])
        yield path, answer[end + 1 : end + 1 + size]
        position = end + size + 2
