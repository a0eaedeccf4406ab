"""What hypothesis draws clusters from: few names and few amounts, so that pods meet, clash and tie.

A pod is drawn as a *kind*: keyword arguments of ``builders.pod``, put together from parts. Pods of one kind
share their shape, as the replicas of a Deployment do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

from kwhatif.api.core import Node, Pod
from kwhatif.api.meta import Resource
from kwhatif.cluster.cluster import Cluster
from tests.builders import (
    GPU,
    HOSTNAME,
    MIB,
    ZONE,
    Json,
    budget,
    cluster_of,
    container,
    namespace,
    node,
    node_term,
    pod,
    pods_like,
    profile_document,
    select,
    service,
    spread,
)

Kind = dict[str, Any]

# Not in alphabetical order, so that the first in the list is rarely the first by name.
NODE_NAMES = ("m", "c", "x", "a", "t", "g", "e", "k")
NAMESPACES = ("default", "other")
PRIORITIES = (-5, 0, 10, 100)
IMAGES = {"app:v1": 300 * MIB, "registry.example:5000/db:latest": 90 * MIB, "tool:v2": 20 * MIB}

_APPS = ({"app": "a"}, {"app": "b"}, {"app": "a", "tier": "x"}, None)
_SELECTORS = (
    select(app="a"),
    select(app="b"),
    select("app Exists"),
    select("tier NotIn x"),
    select(tier="x"),
)
_TOPOLOGIES = (ZONE, HOSTNAME)
_TAINTS = (
    "dedicated=gpu:NoSchedule",
    "spot:PreferNoSchedule",
    "gone:NoExecute",
    "slow=very:PreferNoSchedule",
)
_TOLERATIONS = ("dedicated=gpu:NoSchedule", "spot", "gone:NoExecute", "*", "dedicated=cpu")
_PORTS = (("80",), ("80", "443"), ("10.0.0.1:80",), ("80/UDP",), ("10.0.0.2:443",))
_NODE_TERMS = (
    node_term("disk In ssd"),
    node_term("disk NotIn ssd"),
    node_term("cores Gt 4"),
    node_term("disk Exists", "cores Lt 8"),
    node_term(fields=("metadata.name In c",)),
    node_term(fields=("metadata.name In a",)),
)
_STARTS = (None, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:02.5Z")


def _one(*choices: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(choices)


def _some(choices: Sequence[Any], most: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(choices), min_size=1, max_size=most)


# --- nodes


@st.composite
def node_lists(draw: st.DrawFn, min_size: int = 1, max_size: int = 6) -> list[Node]:
    """Nodes in the order in which they joined."""
    size = draw(st.integers(min_size, max_size))
    return [draw(_nodes(name)) for name in NODE_NAMES[:size]]


def _nodes(name: str) -> st.SearchStrategy[Node]:
    return node_kinds().map(lambda kind: node(name, **kind))


def node_kinds() -> st.SearchStrategy[Kind]:
    """Keyword arguments for ``builders.node``."""
    return st.fixed_dictionaries(
        {
            "cpu": _one("1", "2", "3500m"),
            "memory": _one("1Gi", "2Gi", "3Gi"),
            "pods": _one(110, 110, 4),
            "allocatable": _one(None, {GPU: "2"}, {GPU: "1", "ephemeral-storage": "10Gi"}),
            "zone": _one("z0", "z1", "z2", None),
            "labels": _one(None, {"disk": "ssd"}, {"disk": "hdd", "cores": "4"}, {"cores": "8"}),
            "taints": _one((), (), _TAINTS[:1], _TAINTS[1:2], _TAINTS[2:3], _TAINTS[1:]),
            "cordoned": _one(False, False, False, True),
            "images": _one(None, IMAGES, {"app:v1": IMAGES["app:v1"]}),
        }
    )


# --- pods


def _terms() -> st.SearchStrategy[Json]:
    return st.builds(
        pods_like,
        st.sampled_from(_SELECTORS),
        _one(*_TOPOLOGIES),
        namespaces=_one((), (), ("other",)),
        namespace_selector=_one(None, None, select(team="blue"), select("team NotIn blue"), select()),
    )


def _weighted(terms: st.SearchStrategy[Json]) -> st.SearchStrategy[list[tuple[int, Json]]]:
    return st.lists(st.tuples(_one(1, 50, 100), terms), min_size=1, max_size=2)


def _constraints() -> st.SearchStrategy[Json]:
    return st.builds(
        spread,
        st.sampled_from(_SELECTORS),
        _one(*_TOPOLOGIES),
        skew=_one(1, 1, 2),
        hard=st.booleans(),
        affinity_policy=_one(None, "Ignore"),
        taints_policy=_one(None, "Honor"),
        match_label_keys=_one(None, ("tier",)),
    )


def _sidecar() -> Json:
    return container(cpu="100m", memory="64Mi", name="sidecar", restart="Always")


PARTS: Mapping[str, st.SearchStrategy[Kind]] = {
    "requests": st.fixed_dictionaries({"cpu": _one("100m", "500m", "1", "2"), "memory": _one("100Mi", "1Gi")}),
    "small": st.fixed_dictionaries({"cpu": _one("100m", "300m")}),
    "devices": st.fixed_dictionaries({"requests": _one({GPU: "1"}, {GPU: "2", "ephemeral-storage": "4Gi"})}),
    "init": st.fixed_dictionaries(
        {
            "init": _one(
                (container(cpu="1500m", name="first"),),
                (_sidecar(), container(memory="900Mi", name="second")),
                (container(cpu="1", name="first"), _sidecar()),
            )
        }
    ),
    "overhead": st.fixed_dictionaries({"overhead": _one({"cpu": "250m"}, {"memory": "120Mi"})}),
    "pod level": st.fixed_dictionaries({"pod_level": _one({"cpu": "1"}, {"cpu": "700m", "memory": "1Gi"})}),
    "ports": st.fixed_dictionaries({"ports": st.sampled_from(_PORTS)}),
    "tolerations": st.fixed_dictionaries({"tolerations": _some(_TOLERATIONS, 2)}),
    "node selector": st.fixed_dictionaries({"node_selector": _one({"disk": "ssd"}, {"cores": "8"})}),
    "node affinity": st.fixed_dictionaries({"nodes": _some(_NODE_TERMS, 2)}),
    "node preferences": st.fixed_dictionaries({"prefers_nodes": _weighted(st.sampled_from(_NODE_TERMS[:4]))}),
    "near": st.fixed_dictionaries({"near": st.lists(_terms(), min_size=1, max_size=2)}),
    "far": st.fixed_dictionaries({"far": st.lists(_terms(), min_size=1, max_size=2)}),
    "prefers near": st.fixed_dictionaries({"prefers_near": _weighted(_terms())}),
    "prefers far": st.fixed_dictionaries({"prefers_far": _weighted(_terms())}),
    "spread": st.fixed_dictionaries({"constraints": st.lists(_constraints(), min_size=1, max_size=2)}),
    "image": st.fixed_dictionaries({"image": _one("app:v1", "registry.example:5000/db", "tool:v2")}),
}
"""Part -> what it adds to a kind of pod."""

RESOURCE_PARTS = ("requests", "small", "devices", "init", "overhead", "pod level")
FILTER_PARTS = (
    *RESOURCE_PARTS,
    "ports",
    "tolerations",
    "node selector",
    "node affinity",
    "near",
    "far",
    "spread",
)
ALL_PARTS = tuple(PARTS)


@st.composite
def kinds(draw: st.DrawFn, parts: Iterable[str] = ALL_PARTS, most: int = 3) -> Kind:
    """Keyword arguments for ``builders.pod``."""
    names = draw(st.lists(st.sampled_from(tuple(parts)), max_size=most, unique=True))
    kind: Kind = {"labels": draw(st.sampled_from(_APPS)), "namespace": draw(_one("default", *NAMESPACES))}
    for name in names:
        kind |= draw(PARTS[name])
    if "init" in kind or "ports" in kind:
        # Those parts replace or sit inside the main container; what it asks for stays.
        kind.setdefault("cpu", "100m")
    return kind


# --- clusters


@dataclass(frozen=True)
class GeneratedCluster:
    """A cluster and pods that wait for a node."""

    nodes: list[Node]
    running: list[Pod]
    pending: list[Pod]
    objects: list[Resource] = field(default_factory=list)

    def cluster(self) -> Cluster:
        return cluster_of(self.nodes, self.running, self.objects)


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    parts: Iterable[str] = ALL_PARTS,
    max_nodes: int = 6,
    max_running: int = 10,
    max_pending: int = 3,
    terminating: bool = False,
    budgets: bool = False,
) -> GeneratedCluster:
    """Clusters whose pods are of three kinds at most; running pods may crowd a node, as bound pods may."""
    nodes = draw(node_lists(max_size=max_nodes))
    some = draw(st.lists(kinds(parts), min_size=1, max_size=3))
    names = [found.name for found in nodes]
    placed = draw(
        st.lists(
            st.tuples(
                st.sampled_from(some),
                st.sampled_from(names),
                st.sampled_from(PRIORITIES),
                st.sampled_from(_STARTS),
                st.booleans() if terminating else st.just(False),
            ),
            max_size=max_running,
        )
    )
    running = [
        pod(f"r{i}", on=on, priority=priority, started=started, terminating=ending, **kind)
        for i, (kind, on, priority, started, ending) in enumerate(placed)
    ]
    waiting = draw(
        st.lists(st.tuples(st.sampled_from(some), st.sampled_from(PRIORITIES)), min_size=1, max_size=max_pending)
    )
    pending = [pod(f"p{i}", priority=priority, **kind) for i, (kind, priority) in enumerate(waiting)]
    objects: list[Resource] = [namespace("default"), namespace("other", team="blue")]
    objects += draw(st.lists(st.builds(service, st.just("svc"), _one({"app": "a"}, {"app": "b"})), max_size=1))
    if budgets:
        objects += draw(st.lists(disruption_budgets(), max_size=2))
    return GeneratedCluster(nodes, running, pending, objects)


@st.composite
def crowds(draw: st.DrawFn, *, parts: Iterable[str] = FILTER_PARTS, max_nodes: int = 4) -> GeneratedCluster:
    """Full nodes and important pods that wait: scenarios for preemption. The last pending pod is the one to place."""
    some = draw(st.lists(kinds(parts, most=2), min_size=2, max_size=4))
    nodes: list[Node] = []
    running: list[Pod] = []
    for name in NODE_NAMES[: draw(st.integers(1, max_nodes))]:
        crew = draw(
            st.lists(
                st.tuples(st.sampled_from(some), st.sampled_from(PRIORITIES), st.sampled_from(_STARTS)),
                min_size=2,
                max_size=5,
            )
        )
        running += [
            pod(f"{name}{i}", on=name, priority=priority, started=started, **kind)
            for i, (kind, priority, started) in enumerate(crew)
        ]
        nodes.append(
            node(
                name,
                cpu=draw(_one("1", "2")),
                memory="2Gi",
                pods=len(crew) if draw(st.booleans()) else 110,
                allocatable={GPU: "2", "ephemeral-storage": "10Gi"},
                zone=draw(_one("z0", "z1")),
                labels={"disk": draw(_one("ssd", "ssd", "hdd")), "cores": "8"},
            )
        )
    waiting = draw(st.lists(st.tuples(st.sampled_from(some), _one(0, 50, 100)), max_size=2))
    pending = [pod(f"p{i}", priority=priority, **kind) for i, (kind, priority) in enumerate(waiting)]
    vip = draw(kinds(parts, most=3)) | {"cpu": draw(_one("500m", "1", "2"))}
    pending.append(pod("vip", priority=draw(_one(50, 100)), **vip))
    objects: list[Resource] = [namespace("default"), namespace("other", team="blue")]
    objects += draw(st.lists(disruption_budgets(), max_size=2))
    return GeneratedCluster(nodes, running, pending, objects)


@st.composite
def large_scenarios(
    draw: st.DrawFn, least: int, most: int, *, parts: Iterable[str] = ALL_PARTS, pending: int = 3
) -> GeneratedCluster:
    """So many nodes, of few kinds, dealt at random with pods of few kinds: drawing each of them would take too long."""
    some_nodes = draw(st.lists(node_kinds(), min_size=2, max_size=5))
    some_pods = draw(st.lists(kinds(parts), min_size=2, max_size=4))
    random = Random(draw(st.integers(0, 2**32)))
    names = [f"n{place:03}" for place in range(random.randint(least, most))]
    random.shuffle(names)
    priorities = PRIORITIES if random.random() < 0.5 else (0,)

    def somebody(name: str, on: str | None = None) -> Pod:
        return pod(name, on=on, priority=random.choice(priorities), **random.choice(some_pods))

    return GeneratedCluster(
        [node(name, **random.choice(some_nodes)) for name in names],
        [somebody(f"r{place}", random.choice(names)) for place in range(random.randint(0, len(names)))],
        [somebody(f"p{place}") for place in range(pending)],
        [namespace("default"), namespace("other", team="blue"), service("svc", {"app": "a"})],
    )


def disruption_budgets() -> st.SearchStrategy[Resource]:
    return st.builds(
        budget,
        _one("b0", "b1"),
        _one(select(app="a"), select(app="b"), select("app Exists"), select(), None),
        allowed=_one(0, 1, 2),
        disrupted=_one((), ("r0",)),
        namespace=_one("default", *NAMESPACES),
    )


# --- profiles


def profiles() -> st.SearchStrategy[Json | None]:
    """Configurations that score and search in other ways than the default one."""
    return st.one_of(
        st.none(),
        st.builds(lambda percentage: profile_document(percentage=percentage), _one(1, 50, 100)),
        st.builds(
            lambda strategy: profile_document(args={"NodeResourcesFit": {"scoringStrategy": strategy}}),
            _one(
                {
                    "type": "MostAllocated",
                    "resources": [{"name": "cpu", "weight": 3}, {"name": GPU, "weight": 1}],
                },
                {
                    "type": "RequestedToCapacityRatio",
                    "resources": [{"name": "memory", "weight": 1}, {"name": "cpu", "weight": 2}],
                    "requestedToCapacityRatio": {
                        "shape": [
                            {"utilization": 0, "score": 2},
                            {"utilization": 60, "score": 10},
                            {"utilization": 100, "score": 0},
                        ]
                    },
                },
            ),
        ),
        st.builds(
            lambda weight: profile_document(args={"InterPodAffinity": {"hardPodAffinityWeight": weight}}),
            _one(0, 40),
        ),
        st.just(
            profile_document(
                args={
                    "PodTopologySpread": {
                        "defaultingType": "List",
                        "defaultConstraints": [
                            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
                            {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"},
                        ],
                    }
                }
            )
        ),
    )
