"""The files of a chart as helm gets them: those below its directory, with the archives of its dependencies unpacked.

helm follows links and reads schemas from wherever they point to. So it is given copies, and no schema that refers to
another file or an address. Upstream: helm (pkg/chart/loader, pkg/chartutil/jsonschema.go).
"""

from __future__ import annotations

import io
import os
import re
import tarfile
from collections.abc import Iterator
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read.compression import decompress_all
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.git_trees import problem_of_name
from kwhatif.snapshot.read.objects import decode, read_documents
from kwhatif.snapshot.read.rooted_files import WalkRoom
from kwhatif.snapshot.repository.file_trees import FileTree

_ARCHIVE = re.compile(r"((?:charts/[^/]+/)*charts/)([^/._][^/]*)\.tgz")
_GIT = ".git"
_SCHEMA = "values.schema.json"
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_IDENTITIES = ("$id", "id")
_DRAFTS = re.compile(r"https?://json-schema\.org/[a-z0-9./-]*#?")
_MOST_ARCHIVES = 1000
_MOST_LINKS = 8


def chart_files(tree: FileTree, folder: str) -> dict[str, bytes]:
    """The files of a chart by their paths in it.

    Raises InputError for what leads out of the repository, pipes, and too much.
    """
    paths = list(_paths_below(tree, folder))
    tree.prepare([path for path, _ in paths])
    files: dict[str, bytes] = {}
    room = bounds.MANIFEST_BYTES
    for path, name in paths:
        files[name] = tree.content_of(path)
        room = _less(room, len(files[name]))
    return files


def complete_chart(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a chart with its dependencies unpacked, and its schemas checked. Raises InputError for archives and
    schemas that helm must not get, and too much.
    """
    room = bounds.MANIFEST_BYTES
    for data in files.values():
        room = _less(room, len(data))
    archives = 0
    while packed := [name for name in files if _ARCHIVE.fullmatch(name)]:
        for name in packed:
            archives += 1
            data = files.pop(name)
            unpacked = dict(_unpack(name, data, files, room))
            room = _less(room, sum(map(len, unpacked.values())) - len(data))
            files |= unpacked
        if archives > _MOST_ARCHIVES or len(files) > bounds.TREE_ENTRIES:
            raise InputError("too many archives in each other")
    for name, data in files.items():
        if name.rpartition("/")[2] == _SCHEMA:
            files[name] = _checked_schema(name, data)
    return files


def _less(room: int, size: int) -> int:
    if size > room:
        raise InputError(f"its files are more than the limit of {bounds.MANIFEST_BYTES:,} bytes")
    return room - size


def _paths_below(tree: FileTree, folder: str) -> Iterator[tuple[str, str]]:
    """The files below a directory, each with its path in it; links are followed, but not out of the repository."""
    room = WalkRoom(tree.display(folder))
    ahead = [(folder, "", 0, 0)]
    while ahead:
        at, inside, depth, links = ahead.pop()
        entries = tree.files_in(at)
        room.take(depth, len(entries))
        if links > _MOST_LINKS:
            raise InputError(f"{inside!a} is of links in each other")
        for name, is_folder in entries:
            path, inner = tree.path_in(at, name), f"{inside}/{name}" if inside else name
            if name == _GIT:
                continue
            if tree.leads_out(path):
                raise InputError(f"{inner!a} leads out of the repository, where nothing is read")
            if tree.is_folder(path):
                ahead.append((path, inner, depth + 1, links + (not is_folder)))
            elif tree.is_file(path):
                yield path, inner
            else:
                raise InputError(f"{inner!a} is neither a file nor a directory")


def _unpack(name: str, data: bytes, others: dict[str, bytes], room: int) -> Iterator[tuple[str, bytes]]:
    """The files of an archive, in a directory of its own beside it."""
    match = _ARCHIVE.fullmatch(name)
    assert match is not None
    folder = match[1] + match[2]
    while any(path.startswith(f"{folder}/") for path in others):
        folder += "-"
    for path, content in unpack_chart(name, data, room):
        yield f"{folder}/{path}", content


def unpack_chart(name: str, data: bytes, room: int) -> Iterator[tuple[str, bytes]]:
    """The files of an archive of a chart, by their paths in it.

    Raises InputError for what is no archive, for links and devices, which helm packs into none, for names that no file
    may have, and for more than ``room`` bytes.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(decompress_all([data], max(room, 1))), mode="r:") as archive:
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]
                parts = member.name.split("/")[1:]
                if not (member.isreg() or member.isdir()):
                    raise InputError(f"it has {member.name!a}, which is neither a file nor a directory")
                if member.name.startswith("/"):
                    raise InputError(f"it has {member.name!a}, a path from the root")
                if member.isdir() or not parts:
                    continue
                problem = next(filter(None, (problem_of_name(os.fsencode(part)) for part in parts)), "")
                if problem:
                    raise InputError(f"it has {member.name!a}, {problem}")
                opened = archive.extractfile(member)
                content = b"" if opened is None else opened.read(room + 1)
                room = _less(room, len(content))
                yield "/".join(parts), content
    except InputError as error:
        raise InputError(f"{name!a}: {error.problem}") from None
    except (tarfile.TarError, ValueError, OSError, EOFError, RecursionError):
        raise InputError(f"{name!a} is no archive that can be read") from None


def _checked_schema(name: str, data: bytes) -> bytes:
    """A schema without names of its own, which refers to nothing but itself."""
    schema = [decode(read_document.value, dict[str, Any]) for read_document in read_documents(Text(name, data))]
    if len(schema) != 1:
        raise InputError(f"{name!a} is no schema")
    ahead: list[Any] = [schema[0]]
    while ahead:
        value = ahead.pop()
        if isinstance(value, list):
            ahead += value
        if not isinstance(value, dict):
            continue
        ahead += value.values()
        for key in _REFERENCES:
            to = value.get(key, "#")
            if isinstance(to, str) and not to.startswith("#"):
                raise InputError(f"{name!a} refers to {to!a}, and nothing is fetched")
        draft = value.get("$schema")
        if isinstance(draft, str) and not _DRAFTS.fullmatch(draft):
            raise InputError(f"{name!a} is in the language of {draft!a}, and nothing is fetched")
        for key in _IDENTITIES:
            if isinstance(value.get(key), str):
                del value[key]
    return msgspec.json.encode(schema[0])
