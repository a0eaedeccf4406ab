"""The results of Sonobuoy, unpacked: one list for each resource, and for each namespace that it was asked of.

Before 0.54 these are arrays, and before 0.15 they are called ``Nodes.json``, and nothing in them says its kind.
Upstream: vmware-tanzu/sonobuoy, pkg/discovery/query.go and pkg/client/results/reader.go.
"""

from __future__ import annotations

import os

import msgspec

from kwhatif.api.kinds import Kind
from kwhatif.snapshot.foreign.tree import BY_PLURAL, Tree, skipped, small_json, walked

_PARTS = 3


class _Version(msgspec.Struct, rename="camel"):
    git_version: str | None = None


def sonobuoy_results(root: str) -> Tree | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Mark: ``resources/cluster`` with ``core_v1_nodes.json`` or, of old, ``Nodes.json``.
    """
    marks = ("core_v1_nodes.json", "Nodes.json")
    if not any(os.path.isfile(os.path.join(root, "resources", "cluster", mark)) for mark in marks):
        return None
    there = list(walked(root))
    wanted = {parts: kind for parts in there if (kind := _kind_of(parts)) is not None}
    version = small_json(os.path.join(root, "serverversion.json"), _Version)
    return Tree(
        layout="sonobuoy",
        files=tuple(os.path.join(root, *parts) for parts in wanted),
        heads={os.path.join(root, *parts): (kind.api_version(), kind.name) for parts, kind in wanted.items()},
        skipped=skipped(parts for parts in there if parts not in wanted),
        namespaces=frozenset(parts[2] for parts, kind in wanted.items() if kind.name == "Pod"),
        kubernetes_version=version.git_version if version else None,
    )


def _kind_of(parts: tuple[str, ...]) -> Kind | None:
    """What a file called like ``apps_v1_replicasets.json`` or ``ReplicaSets.json`` holds, if it is read."""
    match parts:
        case ("resources", "cluster", file) | ("resources", "ns", _, file) if file.endswith(".json"):
            named = file.removesuffix(".json").split("_")
            kind = BY_PLURAL.get(named[-1].lower())
            group = (kind.group or "core") if kind else ""
            return kind if len(named) == 1 or (len(named) == _PARTS and named[0] == group) else None
    return None
