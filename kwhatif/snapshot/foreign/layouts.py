"""Recognisers of dumps that are directories: must-gather, Insights, cluster-info dump, Sonobuoy, support bundles.

``oc adm inspect`` writes a file for each object or list, by group, resource and namespace; ``must-gather`` has one such
tree for each image it ran, one or two directories further down. Archives of OpenShift's Insights operator have all
nodes, but of most other kinds OpenShift's own objects only. ``kubectl cluster-info dump`` writes the nodes, and a
directory of lists and logs for each namespace. Sonobuoy writes one list for each resource and namespace; before 0.54
these are arrays, before 0.15 called ``Nodes.json``, without a kind. Support bundles of troubleshoot.sh have
``cluster-resources`` with lists, or arrays in older ones. Upstream: openshift/oc,
pkg/cli/admin/inspect/{inspect,namespace,pod,util}.go and pkg/cli/admin/mustgather/mustgather.go;
openshift/insights-operator, pkg/gatherers/clusterconfig/gather_*.go;
k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go; vmware-tanzu/sonobuoy, pkg/discovery/query.go and
pkg/client/results/reader.go; replicatedhq/troubleshoot, pkg/collect/{cluster_resources,cluster_info}.go and
pkg/constants/constants.go.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from kwhatif.api.kinds import Kind
from kwhatif.snapshot.foreign.directory_dump import (
    BY_PLURAL,
    RESOURCES,
    DirectoryDump,
    count_skipped,
    small_json,
    walk_files,
)
from kwhatif.snapshot.read.files import Text, first_bytes, found_in, is_manifest, os_error, read_paths

_CLUSTER, _NAMESPACES, _PODS = "cluster-scoped-resources", "namespaces", "pods"
_LEVELS = 2
_GO_TIME = re.compile(rb"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d+)? ([+-]\d\d)(\d\d)(?!\d)")


def must_gather(root: str) -> DirectoryDump | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Marks: a directory ``cluster-scoped-resources``, or ``namespaces`` with a namespace that has ``core`` or ``pods``,
    at most two levels down; manifests beside the way to it say that this is something else.
    """
    tops = list(_gather_roots(root, _LEVELS))
    if not tops:
        return None
    files: list[tuple[bool, tuple[str, ...]]] = []
    others: list[tuple[str, ...]] = []
    namespaces = set()
    for parts in walk_files(root):
        inner = next((parts[len(top) :] for top in tops if parts[: len(top)] == top), ())
        resource = _resource_of(inner)
        if resource not in RESOURCES or not is_manifest(parts[-1]):
            others.append(parts)
            continue
        if resource == ("core", _PODS) and inner[0] == _NAMESPACES:
            namespaces.add(inner[1])
        # The pods are there twice: as one list, and alone, fetched a little later.
        files.append((inner[2] == _PODS, parts))
    return DirectoryDump(
        layout="must-gather",
        files=tuple(os.path.join(root, *parts) for _, parts in sorted(files)),
        skipped=count_skipped(others),
        namespaces=frozenset(namespaces),
        taken_at=next(filter(None, map(_start_time_of, (root, *(os.path.join(root, *top) for top in tops)))), None),
    )


def _gather_roots(root: str, levels: int) -> Iterator[tuple[str, ...]]:
    """The names that lead to each directory where one image or ``inspect`` began to write."""
    names = sorted(os.listdir(root))
    if _is_gather_root(root):
        yield ()
    elif levels and not any(map(is_manifest, names)):
        for name in names:
            below = os.path.join(root, name)
            if os.path.isdir(below) and not os.path.islink(below):
                yield from ((name, *rest) for rest in _gather_roots(below, levels - 1))


def _is_gather_root(path: str) -> bool:
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


def _start_time_of(directory: str) -> str | None:
    """When the gathering began, by the file ``timestamp``, whose lines are times as Go prints them."""
    match = _GO_TIME.match(first_bytes(os.path.join(directory, "timestamp"), 100))
    return b"%sT%s%s:%s".__mod__(match.groups()).decode() if match else None


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


