"""``kubectl cluster-info dump``: a directory with the nodes, and one of lists and logs for each namespace.

Upstream: k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go.
"""

from __future__ import annotations

import os

from kwhatif.snapshot.foreign.tree import Tree, skipped, walked

_LISTS = ("replication-controllers", "services", "daemonsets", "deployments", "replicasets", "pods")
_FIRST_WRITTEN = "events"


def cluster_info_dump(root: str) -> Tree | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Marks: ``nodes.json`` and a directory with ``events.json``, which is written first; or both in YAML.
    """
    for suffix in (".json", ".yaml"):
        if os.path.isfile(os.path.join(root, f"nodes{suffix}")) and _namespaces(root, _FIRST_WRITTEN + suffix):
            return _tree(root, suffix)
    return None


def _tree(root: str, suffix: str) -> Tree:
    namespaces = _namespaces(root, f"pods{suffix}")
    lists = {(namespace, name + suffix) for namespace in _namespaces(root, "") for name in _LISTS}
    wanted: set[tuple[str, ...]] = {(f"nodes{suffix}",), *lists}
    there = list(walked(root))
    return Tree(
        layout="kubectl cluster-info dump",
        files=tuple(os.path.join(root, *parts) for parts in there if parts in wanted),
        skipped=skipped(parts for parts in there if parts not in wanted),
        namespaces=namespaces,
    )


def _namespaces(root: str, file: str) -> frozenset[str]:
    """The directories that have ``file``."""
    return frozenset(name for name in os.listdir(root) if os.path.exists(os.path.join(root, name, file)))
