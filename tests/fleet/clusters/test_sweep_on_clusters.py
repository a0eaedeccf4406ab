"""Sweeps on real clusters, and samples that scipy and optuna draw: the same answer whoever asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.commands.sweep.points import points_of
from kwhatif.commands.sweep.result import SweepResult
from kwhatif.commands.sweep.space_document import read_space

SAMPLE = Path(__file__).parents[3] / "samples" / "sweep"

# What these packages warn of is not ours to mend.
pytestmark = [pytest.mark.filterwarnings("default")]


def space(method: str, points: int) -> dict[str, Any]:
    return {
        "apiVersion": "kwhatif.dev/v1",
        "kind": "SweepSpace",
        "sample": {"method": method, "points": points},
        "weights": {"NodeResourcesFit": {"min": 1, "max": 20}, "PodTopologySpread": {"min": 0, "max": 5}},
        "scoringStrategies": {"spread": {"type": "LeastAllocated"}, "pack": {"type": "MostAllocated"}},
        "plugins": ["ImageLocality"],
    }


def swept(**options: Any) -> SweepResult:
    job, cluster = SAMPLE / "training.yaml", SAMPLE / "cluster.yaml"
    return kwhatif.sweep(job, snapshot=cluster, replay=["all"], **options)


def test_the_table_of_a_cluster_is_that_of_one_process_to_the_letter(on: str, tmp_path: Path) -> None:
    files = [tmp_path / "alone.jsonl", tmp_path / "theirs.jsonl"]
    options = {"space": space("sobol", 24), "search": 12, "seed": 7}
    answers = [
        swept(**options, workers=1, out=files[0]).to_dict(),
        swept(**options, on=on, out=files[1]).to_dict(),
    ]
    assert answers[0] == answers[1]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_what_is_searched_around_the_front_is_new_and_of_its_seed() -> None:
    one, same, other = (swept(space=space("sobol", 8), search=10, seed=seed, workers=1) for seed in (1, 1, 2))
    assert one == same
    assert [each.settings for each in one.points] != [each.settings for each in other.points]
    settings = [tuple(each.settings.items()) for each in one.points]
    assert len(set(settings)) == len(settings)
    assert one.searched == 10


@pytest.mark.parametrize("method", ["sobol", "latinHypercube"])
def test_a_sample_covers_every_setting_evenly(method: str) -> None:
    points, _ = points_of(read_space(space(method, 40)), 3)
    assert 30 <= len(points) <= 40
    packing = sum(point["scoringStrategy"] == "pack" for point in points)
    assert abs(packing - len(points) / 2) <= 4
    assert {point["NodeResourcesFit.weight"] for point in points} >= set(range(2, 20))


def test_a_sobol_sequence_without_a_seed_is_always_the_same() -> None:
    plain = read_space(space("sobol", 16))
    assert points_of(plain, None) == points_of(plain, None) != points_of(plain, 1)
