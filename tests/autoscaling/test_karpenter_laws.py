"""What holds of Karpenter's rounds, whatever the pods, the catalogue and the limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import OwnerReference
from kwhatif.api.node_provisioning import NodeClaim, NodePool
from kwhatif.autoscaling.karpenter.consolidation import METHODS, consolidate
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot
from kwhatif.autoscaling.karpenter.pod_data import fits
from kwhatif.autoscaling.karpenter.scheduler import SchedulingResults, provision
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import start_time
from kwhatif.simulation.autoscalers.instance_types_document import InstanceTypesFile, build_catalogue
from tests.builders import cluster_of, scheduler_for

pytestmark = pytest.mark.long

WAITS = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}

offerings = st.fixed_dictionaries(
    {
        "zone": st.sampled_from("ab"),
        "capacityType": st.sampled_from(("spot", "on-demand")),
        "price": st.integers(1, 9),
        "available": st.booleans(),
    }
)
sizes = st.tuples(st.integers(1, 16), st.integers(1, 32), st.lists(offerings, max_size=4))
requests = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 24), st.sampled_from(("", "a", "b"))), max_size=8)


def types_of(found: list[tuple[int, int, list[dict[str, Any]]]]) -> list[dict[str, Any]]:
    return [
        {"name": f"t{i}", "capacity": {"cpu": cpu, "memory": f"{memory}Gi", "pods": 4}, "offerings": there}
        for i, (cpu, memory, there) in enumerate(found)
    ]


def pod_of(number: int, cpu: int, memory: int, zone: str) -> Pod:
    asked = {"requests": {"cpu": cpu, "memory": f"{memory}Gi"}}
    selector = {"topology.kubernetes.io/zone": zone} if zone else {}
    plain = {
        "metadata": {"name": f"p{number}", "namespace": "default", "uid": f"p{number}"},
        "spec": {"containers": [{"name": "main", "resources": asked}], "nodeSelector": selector},
        "status": WAITS,
    }
    return convert(plain, Pod)


def world_of(types: list[dict[str, Any]], pods: list[Pod], **spec: Any) -> KarpenterSnapshot:
    pool = convert({"metadata": {"name": "any"}, "spec": spec, "status": READY}, NodePool)
    head = {"apiVersion": "kwhatif.dev/v1", "kind": "InstanceTypes"}
    known = build_catalogue(convert({**head, "types": types}, InstanceTypesFile))
    return KarpenterSnapshot(0, Objects(), pods, [pool], known.catalogue, known.offered, known.options)


def told(world: KarpenterSnapshot, found: SchedulingResults) -> list[tuple[set[str], set[str]]]:
    """Of each NodeClaim its pods and the names of its types."""
    return [
        ({wants.key for wants in claim.pods}, {world.catalogue.types[row].name for row in claim.types})
        for claim in found.claims
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(sizes, max_size=6), requests)
def test_the_pods_of_a_machine_fit_every_type_that_is_left_and_every_pod_is_accounted_for(
    found: list[tuple[int, int, list[dict[str, Any]]]], asked: list[tuple[int, int, str]]
) -> None:
    pods = [pod_of(number, *each) for number, each in enumerate(asked)]
    world = world_of(types_of(found), pods)
    result = provision(world).results
    for claim in result.claims:
        assert len(claim.types)
        assert all(fits(claim.requests, world.catalogue.types[row].allocatable) for row in claim.types)
        assert all(world.catalogue.offers_of(int(row), claim.requirements) for row in claim.types)
    bought = [wants.key for claim in result.claims for wants in claim.pods]
    assert sorted([*bought, *result.errors]) == sorted(f"default/{pod.name}" for pod in pods)


@settings(max_examples=60, deadline=None)
@given(st.lists(sizes, max_size=6), requests, st.integers(0, 40))
def test_limits_hold_whichever_types_are_launched(
    found: list[tuple[int, int, list[dict[str, Any]]]], asked: list[tuple[int, int, str]], limit: int
) -> None:
    world = world_of(
        types_of(found), [pod_of(number, *each) for number, each in enumerate(asked)], limits={"cpu": limit}
    )
    largest = [
        max(world.catalogue.types[row].capacity["cpu"].milli_value() for row in claim.types)
        for claim in provision(world).results.claims
    ]
    assert sum(largest) <= limit * 1000


@settings(max_examples=60, deadline=None)
@given(st.lists(sizes, max_size=6), requests)
def test_offerings_that_are_not_available_might_as_well_not_be_there(
    found: list[tuple[int, int, list[dict[str, Any]]]], asked: list[tuple[int, int, str]]
) -> None:
    pods = [pod_of(number, *each) for number, each in enumerate(asked)]
    without = [(cpu, memory, [each for each in there if each["available"]]) for cpu, memory, there in found]
    worlds = [world_of(types_of(each), pods) for each in (found, without)]
    first, second = (told(world, provision(world).results) for world in worlds)
    assert first == second


@settings(max_examples=60, deadline=None)
@given(st.lists(sizes, max_size=6), requests, st.integers(1, 4))
def test_as_many_types_are_left_as_the_pool_insists_on(
    found: list[tuple[int, int, list[dict[str, Any]]]], asked: list[tuple[int, int, str]], least: int
) -> None:
    choice = {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": least}
    pods = [pod_of(number, *each) for number, each in enumerate(asked)]
    world = world_of(types_of(found), pods, template={"spec": {"requirements": [choice]}})
    assert all(len(claim.types) >= least for claim in provision(world).results.claims)


# --- asked of the scheduler's own filters


def node_of(name: str, allocatable: Mapping[str, int], labels: dict[str, str], **spec: Any) -> Node:
    amounts = {resource: f"{amount}m" for resource, amount in allocatable.items()}
    status = {"allocatable": amounts, "capacity": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    return convert({"metadata": metadata, "spec": spec, "status": status}, Node)


def all_fit(cluster: Cluster, homes: Mapping[str, str], pods: Mapping[str, Pod]) -> bool:
    """Whether the scheduler's filters let every pod have its node, one after the other."""
    for key, home in homes.items():
        info, row = cluster.shapes.info(pods[key]), cluster.columns.row(home)
        evaluation = scheduler_for(cluster).evaluate_all_nodes(info)
        if row is None or evaluation is None or not evaluation.verdicts(info).feasible[row]:
            return False
        cluster.assume(info, row)
    return True


