"""Revisions of git, and the files of them, read by ``git`` without a checkout.

``REVISION:PATH`` names a file or a directory as git does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import may_read_disk
from kwhatif.snapshot.read.git_objects import current_repository, git_environment, object_reader
from kwhatif.snapshot.read.git_trees import RevisionFile, list_files
from kwhatif.snapshot.read.program_words import GIT_COMMIT, GIT_ORIGIN, GIT_TOP, ProgramCall
from kwhatif.snapshot.read.programs import find_program, start_program

_MOST_OF_A_WORD = 65_536


class GitTree(msgspec.Struct, frozen=True):
    """A file or directory of a revision: ``revision`` as it was spelt, and ``path`` from the top of the work tree."""

    revision: str
    path: str

    def __str__(self) -> str:
        return f"{self.revision}:{self.path}"


def _ask_git(call: ProgramCall, folder: str = "") -> str | None:
    """The one line that git prints; None if it fails, or there is no git. Raises InputError if it takes too long."""
    if not find_program("git"):
        return None
    with start_program(call, git_environment(), folder or current_repository(), isolated=False) as program:
        printed = program.read(_MOST_OF_A_WORD)
        return os.fsdecode(printed).rstrip("\n") if program.wait() == 0 else None


def has_repository(path: str) -> bool:
    """Whether a file or directory is in the work tree of a repository."""
    return os.path.exists(path) and bool(
        _ask_git(ProgramCall(GIT_TOP), path if os.path.isdir(path) else os.path.dirname(path))
    )


def is_revision(text: str) -> bool:
    """Whether a word is no path that exists but names a commit of the repository in use (``repository_around``)."""
    return not os.path.exists(text) and bool(_object_named(text, "commit"))


def _object_named(revision: str, sort: str = "") -> str:
    """The name of the commit or of the tree of a revision, or of what it names itself; empty if it is none."""
    if not may_read_disk():
        return ""
    if not revision or revision.startswith("-") or not revision.isprintable() or len(revision) > bounds.PATH_LENGTH:
        return ""
    identity = _ask_git(ProgramCall(GIT_COMMIT, operands=(f"{revision}^{{{sort}}}" if sort else revision,))) or ""
    return identity if identity.isalnum() else ""


def tree_named(text: str) -> GitTree | None:
    """The tree of ``REVISION:PATH``, whether or not there is such a path; None for a word that names something else.

    Raises InputError for a path that leads out of the repository.
    """
    revision, colon, path = text.partition(":")
    if not colon or os.path.exists(text) or not _object_named(revision, "commit"):
        return None
    place = os.path.normpath(path)
    if place.split(os.sep)[0] == os.pardir or os.path.isabs(place):
        raise InputError("not in the repository: a path of a revision begins at its top", source=text)
    return GitTree(revision, "" if place == os.curdir else place)


def tree_of_path(revision: str, path: str) -> GitTree:
    """The tree of a path of the work tree in a revision. Raises InputError for a path outside of the repository."""
    top = os.path.realpath(_ask_git(ProgramCall(GIT_TOP)) or os.curdir)
    place = os.path.relpath(os.path.realpath(path), top)
    if place.startswith(os.pardir):
        raise InputError(f"not in the repository, so {revision} has no such path", source=path)
    return GitTree(revision, "" if place == os.curdir else place)


def list_revision(revision: str) -> Iterator[RevisionFile]:
    """The regular files and the links of a revision. Raises InputError for a repository that cannot be read, and for a
    tree that git's own check refuses.
    """
    root = _object_named(revision, "tree")
    if not root:
        raise InputError("git cannot list this revision", source=revision)
    return list_files(root, revision)


def read_blobs(revision: str, files: Sequence[RevisionFile]) -> dict[str, bytes]:
    """Contents of files of a revision, by path, but for those that git lacks. Raises InputError for too large ones."""
    if not files:
        return {}
    blobs: dict[str, bytes] = {}
    try:
        with object_reader() as reader:
            contents = reader.read([file.identity for file in files], b"blob", bounds.MANIFEST_BYTES)
            for file, content in zip(files, contents, strict=True):
                if content is not None:
                    blobs[file.path] = content
    except InputError as error:
        raise error.with_source(revision) from None
    return blobs


def read_file(text: str) -> bytes | None:
    """The content of the file ``REVISION:PATH``; None if git has none. Raises InputError for a too large one."""
    identity = _object_named(text)
    return read_blobs(text, [RevisionFile(text, identity)]).get(text) if identity else None


def origin_url(folder: str = "") -> str:
    """The URL of the remote called origin, of the repository in use or of that around ``folder``; empty without one."""
    return (_ask_git(ProgramCall(GIT_ORIGIN), folder) or "").strip()