def insights_archive(root: str) -> DirectoryDump | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Marks: the directories ``config/node`` and ``insights-operator``, or ``config/version.json`` in place of the latter.
    """
    marks = (os.path.join(root, "insights-operator"), os.path.join(root, _CONFIG, "version.json"))
    if not os.path.isdir(os.path.join(root, _CONFIG, "node")) or not any(map(os.path.exists, marks)):
        return None
    there = list(walk_files(root))
    wanted = {parts: kind for parts in there if (kind := _insights_kind_of(parts)) is not None}
    return DirectoryDump(
        layout="Insights",
        files=tuple(os.path.join(root, *parts) for parts in wanted),
        heads={os.path.join(root, *parts): (kind.api_version(), kind.kind) for parts, kind in wanted.items()},
        skipped=count_skipped(parts for parts in there if parts not in wanted),
        unreadable=_LEFT_OUT,
    )


def _insights_kind_of(parts: tuple[str, ...]) -> Kind | None:
    """The kind of a file, if it is read."""
    config, *directory, file = parts
    if config != _CONFIG or not directory or not file.endswith(".json"):
        return None
    any_of = (directory[0], *("*" for _ in directory[1:]))
    return BY_PLURAL.get(_DIRECTORIES.get(tuple(directory)) or _DIRECTORIES.get(any_of, ""))


_LISTS = ("replication-controllers", "services", "daemonsets", "deployments", "replicasets", "pods")
_FIRST_WRITTEN = "events"


def cluster_info_dump(root: str) -> DirectoryDump | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Marks: ``nodes.json`` and a directory with ``events.json``, which is written first; or both in YAML.
    """
    for suffix in (".json", ".yaml"):
        if os.path.isfile(os.path.join(root, f"nodes{suffix}")) and _namespaces(root, _FIRST_WRITTEN + suffix):
            return _tree(root, suffix)
    return None


def _tree(root: str, suffix: str) -> DirectoryDump:
    namespaces = _namespaces(root, f"pods{suffix}")
    lists = {(namespace, name + suffix) for namespace in _namespaces(root, "") for name in _LISTS}
    wanted: set[tuple[str, ...]] = {(f"nodes{suffix}",), *lists}
    there = list(walk_files(root))
    return DirectoryDump(
        layout="kubectl cluster-info dump",
        files=tuple(os.path.join(root, *parts) for parts in there if parts in wanted),
        skipped=count_skipped(parts for parts in there if parts not in wanted),
        namespaces=namespaces,
    )


def _namespaces(root: str, file: str) -> frozenset[str]:
    """The directories that have ``file``."""
    return frozenset(name for name in os.listdir(root) if os.path.exists(os.path.join(root, name, file)))


_PARTS = 3


class _ServerVersion(msgspec.Struct, rename="camel"):
    git_version: str | None = None


