"""Workloads that are scaled have as many pods in every answer as their autoscaler leaves them."""

from __future__ import annotations

from typing import Any

import pytest

from kwhatif import capacity, gate, place
from kwhatif.errors import InputError, UsageError
from kwhatif.results.place import PlaceResult
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import Json, node
from tests.simulation.edits.editing import of, snapshot_of, workload
from tests.workloads.test_pod_autoscalers import hpa, scaled_object


def shop(*autoscalers: Json, replicas: int = 3) -> Snapshot:
    """Two nodes of four cores, and a Deployment of so many pods of one core."""
    pods = [of("ReplicaSet", "web-x", f"web-x-{n}", f"n{1 + n % 2}", cpu="1") for n in range(replicas)]
    whole = [
        workload("Deployment", "web", replicas, cpu="1"),
        workload("ReplicaSet", "web-x", replicas, owner="web", cpu="1"),
    ]
    return snapshot_of([node("n1", cpu="4"), node("n2", cpu="4")], pods, whole=[*whole, *autoscalers])


def web(replicas: int | None = None, **more: Any) -> Json:
    body = workload("Deployment", "web", replicas, cpu="1", **more)
    del body["metadata"]["uid"]
    return body


def pods_of(result: PlaceResult) -> tuple[int, int]:
    """How many pods are new, and how many of the old ones stay."""
    return len(result.placements), sum(plan.keeps for plan in result.rollouts)


@pytest.mark.parametrize(
    ("snapshot", "manifests", "at", "new", "kept"),
    [
        pytest.param(shop(hpa()), [web()], "", 0, 3, id="a manifest without replicas keeps what runs"),
        pytest.param(shop(hpa()), [web(1)], "", 0, 3, id="so does one with other replicas"),
        pytest.param(shop(), [web(1)], "", 0, 1, id="unless nobody scales it"),
        pytest.param(shop(hpa(minReplicas=5)), [web()], "", 2, 3, id="a lower bound has more pods come"),
        pytest.param(shop(hpa(maxReplicas=2)), [web()], "", 0, 2, id="an upper bound has some go"),
        pytest.param(shop(hpa()), [hpa(minReplicas=4)], "", 1, 3, id="a changed autoscaler alone is a change"),
        pytest.param(shop(), [web(), hpa(minReplicas=4)], "", 1, 3, id="one may come after its workload"),
        pytest.param(shop(hpa()), [web()], "max", 7, 3, id="at most"),
        pytest.param(shop(hpa()), [web()], "min", 0, 1, id="at least"),
        pytest.param(shop(hpa(minReplicas=2)), [web()], "50%", 3, 3, id="halfway"),
        pytest.param(shop(scaled_object(maxReplicaCount=5)), [web()], "max", 2, 3, id="KEDA's upper bound"),
        pytest.param(shop(scaled_object(), replicas=0), [web()], "", 0, 0, id="KEDA's idle workload stays idle"),
    ],
)
def test_pods_of_a_workload_that_is_there(
    snapshot: Snapshot, manifests: list[Json], at: str, new: int, kept: int
) -> None:
    assert pods_of(place(manifests, snapshot=snapshot, at=at)) == (new, kept)


@pytest.mark.parametrize(
    ("manifests", "at", "pods"),
    [
        pytest.param([web(), hpa(minReplicas=3)], "", 3, id="the lower bound"),
        pytest.param([hpa(minReplicas=3), web(5)], "", 5, id="its own replicas within the bounds"),
        pytest.param([web(), hpa()], "max", 10, id="the upper bound"),
        pytest.param([web(0), hpa(minReplicas=3)], "", 0, id="none if it is set to zero"),
        pytest.param([web(2), hpa(), hpa("other", minReplicas=4)], "", 2, id="its own where two scale it"),
        pytest.param([web(2), hpa(target={"kind": "StatefulSet", "name": "web"})], "", 2, id="its own if another is"),
    ],
)
def test_pods_of_a_new_workload(manifests: list[Json], at: str, pods: int) -> None:
    snapshot = snapshot_of([node("n1", cpu="20")])
    assert len(place(manifests, snapshot=snapshot, at=at).placements) == pods


def test_the_number_is_told_where_it_is_not_the_one_that_is_stored() -> None:
    found = place([web(1)], snapshot=shop(hpa()))
    assert (
        "note: Deployment shop/web counts with 3 replicas, not 1: HorizontalPodAutoscaler shop/web, 1 to 10"
        in found.notes
    )
    assert not [text for text in place([web()], snapshot=shop(hpa())).notes if "counts with" in text]


