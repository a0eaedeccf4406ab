"""What hypothesis draws storage from: few sizes, classes and places, so that claims compete for volumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from kwhatif.api.core import Node, Pod
from kwhatif.api.meta import Resource
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim
from kwhatif.cluster.cluster import Cluster
from tests.builders import ZONE, cluster_of, node, node_term, select
from tests.storage_builders import DRIVER, capacity, claim, claiming, driver, storage_class, volume
from tests.strategies import NODE_NAMES

CLAIM_NAMES = ("c0", "c1", "c2", "c3", "c4")
CLASSES = ("std", "std", "made")
ZONES = ("z0", "z1")
_ONE, _MANY = "ReadWriteOnce", "ReadWriteMany"

FIXED: tuple[Resource, ...] = (
    storage_class(),
    storage_class("made", provisioner=DRIVER, topologies=[{ZONE: ["z0"]}]),
    driver(),
    capacity("2Gi", at={ZONE: "z0"}, storage_class="made"),
)
"""A class that nobody provisions, and one that is provisioned in one zone as long as there is room."""


@dataclass(frozen=True)
class Store:
    """A cluster without pods, its storage, and pods that wait."""

    nodes: list[Node]
    volumes: list[PersistentVolume]
    claims: list[PersistentVolumeClaim]
    pending: list[Pod]

    def cluster(self, volumes: Sequence[PersistentVolume] | None = None) -> Cluster:
        there = self.volumes if volumes is None else volumes
        return cluster_of(self.nodes, (), (*FIXED, *there, *self.claims))


def claims(name: str, classes: Sequence[str] = CLASSES) -> st.SearchStrategy[PersistentVolumeClaim]:
    return st.builds(
        claim,
        st.just(name),
        size=st.sampled_from(("1Gi", "1Gi", "2Gi", "3Gi")),
        storage_class=st.sampled_from(classes),
        modes=st.sampled_from(((_ONE,), (_ONE,), (_ONE, _MANY))),
        selector=st.sampled_from((None, None, None, select(tier="x"))),
        selected=st.sampled_from((None,) * 7 + ("c",)),
    )


@st.composite
def volumes(draw: st.DrawFn, name: str, size: str | None = None, kept_for: str | None = None) -> PersistentVolume:
    place: dict[str, Any] = draw(
        st.sampled_from(
            (
                {},
                *({"on": place} for place in NODE_NAMES[:3]),
                {"terms": [node_term(f"{ZONE} In z0")]},
                {"terms": [node_term(f"{ZONE} In z1 z0"), node_term("disk Exists")]},
                {"terms": [node_term(f"{ZONE} NotIn z0")]},
            )
        )
    )
    return volume(
        name,
        size=size or draw(st.sampled_from(("1Gi", "2Gi", "3Gi"))),
        storage_class=draw(st.sampled_from(CLASSES)),
        modes=draw(st.sampled_from(((_ONE,), (_ONE, _MANY), (_ONE, _MANY)))),
        labels=draw(st.sampled_from((None, {"tier": "x"}))),
        phase=draw(st.sampled_from(("Available",) * 5 + ("Released",))),
        kept_for=kept_for,
        **place,
    )


@st.composite
def stores(draw: st.DrawFn, *, shared: bool = True, provisioned: bool = True, distinct_sizes: bool = False) -> Store:
    """Up to four nodes, nine volumes and five claims, of which a volume is kept for one now and then.

    Pods may have ``shared`` claims; claims may be ``provisioned``.
    """
    some = [
        node(name, zone=draw(st.sampled_from((*ZONES, None))), labels=draw(st.sampled_from((None, {"disk": "ssd"}))))
        for name in NODE_NAMES[: draw(st.integers(1, 4))]
    ]
    wanted = [draw(claims(name, CLASSES if provisioned else CLASSES[:1])) for name in CLAIM_NAMES]
    count = draw(st.integers(0, 9))
    keeps: list[str | None] = [*draw(st.lists(st.sampled_from(CLAIM_NAMES), max_size=2, unique=True))]
    keeps += [None] * count
    there = [
        draw(volumes(f"p{index}", f"{1024 + 300 * index}Mi" if distinct_sizes else None, keeps[index]))
        for index in range(count)
    ]
    pending = [claiming(*names, name=f"w{index}") for index, names in enumerate(draw(_shares(shared=shared)))]
    return Store(some, there, wanted, pending)


@st.composite
def _shares(draw: st.DrawFn, *, shared: bool) -> list[list[str]]:
    """The claims of each pod."""
    if shared:
        one = st.lists(st.sampled_from(CLAIM_NAMES), min_size=1, max_size=3, unique=True)
        return draw(st.lists(one, min_size=1, max_size=5))
    owners = [draw(st.integers(0, 3)) for _ in CLAIM_NAMES]
    dealt = ([name for name, owner in zip(CLAIM_NAMES, owners, strict=True) if owner == pod] for pod in range(4))
    return [names for names in dealt if names]
