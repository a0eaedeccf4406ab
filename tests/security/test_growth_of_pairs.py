"""Where each thing of one list could be held against each of another, work grows as the lists do, not as their pairs.

Counted are the lines that run, function by function, as in ``tests/test_growth.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kwhatif.api.core import Node
from kwhatif.api.decode import convert
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import Flags
from kwhatif.autoscaling.cluster_autoscaler.similar_groups import SimilarGroups
from kwhatif.simulation.autoscalers.node_groups_document import NodeGroupsFile, build_groups
from tests.cli.running import run
from tests.test_growth import container, counted_lines, of, pod

pytestmark = pytest.mark.posix

Json = dict[str, Any]
LEAST = 8


def node(name: str, **spec: Any) -> Json:
    amounts = {"cpu": "64", "memory": "64Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "pool": f"pool-{name}"}
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": amounts, "capacity": amounts, "conditions": conditions}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def groups(n: int) -> Json:
    """Groups that are alike but for a little memory, each of which has a node by its label."""
    template = {"labels": {"disk": "ssd"}}
    return {
        "apiVersion": "kwhatif.dev/v1",
        "kind": "NodeGroups",
        "flags": {"balance-similar-node-groups": True},
        "groups": of(
            n,
            lambda i: {
                "name": f"g{i}",
                "max": 3,
                "nodes": {"labels": {"pool": f"pool-n{i}"}},
                "template": {**template, "capacity": {"cpu": 64, "memory": f"{65536 + i}Mi", "pods": 110}},
            },
        ),
    }


def tolerant(n: int) -> Json:
    tolerations = of(n, lambda i: {"key": f"k{i}", "operator": "Equal", "value": "v", "effect": "NoSchedule"})
    return pod("tolerant", {"containers": [container()], "tolerations": tolerations})


def tainted(n: int) -> Json:
    return node("n0", taints=of(n, lambda i: {"key": f"k{i}", "value": "v", "effect": "NoSchedule"}))


def with_claims(n: int) -> Json:
    volumes = of(n, lambda i: {"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"c{i}"}})
    return pod("claims", {"containers": [container()], "volumes": volumes})


def volumes(n: int) -> list[Json]:
    def where(name: str) -> Json:
        term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}]}
        return {"required": {"nodeSelectorTerms": [term]}}

    modes = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    local = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    free = of(
        n,
        lambda i: {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv{i}"},
            "spec": {
                **modes,
                "capacity": {"storage": f"{i + 1}Gi"},
                "local": {"path": "/d"},
                "nodeAffinity": where("n0"),
            },
            "status": {"phase": "Available"},
        },
    )
    claims = of(
        n,
        lambda i: {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"c{i}", "namespace": "shop"},
            "spec": {**modes, "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Pending"},
        },
    )
    return [local, *free, *claims]


Made = tuple[Json, list[Json], Json]
"""A pod, a cluster, and node groups."""

CASES: dict[str, tuple[str, Callable[[int], Made]]] = {
    "tolerations and taints": (
        "place {pod} --snapshot {cluster} --assume-empty",
        lambda n: (tolerant(n), [tainted(n)], groups(1)),
    ),
    "claims and free volumes": (
        "place {pod} --snapshot {cluster} --assume-empty",
        lambda n: (with_claims(n), [node("n0"), *volumes(n)], groups(1)),
    ),
}


def test_nodes_are_found_by_the_labels_of_groups_without_looking_at_each_for_each() -> None:
    counts = []
    for size in (LEAST, 2 * LEAST, 4 * LEAST):
        nodes = [convert(node(f"n{i}"), Node) for i in range(size)]
        file = convert(groups(size), NodeGroupsFile)
        with counted_lines() as found:
            made = build_groups(file, nodes)
        assert [group.nodes for group in made.groups] == [(f"n{i}",) for i in range(size)]
        counts.append(sum(found.values()))
    one, two, four = counts
    assert four - two <= 3 * (two - one)


def test_similar_groups_are_found_without_comparing_each_with_each() -> None:
    counts = []
    for size in (LEAST, 2 * LEAST, 4 * LEAST):
        nodes = [convert(node(f"n{i}"), Node) for i in range(size)]
        made = build_groups(convert(groups(size), NodeGroupsFile), nodes).groups
        templates: dict[str, Any] = {group.name: SimpleNamespace(node=group.template, pods=()) for group in made}
        with counted_lines() as found:
            alike = SimilarGroups(templates, Flags())
            assert all(alike.names_like(name) == set(templates) for name in templates)
        counts.append(sum(found.values()))
    one, two, four = counts
    assert four - two <= 3 * (two - one)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_work_grows_as_lists_do_and_not_as_their_pairs(tmp_path: Path, name: str) -> None:
    command, make = CASES[name]
    files = {word: str(tmp_path / f"{word}.json") for word in ("pod", "cluster", "groups")}
    counts = []
    for size in (LEAST, LEAST, 2 * LEAST, 4 * LEAST):  # the first time imports and fills what is kept
        new, cluster, groups_ = make(size)
        (tmp_path / "pod.json").write_text(json.dumps(new))
        (tmp_path / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": cluster}))
        (tmp_path / "groups.json").write_text(json.dumps(groups_))
        with counted_lines() as found:
            ran = run(*command.format(**files).split())
        assert ran.code in (0, 1), ran.err
        counts.append(found)
    _, one, two, four = counts
    grown = [
        f"{function}: {one[function]}, {two[function]}, {four[function]} lines"
        for function in four
        if four[function] - two[function] > 3 * max(two[function] - one[function], LEAST)
    ]
    assert grown == []
