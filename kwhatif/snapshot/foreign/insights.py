"""Archives of OpenShift's Insights operator, unpacked: a file for each object, most of them without their types.

They hold all nodes, but of most other kinds what OpenShift itself runs. Upstream: openshift/insights-operator,
pkg/gatherers/clusterconfig/gather_*.go.
"""

from __future__ import annotations

import os

from kwhatif.api.kinds import Kind
from kwhatif.snapshot.foreign.tree import BY_PLURAL, Tree, skipped, walked

_CONFIG = "config"
_DIRECTORIES = {
    ("node",): "nodes",
    ("pod", "*"): "pods",
    ("pdbs", "*"): "poddisruptionbudgets",
    ("persistentvolumes",): "persistentvolumes",
    ("storage", "storageclasses"): "storageclasses",
}

_LEFT_OUT = {
    "Pod": "the archive holds those of OpenShift's operators and some that fail alone",
    "PodDisruptionBudget": "the archive holds those of OpenShift's own namespaces alone",
    "PersistentVolume": "the archive holds those of the registry and of monitoring alone",
}
"""Kind -> why it is not there in full."""


def insights_archive(root: str) -> Tree | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Marks: the directories ``config/node`` and ``insights-operator``, or ``config/version.json`` in place of the latter.
    """
    marks = (os.path.join(root, "insights-operator"), os.path.join(root, _CONFIG, "version.json"))
    if not os.path.isdir(os.path.join(root, _CONFIG, "node")) or not any(map(os.path.exists, marks)):
        return None
    there = list(walked(root))
    wanted = {parts: kind for parts in there if (kind := _kind_of(parts)) is not None}
    return Tree(
        layout="Insights",
        files=tuple(os.path.join(root, *parts) for parts in wanted),
        heads={os.path.join(root, *parts): (kind.api_version(), kind.name) for parts, kind in wanted.items()},
        skipped=skipped(parts for parts in there if parts not in wanted),
        unreadable=_LEFT_OUT,
    )


def _kind_of(parts: tuple[str, ...]) -> Kind | None:
    """What a file holds, if it is read."""
    config, *directory, file = parts
    if config != _CONFIG or not directory or not file.endswith(".json"):
        return None
    any_of = (directory[0], *("*" for _ in directory[1:]))
    return BY_PLURAL.get(_DIRECTORIES.get(tuple(directory)) or _DIRECTORIES.get(any_of, ""))
