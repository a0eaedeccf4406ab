"""Support bundles of troubleshoot.sh, unpacked: ``cluster-resources`` with a list for each kind, or for each namespace.

Bundles made before objects were written with their types have arrays in there. Upstream: replicatedhq/troubleshoot,
pkg/collect/{cluster_resources,cluster_info}.go and pkg/constants/constants.go.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from kwhatif.api.kinds import Kind
from kwhatif.snapshot.foreign.tree import BY_PLURAL, Tree, skipped, small_json, walked

_RESOURCES = "cluster-resources"
_ERRORS = "-errors"
# What they call otherwise than the API does; hyphens between words aside.
_SHORT = {"pvs": "persistentvolumes", "pvcs": "persistentvolumeclaims", "resourcequota": "resourcequotas"}


class _Version(msgspec.Struct):
    string: str | None = None


def support_bundle(root: str) -> Tree | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Mark: ``cluster-resources`` with ``nodes.json`` or ``pods``, here or in the one directory that is here.
    """
    top = next(filter(_is_top, _tops(root)), None)
    if top is None:
        return None
    there = list(walked(root))
    below = len(os.path.relpath(top, root).split(os.sep)) if top != root else 0
    wanted = {parts: kind for parts in there if (kind := _kind_of(parts[below:])) is not None}
    version = small_json(os.path.join(top, "cluster-info", "cluster_version.json"), _Version)
    return Tree(
        layout="troubleshoot.sh",
        files=tuple(os.path.join(root, *parts) for parts in wanted),
        heads={os.path.join(root, *parts): (kind.api_version(), kind.name) for parts, kind in wanted.items()},
        skipped=skipped(parts for parts in there if parts not in wanted),
        namespaces=frozenset(parts[-1].removesuffix(".json") for parts, kind in wanted.items() if kind.name == "Pod"),
        unreadable=dict(_missing(os.path.join(top, _RESOURCES))),
        kubernetes_version=version.string if version else None,
    )


def _tops(root: str) -> Iterator[str]:
    """Where a bundle may begin: it is packed with a directory around it."""
    yield root
    names = os.listdir(root)
    if len(names) == 1:
        yield os.path.join(root, names[0])


def _is_top(path: str) -> bool:
    resources = os.path.join(path, _RESOURCES)
    return os.path.isfile(os.path.join(resources, "nodes.json")) or os.path.isdir(os.path.join(resources, "pods"))


def _kind_of(parts: tuple[str, ...]) -> Kind | None:
    """What a file holds, if it is read."""
    match parts:
        case ("cluster-resources", name) | ("cluster-resources", name, _) if parts[-1].endswith(".json"):
            word = name.removesuffix(".json").replace("-", "")
            kind = BY_PLURAL.get(_SHORT.get(word, word))
            return kind if kind and kind.namespaced == (len(parts) > 2) else None
    return None


def _missing(resources: str) -> Iterator[tuple[str, str]]:
    """The kinds of which something could not be collected."""
    for name in sorted(os.listdir(resources)):
        stem, suffix = os.path.splitext(name)
        word = stem.removesuffix(_ERRORS).replace("-", "")
        kind = BY_PLURAL.get(_SHORT.get(word, word))
        if kind and suffix == ".json" and stem.endswith(_ERRORS) and small_json(os.path.join(resources, name), Any):
            yield kind.name, f"the bundle lacks some or all: {name} says why"
