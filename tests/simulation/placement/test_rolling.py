"""Updates placed step by step: new pods look for a node while the old ones are still on theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kwhatif.policy.configuration_file import default_configuration
from kwhatif.results.place import PlaceResult
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.expansion.expand import expand
from kwhatif.simulation.session import Session
from kwhatif.snapshot.load import load_manifests, load_snapshot
from kwhatif.versions import features_of
from tests.commands.answers import place

DATA = Path(__file__).parents[2] / "data"


def updated(tmp_path: Path, manifest: dict[str, object]) -> PlaceResult:
    path = tmp_path / "update.yaml"
    path.write_text(yaml.safe_dump(manifest))
    snapshot = load_snapshot([str(DATA / "two-nodes.yaml")])
    expanded = expand(load_manifests([str(path)]), snapshot)
    session = Session(snapshot, Setup(default_configuration(), features_of()))
    return place(session, expanded.pods, rollouts=expanded.rollouts)


def lone(
    surge: object, unavailable: object, *, cpu: str = "1", apart: bool = True, replicas: int = 2
) -> dict[str, object]:
    manifest: dict[str, Any] = yaml.safe_load((DATA / "update-stuck.yaml").read_text())
    spec = manifest["spec"]
    spec["replicas"] = replicas
    spec["strategy"]["rollingUpdate"] = {"maxSurge": surge, "maxUnavailable": unavailable}
    spec["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    if not apart:
        del spec["template"]["spec"]["affinity"]
    return manifest


OLD_PODS_STAY = "0 of 2 updated pods are available, 2 old pods remain"
STORIES = [
    pytest.param(
        lone(1, 0, replicas=1), (1, 0, 2, ""), {"1"}, id="scaled down at once there is room for the surge pod"
    ),
    pytest.param(
        lone(1, 0, apart=False),
        (1, 2, 0, OLD_PODS_STAY),
        set(),
        id="old pods keep new ones away that have no such wish",
    ),
    pytest.param(lone(1, 0), (1, 2, 0, OLD_PODS_STAY), set(), id="one pod a node: no node is left for the surge pod"),
    pytest.param(lone(0, 1), (2, 0, 2, ""), {"1", "2"}, id="one pod a node goes through if a pod may be unavailable"),
    pytest.param(lone(1, 1), (2, 0, 2, ""), {"1", "2"}, id="pods that wait get the room of those that leave"),
    pytest.param(
        lone(1, 0, apart=False, cpu="3500m"), (1, 2, 0, OLD_PODS_STAY), set(), id="no room for a larger surge pod"
    ),
    pytest.param(
        lone(0, 1, apart=False, cpu="3500m"), (2, 0, 2, ""), {"1", "2"}, id="but in the place of an old one there is"
    ),
    pytest.param(
        lone(1, 0, apart=False, cpu="5"), (1, 2, 0, OLD_PODS_STAY), set(), id="a pod too large for any node stays out"
    ),
    pytest.param(
        lone(0, 2, apart=False, cpu="5"),
        (2, 0, 2, "0 of 2 updated pods are available, 0 old pods remain"),
        set(),
        id="if all old pods may leave they are gone before that shows",
    ),
]


@pytest.mark.parametrize(("manifest", "counts", "placed"), STORIES)
def test_a_rollout(
    manifest: dict[str, object], counts: tuple[int, int, int, str], placed: set[str], tmp_path: Path
) -> None:
    result = updated(tmp_path, manifest)
    (rollout,) = result.rollouts
    assert (rollout.creates, rollout.keeps, rollout.removes, rollout.unfinished) == counts
    assert {p.pod.rpartition("-")[2] for p in result.placements if p.node} == placed
    assert result.exit_code == (1 if rollout.unfinished else 0)


def test_an_unchanged_manifest_changes_nothing(tmp_path: Path) -> None:
    manifest = lone(1, 0)
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/lone:1"  # type: ignore[index]
    result = updated(tmp_path, manifest)
    assert (result.placements, result.rollouts[0].steps, result.exit_code) == ((), (), 0)


def test_scaling_up_places_only_the_new_pods(tmp_path: Path) -> None:
    manifest = lone(1, 0, replicas=3)
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/lone:1"  # type: ignore[index]
    result = updated(tmp_path, manifest)
    (placement,) = result.placements
    assert placement.pod.startswith("shop/lone-a1-")
    assert "didn't match pod anti-affinity rules" in placement.message
    assert (result.rollouts[0].creates, result.rollouts[0].keeps, result.rollouts[0].removes) == (1, 2, 0)


def test_how_many_stay_available_is_unknown_where_the_update_evicts_its_own_pods(tmp_path: Path) -> None:
    manifest: dict[str, Any] = lone(1, 0, apart=False, cpu="3500m")
    (plan,) = updated(tmp_path, manifest).rollouts
    assert (plan.available_before, plan.least_available) == (2, 2)
    manifest["spec"]["template"]["spec"]["priorityClassName"] = "system-cluster-critical"
    (plan,) = updated(tmp_path, manifest).rollouts
    assert (plan.available_before, plan.least_available) == (2, None)