@settings(max_examples=30, deadline=None)
@given(st.lists(sizes, min_size=1, max_size=4), requests)
def test_on_a_node_of_any_type_that_is_left_the_scheduler_takes_all_pods_of_the_machine(
    found: list[tuple[int, int, list[dict[str, Any]]]], asked: list[tuple[int, int, str]]
) -> None:
    pods = {f"default/p{number}": pod_of(number, *each) for number, each in enumerate(asked)}
    world = world_of(types_of(found), list(pods.values()))
    for claim in provision(world).results.claims:
        for row in claim.types.tolist():
            offer = world.catalogue.offers_of(row, claim.requirements)[0]
            type_ = world.catalogue.types[row]
            node = node_of("new", type_.allocatable, {"topology.kubernetes.io/zone": offer.zone})
            assert all_fit(cluster_of([node]), {wants.key: "new" for wants in claim.pods}, pods)


ONE = {"name": "one", "capacity": {"cpu": 4, "memory": "8Gi", "pods": 6}}
SMALL = {"name": "small", "capacity": {"cpu": 2, "memory": "4Gi", "pods": 6}}
machines = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(st.tuples(st.integers(1, 2), st.booleans()), max_size=3)), max_size=4
)


def cluster_with(found: list[tuple[str, list[tuple[int, bool]]]]) -> tuple[list[Node], list[NodeClaim], list[Pod]]:
    """Nodes of four cores in a zone each, with pods of one or two, some of which keep to the zone."""
    nodes, claims, pods = [], [], []
    for number, (zone, running) in enumerate(found):
        name = f"n{number}"
        labels = {
            "topology.kubernetes.io/zone": zone,
            "node.kubernetes.io/instance-type": "one",
            **{f"karpenter.sh/{key}": "true" for key in ("registered", "initialized")},
            "karpenter.sh/nodepool": "any",
            "karpenter.sh/capacity-type": "on-demand",
        }
        room = {"cpu": 4000, "memory": 8 * 2**30 * 1000, "pods": 6000}
        nodes.append(node_of(name, room, labels, providerID=f"x:///{name}"))
        conditions = [{"type": "Initialized", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z"}]
        metadata = {"name": name, "labels": labels, "creationTimestamp": "2025-01-01T00:00:00Z"}
        status = {"providerID": f"x:///{name}", "conditions": conditions}
        claims.append(convert({"metadata": metadata, "status": status}, NodeClaim))
        for place, (cpu, keeps) in enumerate(running):
            plain = pod_of(100 * number + place, cpu, 1, zone if keeps else "")
            owner = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="r", uid="r", controller=True)
            meta = replace(plain.metadata, owner_references=[owner], creation_timestamp="2025-01-01T00:00:00Z")
            spec, status_ = replace(plain.spec, node_name=name), replace(plain.status, phase="Running", conditions=None)
            pods.append(replace(plain, metadata=meta, spec=spec, status=status_))
    return nodes, claims, pods


@settings(max_examples=40, deadline=None)
@given(machines)
def test_consolidation_leaves_no_pod_without_a_place(found: list[tuple[str, list[tuple[int, bool]]]]) -> None:
    offers = [{"zone": zone, "capacityType": "on-demand", "price": price} for zone, price in (("a", 4), ("b", 4))]
    cheap = [{**offer, "price": 1} for offer in offers]
    nodes, claims, pods = cluster_with(found)
    objects = Objects()
    objects.put(Node, nodes)
    objects.put(NodeClaim, claims)
    objects.put(Pod, pods)
    kind = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
    bare = world_of(
        [{**ONE, "offerings": offers}, {**SMALL, "offerings": cheap}],
        [],
        template={"spec": {"requirements": [kind]}},
        disruption={"consolidateAfter": "1m", "budgets": [{"nodes": "100%"}]},
    )
    world = dataclasses.replace(bare, objects=objects, now=start_time("2025-06-01T00:00:00Z"))
    for method in METHODS:
        command = consolidate(world, method).command
        if command is None:
            continue
        gone = {each.name for each in command.nodes}
        moving = {pod.key: pod for pod in pods if pod.spec.node_name in gone}
        homes = dict(command.placed)
        new = []
        for number, claim in enumerate(command.replacements):
            row = int(claim.types[0])
            offer = world.catalogue.offers_of(row, claim.requirements)[0]
            zone = {"topology.kubernetes.io/zone": offer.zone}
            new.append(node_of(f"new{number}", world.catalogue.types[row].allocatable, zone))
            homes |= {wants.key: f"new{number}" for wants in claim.pods}
        assert homes.keys() == moving.keys(), "no pod is left over"
        staying = [node for node in nodes if node.name not in gone]
        cluster = cluster_of([*staying, *new], [pod for pod in pods if pod.key not in moving])
        unbound = {key: replace(pod, spec=replace(pod.spec, node_name=None)) for key, pod in moving.items()}
        assert all_fit(cluster, homes, unbound)
