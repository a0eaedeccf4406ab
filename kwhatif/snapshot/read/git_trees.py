"""The files of a revision of git: its trees are read here, and checked as ``git fsck`` does.

git fetches what a server sends: a tree may have entries called ``..`` or ``/etc``, two of one name, or ten directories
in ten directories, again and again, in a few kilobytes. So names are checked, and paths counted, before there is a
list. Upstream: git (fsck.c, path.c, utf8.c).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha1
from typing import NamedTuple

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.git_objects import ObjectReader, object_reader

_FILES = (b"100644", b"100755", b"100664")
_FOLDER = b"40000"
_LINK = b"120000"

_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_GIT_ON_NTFS = re.compile(r"(?:\.git|git~[0-9]+)[ .]*(?::.*)?", re.DOTALL)


class TreeEntry(NamedTuple):
    """An entry of a tree that is a directory, a regular file, or a link; submodules are none."""

    name: str
    identity: str
    is_folder: bool
    is_link: bool


def blob_identity(data: bytes) -> str:
    """What git calls a content."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class RevisionFile(msgspec.Struct, frozen=True):
    """A regular file of a revision, or a link: its path, and the object with its content, which for a link is where
    it leads to. A partial clone may lack that.
    """

    path: str
    identity: str
    is_link: bool = False


class _Size(msgspec.Struct):
    """What a tree comes to with all that is below it: entries, directories in each other, bytes of the longest path."""

    entries: int
    depth: int
    path_bytes: int


def list_files(root: str, revision: str) -> Iterator[RevisionFile]:
    """The regular files and the links of a tree, directory by directory. ``revision`` names it in messages.

    Raises InputError for a tree that git's own check refuses, and one that is too large or too deep.
    """
    try:
        with object_reader() as reader:
            trees = _read_trees(reader, root)
            _check_size(_sizes_of(trees, root)[root])
    except InputError as error:
        raise InputError(error.problem, source=error.source or revision) from None
    ahead = [("", root)]
    while ahead:
        folder, identity = ahead.pop()
        for name, below, is_folder, is_link in trees[identity]:
            path = f"{folder}/{name}" if folder else name
            if is_folder:
                ahead.append((path, below))
            else:
                yield RevisionFile(path, below, is_link)


def _read_trees(reader: ObjectReader, root: str) -> dict[str, tuple[TreeEntry, ...]]:
    """All trees below a tree, each once, however many paths lead to it."""
    trees: dict[str, tuple[TreeEntry, ...]] = {}
    ahead, room, entries = [root], bounds.MANIFEST_BYTES, 0
    while ahead:
        below: dict[str, None] = {}
        for identity, content in zip(ahead, reader.read(ahead, b"tree", room), strict=True):
            if content is None:
                raise InputError("git lacks a directory of this revision")
            room -= len(content)
            trees[identity] = tuple(_entries_of(content, len(identity) // 2))
            entries += len(trees[identity])
            _check_entries(entries)
            below |= {entry.identity: None for entry in trees[identity] if entry.is_folder}
        ahead = [path for path in below if path not in trees]
    return trees


def _entries_of(content: bytes, width: int) -> Iterator[TreeEntry]:
    names: set[bytes] = set()
    position = 0
    while position < len(content):
        end = content.find(b"\0", position)
        mode, _, name = content[position:end].partition(b" ")
        identity = content[end + 1 : end + 1 + width]
        position = end + 1 + width
        if end < 0 or len(identity) != width:
            raise InputError("a directory of this revision is cut short")
        problem = problem_of_name(name)
        if name in names:
            problem = "twice"
        if problem:
            shown = ascii(os.fsdecode(name[:80]))
            raise InputError(f"a directory of this revision has an entry {shown}, {problem}: git fsck refuses it")
        names.add(name)
        if mode in (_FOLDER, _LINK, *_FILES):
            yield TreeEntry(os.fsdecode(name), identity.hex(), mode == _FOLDER, mode == _LINK)


def problem_of_name(name: bytes) -> str:
    """Why no file of a checkout may have a name; empty if it may."""
    if not name or name in (b".", b".."):
        return "which is no name"
    if b"/" in name or b"\0" in name or (os.name == "nt" and b"\\" in name):
        return "which has a separator"
    if len(name) > bounds.NAME_LENGTH:
        return f"which has more than {bounds.NAME_LENGTH} bytes"
    text = _IGNORED_BY_HFS.sub("", name.decode("utf-8", "replace"))
    if any(_GIT_ON_NTFS.fullmatch(part.lower()) for part in text.split("\\")):
        return "which is git's own directory"
    return ""


def _sizes_of(trees: dict[str, tuple[TreeEntry, ...]], root: str) -> dict[str, _Size]:
    """What each tree comes to, from those without directories up; none is gone through twice."""
    sizes: dict[str, _Size] = {}
    ahead = [root]
    while ahead:
        identity = ahead[-1]
        if identity in sizes:
            ahead.pop()
            continue
        missing = [entry.identity for entry in trees[identity] if entry.is_folder and entry.identity not in sizes]
        if missing:
            ahead += missing
            continue
        ahead.pop()
        size = _Size(0, 1, 0)
        for tree in trees[identity]:
            below = sizes[tree.identity] if tree.is_folder else _Size(0, 0, -1)
            size.entries += 1 + below.entries
            size.depth = max(size.depth, 1 + below.depth)
            size.path_bytes = max(size.path_bytes, len(os.fsencode(tree.name)) + 1 + below.path_bytes)
        sizes[identity] = size
    return sizes


def _check_size(size: _Size) -> None:
    _check_entries(size.entries)
    if size.depth > bounds.DEPTH:
        raise InputError(f"its directories are more than {bounds.DEPTH} in each other, found {size.depth:,}")
    if size.path_bytes > bounds.PATH_LENGTH:
        raise InputError(f"its longest path has more than {bounds.PATH_LENGTH:,} bytes, found {size.path_bytes:,}")


def _check_entries(number: int) -> None:
    if number > bounds.TREE_ENTRIES:
        raise InputError(f"more than {bounds.TREE_ENTRIES:,} files and directories, found {number:,}")
