"""A cluster after changes of its nodes and pods is the one that is loaded with them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shape_table import ShapeTable
from tests.builders import FEATURES, node, pod
from tests.cluster.test_without import contents


def everything(cluster: Cluster) -> object:
    """All there is to know, with the order of whatever has one."""
    names = cluster.columns.names
    return (
        [(name, _given(found)) for name, found in contents(cluster).items()],
        [(name, [info.key for info in cluster.pods_on[row]]) for row, name in enumerate(names)],
        [(info.key, names[row], info.pod) for info, row in cluster.pods()],
        [each.identity for each in cluster.pending],
        {name: [info.key for info in infos] for name, infos in cluster._elsewhere.items()},
        (dict(cluster.uids()), cluster.node_order.tolist(), cluster.columns.nodes),
    )


def _given(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Without resources that nobody has any more."""
    requested, allocatable, *rest = found
    return requested, {name: amount for name, amount in allocatable.items() if amount}, *rest


class Life:
    """Nodes and pods that come, change and go, kept in the order of their names."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.nodes = {f"n{i:02}": self.node(f"n{i:02}") for i in range(8)}
        self.pods = {f"p{i:03}": self.pod(f"p{i:03}") for i in range(60)}

    def node(self, name: str) -> Node:
        gpus = {"example.com/gpu": "4"} if self.random.random() < 0.2 else {}
        return node(name, zone=self.random.choice("ab"), allocatable={"cpu": str(self.random.randint(1, 64)), **gpus})

    def pod(self, name: str) -> Pod:
        pick = self.random
        return pod(
            name,
            on=pick.choice([None, "n99", *self.nodes]),
            cpu=f"{pick.randint(1, 4)}00m",
            labels={"app": pick.choice("abc")},
            ports=pick.choice([(), (), (8080,)]),
            status={"phase": pick.choice(["Running"] * 5 + ["Succeeded"])},
        )

    def go_on(self) -> None:
        for _ in range(self.random.randint(1, 5)):
            name = f"p{self.random.randrange(80):03}"
            if name in self.pods and self.random.random() < 0.4:
                del self.pods[name]
            else:
                self.pods[name] = self.pod(name)
        if self.random.random() < 0.5:
            name = f"n{self.random.randrange(10):02}"
            if name in self.nodes and self.random.random() < 0.4:
                del self.nodes[name]
            else:
                self.nodes[name] = self.node(name)

    def put(self, objects: Objects) -> Objects:
        objects.put(Node, [found for _, found in sorted(self.nodes.items())])
        objects.put(Pod, [found for _, found in sorted(self.pods.items())])
        return objects


@pytest.mark.parametrize("seed", range(4))
def test_a_cluster_that_follows_changes_is_one_that_is_loaded(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    life = Life(seed)
    kept = life.put(Objects())
    Cluster.load(kept, FEATURES)
    loaded, load = [], Cluster._of_pods

    def count(objects: Objects, shapes: ShapeTable) -> Cluster:
        loaded.append(objects)
        return load(objects, shapes)

    monkeypatch.setattr(Cluster, "_of_pods", count)
    for _ in range(25):
        life.go_on()
        followed, asked = Cluster.load(life.put(kept), FEATURES), len(loaded)
        assert everything(followed) == everything(Cluster.load(life.put(Objects()), FEATURES))
        assert asked == len(loaded) - 1, "it was loaded anew"


def test_a_question_about_other_pods_leaves_the_cluster_as_it_is() -> None:
    kept = Life(5).put(Objects())
    before = everything(Cluster.load(kept, FEATURES))
    other = kept.copy()
    other.list_all(Pod).pop()
    other.list_all(Node).reverse()
    assert everything(Cluster.load(other, FEATURES)) != before
    assert everything(Cluster.load(kept, FEATURES)) == before


def test_pods_of_groups_are_loaded_anew() -> None:
    life = Life(6)
    kept = life.put(Objects())
    Cluster.load(kept, FEATURES)
    life.pods["p000"] = pod("p000", spec={"schedulingGroup": {"podGroupName": "g"}})
    members = Cluster.load(life.put(kept), FEATURES).pod_groups.members(("default", "g"))
    assert list(members) == ["uid-default-p000"]
