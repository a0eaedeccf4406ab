"""What every recogniser of a directory layout returns, and what they share."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.kinds import LASTING, READ_KINDS
from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import APPLE_DOUBLE, first_bytes, os_error

# Every cluster has these, and makes them again when they are deleted. Upstream:
# pkg/controlplane/controller/systemnamespaces/system_namespaces_controller.go.
_SYSTEM_NAMESPACES = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
FEWEST_NAMESPACES = len(_SYSTEM_NAMESPACES)
"""No cluster has fewer."""

_MOST_NAMED = 4
_SMALL = 64 * 1024

T = TypeVar("T")


class DirectoryDump(msgspec.Struct, frozen=True):
    """The files of a dump that are to be read, and what its layout says besides.

    An object in several ``files`` is taken from the first of them. ``skipped`` counts the others by what they are
    ("log file"). ``namespaces`` are those whose pods were gathered; ``unreadable`` has the kinds that are not there in
    full, and why. ``heads`` are apiVersion and kind of what is in a file, where it does not say so itself. ``taken_at``
    is an RFC 3339 time.
    """

    layout: str
    files: tuple[str, ...]
    skipped: Mapping[str, int] = {}
    namespaces: frozenset[str] | None = None
    unreadable: Mapping[str, str] = {}
    heads: Mapping[str, tuple[str, str]] = {}
    taken_at: str | None = None
    kubernetes_version: str | None = None


RESOURCES = frozenset((kind.group or "core", kind.plural) for kind in READ_KINDS)
"""(API group, resource) of all that is read, such as ("core", "nodes"); files are named by these."""

BY_PLURAL = {kind.plural: kind for kind in reversed(LASTING)}
"""The same by resource alone, for those who name no group."""


def small_json(path: str, type_: type[T]) -> T | None:
    """The content of a small JSON file; None if it does not exist, or holds something else."""
    try:
        return decode_json(first_bytes(path, _SMALL), type_)
    except InputError:
        return None


def walk_files(root: str) -> Iterator[tuple[str, ...]]:
    """The names that lead from ``root`` to each file below it, in a fixed order. Raises InputError.

    macOS's resource files are skipped.
    """

    def stop(error: OSError) -> None:
        raise os_error(error, error.filename or root) from None

    for directory, below, names in os.walk(root, onerror=stop):
        below.sort()
        inner = os.path.relpath(directory, root)
        parts = () if inner == os.curdir else tuple(inner.split(os.sep))
        for name in sorted(names):
            if not name.startswith(APPLE_DOUBLE):
                yield (*parts, name)


def count_skipped(files: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """How many files of each sort were not opened."""
    counts = Counter(map(_sort_of, files))
    return dict(sorted(counts.items()))


def _sort_of(parts: tuple[str, ...]) -> str:
    stem, suffix = os.path.splitext(parts[-1])
    # Sonobuoy puts group and version before the resource.
    resources = {stem.rpartition("_")[2], *parts[-2:-1]}
    if "secrets" in resources:
        return "secrets file"
    if "events" in resources:
        return "events file"
    return "log file" if suffix in (".log", ".logs") or stem == "logs" or "logs" in parts else "other file"


def partial(namespaces: Iterable[str]) -> str:
    """The note about a dump of some namespaces only; empty if it seems to have all."""
    there = sorted(namespaces)
    if set(there) >= _SYSTEM_NAMESPACES:
        return ""
    if not there:
        return "the dump holds the pods of no namespace"
    return describe_namespaces(there, "dump")


def describe_namespaces(namespaces: Iterable[str], what: str) -> str:
    """The note about a ``what`` (dump, list) that has objects of these namespaces and may lack others."""
    there = sorted(namespaces)
    more = f" and {len(there) - _MOST_NAMED} more" if len(there) > _MOST_NAMED else ""
    verb = "hold" if what.endswith("s") else "holds"
    return f"the {what} {verb} those of namespace {', '.join(there[:_MOST_NAMED])}{more} alone"
