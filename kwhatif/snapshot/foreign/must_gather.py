"""``oc adm must-gather`` and ``oc adm inspect``: a file for each object or list, by group, resource and namespace.

``inspect`` writes one such tree; ``must-gather`` has one for each image it ran, one directory further down or, where
it ran on several nodes, two. Upstream: openshift/oc, pkg/cli/admin/inspect/{inspect,namespace,pod,util}.go and
pkg/cli/admin/mustgather/mustgather.go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from kwhatif.snapshot.foreign.tree import RESOURCES, Tree, skipped, walked
from kwhatif.snapshot.read.files import first_bytes, is_manifest

_CLUSTER, _NAMESPACES, _PODS = "cluster-scoped-resources", "namespaces", "pods"
_LEVELS = 2
_GO_TIME = re.compile(rb"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d+)? ([+-]\d\d)(\d\d)(?!\d)")


def must_gather(root: str) -> Tree | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Marks: a directory ``cluster-scoped-resources``, or ``namespaces`` with a namespace that has ``core`` or ``pods``,
    at most two levels down; manifests beside the way to it say that this is something else.
    """
    tops = list(_tops(root, _LEVELS))
    if not tops:
        return None
    files: list[tuple[bool, tuple[str, ...]]] = []
    others: list[tuple[str, ...]] = []
    namespaces = set()
    for parts in walked(root):
        inner = next((parts[len(top) :] for top in tops if parts[: len(top)] == top), ())
        resource = _resource_of(inner)
        if resource not in RESOURCES or not is_manifest(parts[-1]):
            others.append(parts)
            continue
        if resource == ("core", _PODS) and inner[0] == _NAMESPACES:
            namespaces.add(inner[1])
        # The pods are there twice: as one list, and alone, fetched a little later.
        files.append((inner[2] == _PODS, parts))
    return Tree(
        layout="must-gather",
        files=tuple(os.path.join(root, *parts) for _, parts in sorted(files)),
        skipped=skipped(others),
        namespaces=frozenset(namespaces),
        taken_at=next(filter(None, map(_begun, (root, *(os.path.join(root, *top) for top in tops)))), None),
    )


def _tops(root: str, levels: int) -> Iterator[tuple[str, ...]]:
    """The names that lead to each place where one image or ``inspect`` began to write."""
    names = sorted(os.listdir(root))
    if _is_top(root):
        yield ()
    elif levels and not any(map(is_manifest, names)):
        for name in names:
            below = os.path.join(root, name)
            if os.path.isdir(below) and not os.path.islink(below):
                yield from ((name, *rest) for rest in _tops(below, levels - 1))


def _is_top(path: str) -> bool:
    if os.path.isdir(os.path.join(path, _CLUSTER)):
        return True
    namespaces = os.path.join(path, _NAMESPACES)
    return os.path.isdir(namespaces) and any(
        os.path.isdir(os.path.join(namespaces, name, mark))
        for name in os.listdir(namespaces)
        for mark in ("core", _PODS)
    )


def _resource_of(parts: tuple[str, ...]) -> tuple[str, str]:
    """The group and resource that a file holds by its place; nothing sensible for other files."""
    match parts:
        case ("cluster-scoped-resources", group, file) | ("namespaces", _, group, file):
            return group, file.partition(".")[0]
        case ("namespaces", _, "pods", pod, file):
            return ("core", _PODS) if file == f"{pod}.yaml" else ("", "")
        case ("cluster-scoped-resources", group, resource, _) | ("namespaces", _, group, resource, _):
            return group, resource
        case ("namespaces", namespace, file):
            return ("core", _NAMESPACES) if file == f"{namespace}.yaml" else ("", "")
    return "", ""


def _begun(directory: str) -> str | None:
    """When the gathering began, by the file ``timestamp``, whose lines are times as Go prints them."""
    found = _GO_TIME.match(first_bytes(os.path.join(directory, "timestamp"), 100))
    return b"%sT%s%s:%s".__mod__(found.groups()).decode() if found else None
