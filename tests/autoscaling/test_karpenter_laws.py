"""What holds of Karpenter's rounds, whatever the pods, the catalogue and the limits."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.node_pools import NodePool
from kwhatif.autoscaling.karpenter.exact_amounts import fit
from kwhatif.autoscaling.karpenter.karpenter_world import KarpenterWorld
from kwhatif.autoscaling.karpenter.provisioner import provision
from kwhatif.autoscaling.karpenter.scheduler import Round
from kwhatif.whatif.autoscale.instance_types_document import InstanceTypesFile, known_catalogue

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


def world_of(types: list[dict[str, Any]], pods: list[Pod], **spec: Any) -> KarpenterWorld:
    pool = convert({"metadata": {"name": "any"}, "spec": spec, "status": READY}, NodePool)
    head = {"apiVersion": "kwhatif.dev/v1", "kind": "InstanceTypes"}
    known = known_catalogue(convert({**head, "types": types}, InstanceTypesFile))
    return KarpenterWorld(0, Objects(), pods, [pool], known.catalogue, known.offered, known.settings)


def told(world: KarpenterWorld, found: Round) -> list[tuple[set[str], set[str]]]:
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
    result = provision(world).round
    for claim in result.claims:
        assert len(claim.types)
        assert all(fit(claim.requests, world.catalogue.types[row].allocatable) for row in claim.types)
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
        max(world.catalogue.types[row].capacity["cpu"] for row in claim.types)
        for claim in provision(world).round.claims
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
    first, second = (told(world, provision(world).round) for world in worlds)
    assert first == second


@settings(max_examples=60, deadline=None)
@given(st.lists(sizes, max_size=6), requests, st.integers(1, 4))
def test_as_many_types_are_left_as_the_pool_insists_on(
    found: list[tuple[int, int, list[dict[str, Any]]]], asked: list[tuple[int, int, str]], least: int
) -> None:
    choice = {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": least}
    pods = [pod_of(number, *each) for number, each in enumerate(asked)]
    world = world_of(types_of(found), pods, template={"spec": {"requirements": [choice]}})
    assert all(len(claim.types) >= least for claim in provision(world).round.claims)
