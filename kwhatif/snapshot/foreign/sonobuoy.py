"""The results of Sonobuoy, unpacked: one list for each resource, and for each namespace that it was asked of.

Upstream: vmware-tanzu/sonobuoy, pkg/discovery/query.go and pkg/client/results/reader.go.
"""

from __future__ import annotations

import os

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.errors import InputError
from kwhatif.snapshot.foreign.tree import RESOURCES, Tree, skipped, walked

_PARTS = 3
_LARGEST_VERSION_FILE = 64 * 1024


class _Version(msgspec.Struct, rename="camel"):
    git_version: str | None = None


def sonobuoy_results(root: str) -> Tree | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Mark: ``resources/cluster/core_v1_nodes.json``.
    """
    if not os.path.isfile(os.path.join(root, "resources", "cluster", "core_v1_nodes.json")):
        return None
    there = list(walked(root))
    wanted = {parts: resource for parts in there if (resource := _resource_of(parts)) in RESOURCES}
    return Tree(
        layout="sonobuoy",
        files=tuple(os.path.join(root, *parts) for parts in wanted),
        skipped=skipped(parts for parts in there if parts not in wanted),
        namespaces=frozenset(parts[2] for parts, resource in wanted.items() if resource == ("core", "pods")),
        kubernetes_version=_version(os.path.join(root, "serverversion.json")),
    )


def _resource_of(parts: tuple[str, ...]) -> tuple[str, str]:
    """The group and resource in a name like ``apps_v1_replicasets.json``; nothing sensible for other files."""
    match parts:
        case ("resources", "cluster", file) | ("resources", "ns", _, file) if file.endswith(".json"):
            named = file.removesuffix(".json").split("_")
            return (named[0], named[2]) if len(named) == _PARTS else ("", "")
    return "", ""


def _version(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return decode_json(file.read(_LARGEST_VERSION_FILE), _Version).git_version
    except (OSError, InputError):
        return None
