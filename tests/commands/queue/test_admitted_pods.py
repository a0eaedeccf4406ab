"""Other questions take pods that Kueue manages to be admitted, and say so."""

from __future__ import annotations

from pathlib import Path

import kwhatif

SAMPLES = Path(__file__).parents[3] / "samples" / "kueue"


def test_a_suspended_job_with_a_queue_is_placed_as_if_it_were_admitted() -> None:
    cluster, train = str(SAMPLES / "cluster.yaml"), str(SAMPLES / "train.yaml")
    result = kwhatif.place([train], snapshot=[cluster], assume_empty=True)
    assert len(result.placements) == 2
    told = [
        gap for gap in result.fidelity.touching if gap.what.startswith("Kueue holds Job train back until queue jobs")
    ]
    assert [gap.pods for gap in told] == [("Job language/train",)]
