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
    """Whether a word is no path that exists but names a commit of the repository around here."""
    return not os.path.exists(text) and _is_commit(text)


def _is_commit(text: str) -> bool:
    if not text or text.startswith("-") or not text.isprintable():
        return False
    return _run_git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}"]) is not None


def tree_named(text: str) -> GitTree | None:
    """The tree of ``REVISION:PATH``, whether or not there is such a path; None for a word that names something else."""
    revision, colon, path = text.partition(":")
    if not colon or os.path.exists(text) or not _is_commit(revision):
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


@dataclass(frozen=True)
class RevisionFile:
    """A regular file of a revision: its path, and the object with its content, of ``size`` bytes.

    A partial clone may lack the object, and its size is then taken to be 0.
    """

    path: str
    identity: str
    size: int


def list_revision(revision: str) -> Iterator[RevisionFile]:
    """The regular files of a revision, by path. Raises InputError for a repository that cannot be read."""
    listed = _run_git(["ls-tree", "-z", "--full-tree", "-r", "-l", f"{revision}^{{commit}}"])
    if listed is None:
        raise InputError("git cannot list this revision", source=revision)
    for line in filter(None, listed.split(b"\0")):
        about, _, name = line.partition(b"\t")
        mode, kind, identity, size = about.decode("ascii").split()
        if kind == "blob" and mode in _FILES:
            yield RevisionFile(os.fsdecode(name), identity, int(size) if size.isdigit() else 0)


def read_blobs(revision: str, files: Sequence[RevisionFile]) -> dict[str, bytes]:
    """Contents of files of a revision, by path, but for those that git lacks. Raises InputError for too large ones."""
    if not files:
        return {}
    if sum(file.size for file in files) > bounds.MANIFEST_BYTES:
        raise InputError(f"more than the limit of {bounds.MANIFEST_BYTES:,} bytes", source=revision)
    answer = _run_git(["cat-file", "--batch"], "".join(f"{file.identity}\n" for file in files).encode())
    if answer is None:
        raise InputError("git cannot read this revision", source=revision)
    found: dict[str, bytes] = {}
    position = 0
    for file in files:
        end = answer.index(b"\n", position)
        head = answer[position:end].split()
        if len(head) != 3:
            position = end + 1
            continue
        size = int(head[2])
        found[file.path] = answer[end + 1 : end + 1 + size]
        position = end + size + 2
    return found


def origin_url(folder: str = "") -> str:
    """The URL of the remote called origin, of the repository around here or around ``folder``; empty without one."""
    words = ["-C", folder] if folder else []
    return (_run_git([*words, "config", "--get", "remote.origin.url"]) or b"").decode("utf-8", "replace").strip()
