"""Chances: probabilities held against those worked out by hand, and what trials have to do with each other."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.commands.chances.question import ZONE, Chances
from kwhatif.commands.chances.result import ChancesResult, Probability, WorkloadChances
from kwhatif.commands.chances.trials import ChancesBase, Trial, run_trial, shuffle_arrivals
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Inputs
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.scenario import Scenario
from kwhatif.simulation.session import PodToSchedule
from kwhatif.simulation.study import StudyBase
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import Json, node, pod
from tests.prepared_scenarios import prepare
from tests.simulation.edits.editing import snapshot_of as in_whole

TRIALS = 400


def snapshot_of(nodes: Sequence[Node], pods: Sequence[Pod] = ()) -> Snapshot:
    found = Objects()
    for obj in (*nodes, *pods):
        found.add(obj)
    return Snapshot(objects=found, kubernetes_version="v1.34.0")


def workload(kind: str, name: str, replicas: int, cpu: str = "1", **spec: Any) -> Json:
    template = {"labels": {"app": name}}
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": template, "spec": {"containers": [container], **spec}},
            **({"serviceName": name} if kind == "StatefulSet" else {}),
        },
    }


def chances(nodes: Sequence[Node], *manifests: Json, pods: Sequence[Pod] = (), **options: Any) -> ChancesResult:
    question = Chances(**{"trials": TRIALS, "workers": 1, **options})
    return ask(question, Scenario(Inputs(snapshot_of(nodes, pods), list(manifests))))


def of(result: ChancesResult, name: str) -> WorkloadChances:
    return next(each for each in result.workloads if each.workload.endswith(f"/{name}"))


def holds(told: Probability, exact: float) -> bool:
    return told.low <= exact <= told.high


def equal(count: int, **more: Any) -> list[Node]:
    return [node(f"n{k}", cpu="4", **more) for k in range(count)]


@pytest.mark.parametrize(
    ("times", "trials", "low", "high"),
    [(0, 10, 0.0, 0.277533), (5, 10, 0.236593, 0.763407), (10, 10, 0.722467, 1.0), (120, 1000, 0.101299, 0.141609)],
)
def test_intervals_are_wilsons(times: int, trials: int, low: float, high: float) -> None:
    told = Probability.from_counts(times, trials)
    assert told.share == times / trials
    assert (told.low, told.high) == pytest.approx((low, high), abs=2e-5)


@pytest.mark.long
def test_one_pod_on_equal_nodes_goes_to_each_as_likely() -> None:
    found = of(chances(equal(3), workload("Deployment", "web", 1)), "web")
    assert len(found.nodes) == 3
    assert all(holds(each.probability, 1 / 3) for each in found.nodes)
    assert found.pending.times == 0


@pytest.mark.long
def test_two_pods_that_keep_apart_come_to_each_of_three_nodes_two_times_in_three() -> None:
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
            ]
        }
    }
    found = of(chances(equal(3), workload("Deployment", "web", 2, affinity=apart)), "web")
    assert all(holds(each.probability, 2 / 3) for each in found.nodes)


@pytest.mark.long
def test_who_comes_last_stays_pending_where_there_is_room_for_two_of_three() -> None:
    result = chances([node("n0", cpu="2")], workload("Deployment", "two", 2), workload("Deployment", "one", 1), seed=1)
    # Of three places in the queue, the one without room is the lone pod's in one of three orders.
    assert holds(of(result, "one").pending, 1 / 3)
    assert holds(of(result, "two").pending, 2 / 3)
    assert [(each.pods, holds(each.probability, 2 / 3)) for each in of(result, "two").pending_pods] == [(1, True)]
    assert result.exit_code == 1


@pytest.mark.long
def test_priority_goes_before_chance() -> None:
    manifests = [workload("Deployment", "low", 1), workload("Deployment", "high", 1, priority=10)]
    result = chances([node("n0", cpu="1")], *manifests)
    assert (of(result, "low").pending.share, of(result, "high").pending.share) == (1.0, 0.0)


@pytest.mark.long
def test_evictions_and_skew_are_counted_in_trials() -> None:
    zones = [node(f"n{k}", cpu="2", zone=f"z{k}") for k in range(2)]
    full = [pod("old", on="n0", cpu="2", priority=-5), pod("other", on="n1", cpu="2", priority=100)]
    evicting = of(chances(zones, workload("Deployment", "web", 1), pods=full, trials=20), "web")
    assert (evicting.evicting.share, evicting.pending.share) == (1.0, 0.0)
    one = of(chances([zones[0], node("n1", cpu="500m", zone="z1")], workload("Deployment", "web", 2), trials=20), "web")
    assert (one.skewed.share, one.zones[0].name, one.zones[0].pods) == (1.0, "z0", 2.0)
    assert of(chances(zones, workload("Deployment", "web", 1), trials=20), "web").skewed.share == 0.0


def test_pods_of_a_stateful_set_come_in_their_order_and_others_in_any() -> None:
    asked = [PodToSchedule(pod(f"db-{k}"), owner="StatefulSet default/db") for k in range(3)]
    asked += [PodToSchedule(pod(f"web-{k}"), owner="ReplicaSet default/web") for k in range(2)]
    orders = {tuple(item.pod.name for item in shuffle_arrivals(asked, Random(seed))) for seed in range(300)}
    assert all([name for name in order if name.startswith("db")] == ["db-0", "db-1", "db-2"] for order in orders)
    assert len(orders) == 5 * 4, "each of the ways to put two others among three, in either order"


def ground() -> ChancesBase:
    nodes = [node(f"n{k:03}", cpu="2", zone=f"z{k % 3}") for k in range(130)]
    case = Scenario(Inputs(snapshot_of(nodes), [workload("Deployment", "web", 6), workload("StatefulSet", "db", 3)]))
    known = prepare(Chances(trials=1, workers=1), case)
    return ChancesBase(StudyBase.from_scenario(known), known.new_rollouts, ZONE, updates=bool(known.expanded.rollouts))


def test_a_trial_depends_on_its_number_and_the_seed_alone_wherever_it_is_made() -> None:
    here = ground()
    there, trials = pickle.loads(pickle.dumps(here)), [Trial(number, 7) for number in range(6)]
    first = [run_trial(here, trial) for trial in trials]
    assert [run_trial(there, trial) for trial in reversed(trials)] == first[::-1]
    assert run_trial(here, Trial(0, 8)) != first[0]
    assert len({str(each.homes) for each in first}) > 1


def test_above_a_hundred_nodes_the_search_is_left_to_chance_and_said() -> None:
    nodes = [node(f"n{k:03}") for k in range(130)]
    assert any(
        "which nodes 16 workers" in each for each in chances(nodes, workload("Deployment", "web", 1), trials=5).chance
    )
    assert not any("workers" in each for each in chances(equal(2), workload("Deployment", "web", 1), trials=5).chance)


@pytest.mark.long
def test_trials_end_when_all_intervals_are_narrow_enough() -> None:
    sure = chances([node("n0")], workload("Deployment", "web", 1), precision=0.05, trials=1000)
    assert (sure.trials, sure.wanted) == (50, 1000)
    assert chances(equal(2), workload("Deployment", "web", 1), precision=0.05, trials=1000).trials in range(350, 500)


@pytest.mark.long
def test_trials_end_when_the_answer_no_longer_changes_unless_their_number_is_named() -> None:
    sure = chances(equal(2), workload("Deployment", "web", 2), trials=None)
    assert 200 <= sure.trials < sure.wanted == 1000
    assert "stopped early: the answer no longer changes" in sure.outcome.verdict
    assert chances(equal(2), workload("Deployment", "web", 2), trials=250).trials == 250


@pytest.mark.long
def test_an_update_takes_its_chances_too_on_this_machine_alone() -> None:
    owner = ("apps/v1", "Deployment", "web")
    whole = [workload("Deployment", "web", 2)]
    old = {**workload("ReplicaSet", "web-old", 2), "metadata": {"name": "web-old", "namespace": "default"}}
    old["metadata"]["ownerReferences"] = [
        {"apiVersion": owner[0], "kind": owner[1], "name": owner[2], "uid": "web", "controller": True}
    ]
    running = [
        pod(f"web-old-{k}", on=f"n{k}", cpu="1", labels={"app": "web"}, owner=("apps/v1", "ReplicaSet", "web-old"))
        for k in range(2)
    ]
    cluster = in_whole(equal(3), running, whole=[*whole, old])
    changed = workload("Deployment", "web", 2, cpu="500m")
    question = Chances(trials=50, workers=2)
    case = Scenario(Inputs(cluster, [changed]))
    result = ask(question, case)
    assert prepare(question, case).expanded.rollouts
    found = of(result, "web")
    assert (found.pods, found.pending.times) == (2, 0)
    assert round(sum(each.pods for each in found.nodes), 6) == 2, "every trial has both pods of the update"
    with pytest.raises(UsageError, match="tried on this machine only"):
        ask(Chances(trials=50, on="dask://localhost:1"), Scenario(Inputs(cluster, [changed])))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "--trials 0: expected"),
        ({"precision": 1.5}, "--precision 1.5: expected a number between 0 and 1"),
    ],
)
def test_what_makes_no_sense_is_an_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chances(equal(1), workload("Deployment", "web", 1), **options)
