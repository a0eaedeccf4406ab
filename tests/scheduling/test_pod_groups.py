"""Groups of pods: the laws of gangs and domains, and the stories that recordings do not tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.pod_groups import PodGroup
from kwhatif.cluster.cluster import Cluster
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.group_rounds import scheduled_entities
from kwhatif.scheduling.pod_group_outcome import attempt_pod_group
from kwhatif.scheduling.pod_group_results import PodGroupCycle
from kwhatif.scheduling.schedule_one import Observer
from kwhatif.versions import Features, features_of
from tests.builders import cluster_of, driver_for, node, pod

GANGS = ("GenericWorkload", "GangScheduling")
TOPOLOGY = (*GANGS, "TopologyAwareWorkloadScheduling")
PREEMPTION = (*GANGS, "WorkloadAwarePreemption")


def rules(*gates: str) -> Features:
    return features_of("1.36", dict.fromkeys(gates, True))


def group(name: str, *, least: int | None = None, key: str = "", **spec: Any) -> PodGroup:
    """A gang of at ``least`` so many pods, or a group of the basic policy; in one domain of a ``key``, if given."""
    policy = {"basic": {}} if least is None else {"gang": {"minCount": least}}
    constraints = {"topology": [{"key": key}]} if key else None
    return convert(
        {
            "apiVersion": "scheduling.k8s.io/v1alpha2",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {"schedulingPolicy": policy, "schedulingConstraints": constraints, **spec},
        },
        PodGroup,
    )


def member(name: str, of: str, **given: Any) -> Pod:
    return pod(name, spec={"schedulingGroup": {"podGroupName": of}}, **given)


def scheduled(driver: Driver, pods: Sequence[Pod]) -> tuple[dict[str, str], list[PodGroupCycle]]:
    """Where these pods end up, and the cycles of groups on the way."""
    cluster, cycles = driver.cluster, list[PodGroupCycle]()
    for entity in scheduled_entities(driver, [cluster.shapes.info(each) for each in pods]):
        if entity.key is None:
            entity.came_to(driver.schedule_with_preemption(entity.pods[0])[-1].is_placed)
        else:
            cycles += entity.run()
    names = {each.metadata.name for each in pods}
    where = {info.pod.name: cluster.columns.names[row] for info, row in cluster.pods() if info.pod.name in names}
    return where, cycles


def driver_of(nodes: Sequence[Node], running: Sequence[Pod], groups: Sequence[PodGroup], *gates: str) -> Driver:
    return driver_for(cluster_of(nodes, running, groups, features=rules(*gates)))


# --- laws

SIZES = st.lists(st.sampled_from(["500m", "1", "2", "3"]), min_size=1, max_size=6)
RACKS = st.lists(st.sampled_from(["r1", "r2", "r3", None]), min_size=1, max_size=5)


@st.composite
def gangs(draw: st.DrawFn) -> dict[str, tuple[int, list[str]]]:
    """Gang -> its minCount and what its members ask for."""
    found = {}
    for name in ("a", "b"):
        sizes = draw(SIZES)
        found[name] = draw(st.integers(1, len(sizes) + 1)), sizes
    return found


def case(racks: Sequence[str | None], found: Mapping[str, tuple[int, list[str]]], key: str) -> tuple[Any, ...]:
    nodes = [node(f"n{i}", cpu="3", labels={"rack": rack} if rack else {}) for i, rack in enumerate(racks)]
    groups = [group(name, least=least, key=key) for name, (least, _) in found.items()]
    pods = [member(f"{name}-{k}", name, cpu=cpu) for name, (_, sizes) in found.items() for k, cpu in enumerate(sizes)]
    return nodes, groups, pods


@pytest.mark.long
@given(racks=RACKS, found=gangs(), in_rack=st.booleans())
def test_never_fewer_than_min_count_are_bound(racks: Any, found: Any, in_rack: bool) -> None:
    nodes, groups, pods = case(racks, found, "rack" if in_rack else "")
    where, _ = scheduled(driver_of(nodes, (), groups, *TOPOLOGY), pods)
    for name, (least, sizes) in found.items():
        bound = sum(f"{name}-{k}" in where for k in range(len(sizes)))
        assert bound == 0 or bound >= least


@pytest.mark.long
@given(racks=RACKS, found=gangs(), in_rack=st.booleans())
def test_every_member_that_is_bound_fits_the_filters_alone(racks: Any, found: Any, in_rack: bool) -> None:
    nodes, groups, pods = case(racks, found, "rack" if in_rack else "")
    where, _ = scheduled(driver_of(nodes, (), groups, *TOPOLOGY), pods)
    for each in pods:
        if each.metadata.name in where:
            others = [pod_on(one, where) for one in pods if one.metadata.name in where and one is not each]
            alone = driver_for(cluster_of(nodes, others, features=rules()))
            scheduler = alone.scheduler_for(info := alone.cluster.shapes.info(each))
            evaluation = scheduler.evaluate_all_nodes(info)
            row = alone.cluster.columns.row(where[each.metadata.name or ""])
            assert evaluation is not None
            assert evaluation.verdicts(info).feasible[row]


def pod_on(each: Pod, where: Mapping[str, str]) -> Pod:
    return pod(each.metadata.name or "", on=where[each.metadata.name or ""], cpu=cpu_of(each))


@pytest.mark.long
@given(racks=RACKS, found=gangs())
def test_a_group_with_a_constraint_is_in_one_domain(racks: Any, found: Any) -> None:
    nodes, groups, pods = case(racks, found, "rack")
    where, _ = scheduled(driver_of(nodes, (), groups, *TOPOLOGY), pods)
    rack_of = {each.metadata.name: (each.metadata.labels or {}).get("rack") for each in nodes}
    for name in found:
        racks_used = {rack_of[at] for pod_name, at in where.items() if pod_name.startswith(f"{name}-")}
        assert len(racks_used) <= 1
        assert None not in racks_used


@pytest.mark.long
@given(racks=RACKS, found=gangs())
def test_with_the_gates_off_members_are_pods_like_any_others(racks: Any, found: Any) -> None:
    nodes, groups, pods = case(racks, found, "rack")
    plain = [pod(each.metadata.name or "", cpu=cpu_of(each)) for each in pods]
    assert scheduled(driver_of(nodes, (), groups), pods) == scheduled(driver_of(nodes, (), ()), plain)


def cpu_of(each: Pod) -> str:
    asked = (each.spec.containers or [])[0].resources
    assert asked is not None
    assert asked.requests is not None
    return str(asked.requests["cpu"])


@pytest.mark.long
@given(racks=RACKS, found=gangs(), running=st.lists(st.sampled_from(["1", "2", "3"]), max_size=4))
def test_what_is_only_tried_leaves_no_trace(racks: Any, found: Any, running: Any) -> None:
    """A group that fails, preemption for the whole group included, leaves the cluster as it was."""
    nodes, _, pods = case(racks, found, "")
    groups = [group(name, least=99, priority=10) for name in found]
    others = [pod(f"run-{k}", on=f"n{k % len(nodes)}", cpu=cpu) for k, cpu in enumerate(running)]
    driver = driver_of(nodes, others, groups, *PREEMPTION)
    before = look(driver.cluster)
    entered = [driver.cluster.shapes.info(each) for each in pods]
    for name in found:
        own = [info for info in entered if info.pod.name.startswith(f"{name}-")]
        cycle = attempt_pod_group(driver, ("default", name), own)
        assert not cycle.bound
        assert not cycle.evicted
    assert look(driver.cluster) == before


def look(cluster: Cluster) -> object:
    there = {info.key: row for info, row in cluster.pods()}
    amounts = cluster.requested.sum(axis=0).tolist(), cluster.pod_count.tolist(), dict(cluster.nominated)
    return there, amounts[0][:2], amounts[1:], cluster.placement


class Onlooker(Observer):
    """Before anybody who looks on nothing is left out."""


@pytest.mark.long
@given(
    sizes=st.lists(st.sampled_from(["1", "2", "3", "4"]), min_size=2, max_size=8),
    gangs_of=st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["500m", "1", "2"])), min_size=2, max_size=6),
    single=st.sampled_from(["1", "3"]),
)
def test_what_is_remembered_of_domains_makes_no_difference(sizes: Any, gangs_of: Any, single: str) -> None:
    nodes = [node(f"n{i}", cpu=cpu, labels={"rack": f"r{i % 4}"}) for i, cpu in enumerate(sizes)]
    groups = [group(f"g{i}", least=count, key="rack") for i, (count, _) in enumerate(gangs_of)]
    pods = [
        *(member(f"g{i}-{k}", f"g{i}", cpu=cpu) for i, (count, cpu) in enumerate(gangs_of) for k in range(count)),
        pod("alone", cpu=single),
        *(member(f"g{i}-more", f"g{i}", cpu=cpu) for i, (_, cpu) in enumerate(gangs_of)),
    ]
    outcomes = []
    for observer in (Observer(), Onlooker()):
        driver = driver_for(cluster_of(nodes, (), groups, features=rules(*TOPOLOGY)), observer=observer)
        where, cycles = scheduled(driver, pods)
        told = [(cycle.name, cycle.scores, cycle.status, cycle.bound, messages(cycle)) for cycle in cycles]
        outcomes.append((where, told, driver.shared.next_start, hints_of(driver)))
    assert outcomes[0] == outcomes[1]


def hints_of(driver: Driver) -> tuple[str, list[str]]:
    """What batching would hint at next: the node that it looks at first, and the nodes left on its list."""
    (scheduler,) = driver.in_use
    assert scheduler.batch is not None
    state = scheduler.batch.state
    if state.kept is None or state.cycle != driver.shared.cycle:
        return "", []
    return state.node, [state.kept.nodes.node(at) for at in range(state.kept.taken, len(state.kept.nodes))]


def messages(cycle: PodGroupCycle) -> dict[str, str]:
    return {key: failure.message for key, failure in cycle.failed.items()}


# --- stories


def test_a_gang_waits_outside_until_it_is_complete() -> None:
    driver = driver_of([node("n")], (), [group("g", least=2)], *GANGS)
    assert scheduled(driver, [member("g-0", "g", cpu="1")]) == ({}, [])


def test_the_pod_that_completes_a_gang_is_tried_first() -> None:
    driver = driver_of([node("n")], (), [group("g", least=2)], *GANGS)
    _, (cycle,) = scheduled(driver, [member("g-0", "g", cpu="1"), member("g-1", "g", cpu="1")])
    assert [info.pod.name for info in cycle.members] == ["g-1", "g-0"]


def test_members_beyond_min_count_are_bound_if_they_fit() -> None:
    pods = [member(f"g-{k}", "g", cpu="1") for k in range(3)]
    driver = driver_of([node("n", cpu="2")], (), [group("g", least=2)], *GANGS)
    where, (cycle,) = scheduled(driver, pods)
    assert len(where) == 2
    assert cycle.status is None
    assert len(cycle.failed) == 1


def test_a_running_gang_that_leaves_together_is_evicted_together() -> None:
    running = [member(f"old-{k}", "old", on=f"n{k}", cpu="2") for k in range(2)]
    groups = [group("old", least=2, disruptionMode="PodGroup", priority=1), group("new", least=1, priority=5)]
    driver = driver_of([node("n0", cpu="2"), node("n1", cpu="2")], running, groups, *PREEMPTION)
    where, cycles = scheduled(driver, [member("new-0", "new", cpu="2")])
    assert set(where) == {"new-0"}
    assert sorted(info.pod.name for info in cycles[0].evicted) == ["old-0", "old-1"]


def test_a_domain_that_holds_more_members_is_taken() -> None:
    nodes = [node("a", cpu="2", labels={"rack": "small"}), node("b", cpu="4", labels={"rack": "wide"})]
    driver = driver_of(nodes, (), [group("g", least=1, key="rack")], *TOPOLOGY)
    where, (cycle,) = scheduled(driver, [member(f"g-{k}", "g", cpu="1") for k in range(4)])
    assert set(where.values()) == {"b"}
    assert cycle.scores["wide"]["PodGroupPodsCount"] == 100
    assert cycle.scores["small"]["PodGroupPodsCount"] == 50