def test_two_autoscalers_of_one_workload_are_a_gap() -> None:
    found = place([web(2), hpa(), hpa("other")], snapshot=snapshot_of([node("n1", cpu="20")]))
    assert any("scale the same Deployment shop/web" in gap.what for gap in found.fidelity.gaps)


def test_an_autoscaler_of_nothing_that_is_known_is_a_gap() -> None:
    found = place([hpa()], snapshot=snapshot_of([node("n1")]))
    gap = next(gap for gap in found.fidelity.gaps if "which no manifest and no snapshot has" in gap.what)
    assert gap.pods == ("HorizontalPodAutoscaler shop/web",)


def test_an_autoscaler_that_the_api_server_refuses_scales_nothing() -> None:
    found = place([web(2), hpa(minReplicas=11)], snapshot=snapshot_of([node("n1", cpu="20")]))
    assert (len(found.placements), len(found.refusals), found.good) == (2, 1, False)


def test_capacity_counts_releases_of_what_runs_or_of_all_that_may() -> None:
    snapshot = shop(hpa(maxReplicas=5))
    assert (capacity([web()], snapshot=snapshot).pods_each, capacity([web()], snapshot=snapshot, at="max").fits) == (
        3,
        1,
    )
    idle = shop(scaled_object(maxReplicaCount=5), replicas=0)
    with pytest.raises(UsageError, match="at max counts"):
        capacity([web()], snapshot=idle)
    assert capacity([web()], snapshot=idle, at="max").pods_each == 5


def test_no_more_pods_are_made_than_may_be() -> None:
    with pytest.raises(InputError, match="max-pods"):
        place([web(), hpa(maxReplicas=2**31 - 1)], snapshot=snapshot_of([node("n1")]), at="max")


QUOTA: Json = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "team", "namespace": "shop"},
    "spec": {"hard": {"pods": "6"}},
}
FIVE = hpa(maxReplicas=5)
BACK = "until HorizontalPodAutoscaler shop/web sets 5"


@pytest.mark.parametrize(
    ("snapshot", "verdict", "code"),
    [
        pytest.param(
            shop(FIVE, QUOTA),
            f"Does not fit: 2 of 2 pods placed; Deployment shop/web: 30 replicas at once (24 not created) {BACK}",
            1,
            id="a quota refuses most of them",
        ),
        pytest.param(
            shop(FIVE),
            f"Does not fit: 2 of 2 pods placed; Deployment shop/web: 30 replicas at once (22 pending) {BACK}",
            1,
            id="the nodes have no room",
        ),
    ],
)
def test_more_replicas_than_an_autoscaler_allows_are_judged_at_once_and_at_rest(
    snapshot: Snapshot, verdict: str, code: int
) -> None:
    placed = place([web(30)], snapshot=snapshot)
    assert (placed.verdict, placed.exit_code) == (verdict, code)
    judged = gate([web(30)], base=[web(3)], snapshot=snapshot)
    assert verdict.partition("; ")[2] in judged.outcome.verdict
    (finding,) = [each for each in judged.findings if each.rule == "replicas-at-once"]
    assert (finding.message, str(finding.subject)) == (verdict.partition("; ")[2], "Deployment shop/web")


def test_more_replicas_that_fit_until_they_go_again_are_no_harm() -> None:
    placed = place([web(7)], snapshot=shop(FIVE))
    assert placed.verdict == f"Fits: 2 of 2 pods placed; Deployment shop/web: 7 replicas at once {BACK}"
    assert placed.exit_code == 0


def test_fewer_replicas_than_run_go_at_once_and_come_back_when_the_autoscaler_acts() -> None:
    words = "Deployment shop/web: 1 replica at once until HorizontalPodAutoscaler shop/web sets 3"
    assert place([web(1)], snapshot=shop(FIVE)).verdict == f"Fits: no pods to place; {words}"
    assert words in gate([web(1)], base=[web(3)], snapshot=shop(FIVE)).outcome.verdict


def test_an_edit_and_a_manifest_make_as_many_pods_before_the_autoscaler_acts() -> None:
    snapshot = shop(FIVE, QUOTA)
    edited = place(snapshot=snapshot, edits=[{"scale": {"kind": "Deployment", "name": "web", "replicas": 30}}])
    stored = place([web(30)], snapshot=snapshot, at="stored")
    for result in (edited, stored):
        assert len(result.placements) == 3
        assert [each.pods for each in result.outcome.not_created] == [24]
    assert edited.verdict.endswith(f"Deployment shop/web: 30 replicas {BACK}")
