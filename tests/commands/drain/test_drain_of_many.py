"""Draining many nodes of a full cluster: attempts that are left out, being in vain, change nothing."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from msgspec.structs import replace

from benchmarks.fleet import ZONE, ZONES, write
from kwhatif import drain
from kwhatif.results.disruption import DrainResult
from kwhatif.scheduling.schedule_one import Scheduler

pytestmark = pytest.mark.long


def drained(snapshot: Path) -> DrainResult:
    return drain([f"{ZONE}={ZONES[0]}"], snapshot=snapshot, ignore_daemonsets=True)


def untold(result: DrainResult) -> DrainResult:
    """Without messages, which of pods that were not tried are of the end."""
    return replace(result, placements=tuple(replace(each, message="") for each in result.placements))


def test_who_moves_where_is_the_same_as_if_all_pods_were_tried_each_time(tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.json"
    write(cluster, 24, 20)
    quick = drained(cluster)
    with mock.patch.object(Scheduler, "is_futile", return_value=False):
        thorough = drained(cluster)
    assert untold(quick) == untold(thorough)
    outcomes = {each.outcome for each in quick.placements}
    assert outcomes == {"placed", "unschedulable", "preempted"}
    assert any(each.victims for each in quick.placements)
    for each in quick.pending:
        assert each.message.startswith("0/24 nodes are available: ")