def sonobuoy_results(root: str) -> DirectoryDump | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Mark: ``resources/cluster`` with ``core_v1_nodes.json`` or, of old, ``Nodes.json``.
    """
    marks = ("core_v1_nodes.json", "Nodes.json")
    if not any(os.path.isfile(os.path.join(root, "resources", "cluster", mark)) for mark in marks):
        return None
    there = list(walk_files(root))
    wanted = {parts: kind for parts in there if (kind := _sonobuoy_kind_of(parts)) is not None}
    version = small_json(os.path.join(root, "serverversion.json"), _ServerVersion)
    return DirectoryDump(
        layout="sonobuoy",
        files=tuple(os.path.join(root, *parts) for parts in wanted),
        heads={os.path.join(root, *parts): (kind.api_version(), kind.kind) for parts, kind in wanted.items()},
        skipped=count_skipped(parts for parts in there if parts not in wanted),
        namespaces=frozenset(parts[2] for parts, kind in wanted.items() if kind.name == "Pod"),
        kubernetes_version=version.git_version if version else None,
    )


def _sonobuoy_kind_of(parts: tuple[str, ...]) -> Kind | None:
    """The kind of a file named like ``apps_v1_replicasets.json`` or ``ReplicaSets.json``, if it is read."""
    match parts:
        case ("resources", "cluster", file) | ("resources", "ns", _, file) if file.endswith(".json"):
            named = file.removesuffix(".json").split("_")
            kind = BY_PLURAL.get(named[-1].lower())
            group = (kind.group or "core") if kind else ""
            return kind if len(named) == 1 or (len(named) == _PARTS and named[0] == group) else None
    return None


_RESOURCES = "cluster-resources"
_ERRORS = "-errors"
# What they call otherwise than the API does; hyphens between words aside.
_SHORT = {"pvs": "persistentvolumes", "pvcs": "persistentvolumeclaims", "resourcequota": "resourcequotas"}


class _ClusterVersion(msgspec.Struct):
    string: str | None = None


def support_bundle(root: str) -> DirectoryDump | None:
    """The tree at ``root``, or None if it is something else. Raises InputError if it cannot be walked.

    Mark: ``cluster-resources`` with ``nodes.json`` or ``pods``, here or in the one directory that is here.
    """
    top = next(filter(_is_bundle_root, _possible_bundle_roots(root)), None)
    if top is None:
        return None
    there = list(walk_files(root))
    below = len(os.path.relpath(top, root).split(os.sep)) if top != root else 0
    wanted = {parts: kind for parts in there if (kind := _bundle_kind_of(parts[below:])) is not None}
    version = small_json(os.path.join(top, "cluster-info", "cluster_version.json"), _ClusterVersion)
    return DirectoryDump(
        layout="troubleshoot.sh",
        files=tuple(os.path.join(root, *parts) for parts in wanted),
        heads={os.path.join(root, *parts): (kind.api_version(), kind.kind) for parts, kind in wanted.items()},
        skipped=count_skipped(parts for parts in there if parts not in wanted),
        namespaces=frozenset(parts[-1].removesuffix(".json") for parts, kind in wanted.items() if kind.name == "Pod"),
        unreadable=dict(_missing(os.path.join(top, _RESOURCES))),
        kubernetes_version=version.string if version else None,
    )


def _possible_bundle_roots(root: str) -> Iterator[str]:
    """Where a bundle may begin: it is packed with a directory around it."""
    yield root
    names = os.listdir(root)
    if len(names) == 1:
        yield os.path.join(root, names[0])


def _is_bundle_root(path: str) -> bool:
    resources = os.path.join(path, _RESOURCES)
    return os.path.isfile(os.path.join(resources, "nodes.json")) or os.path.isdir(os.path.join(resources, "pods"))


def _bundle_kind_of(parts: tuple[str, ...]) -> Kind | None:
    """The kind of a file, if it is read."""
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


# Archives of Insights have a part that looks like a must-gather.
RECOGNISERS = (insights_archive, must_gather, sonobuoy_results, support_bundle, cluster_info_dump)


def tree_of(path: str) -> DirectoryDump | None:
    """The files of a dump; None of a file, standard input or a directory of manifests. Raises InputError."""
    if not os.path.isdir(path):
        return None
    try:
        dump = next((tree for recognise in RECOGNISERS if (tree := recognise(path)) is not None), None)
    except OSError as error:
        raise os_error(error, error.filename or path) from None
    for file in dump.files if dump else ():
        found_in(path, file)
    return dump


def texts_of(path: str, dump: DirectoryDump | None) -> Iterator[tuple[Text, tuple[str, str]]]:
    """What is to be read of a path, with apiVersion and kind where the tree knows them alone. Raises InputError."""
    for file in dump.files if dump else [path]:
        for text in read_paths([file]):
            yield text, dump.heads.get(file, ("", "")) if dump else ("", "")
