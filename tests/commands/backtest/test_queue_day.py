"""A recorded day of Kueue with other queues: who is admitted, who waits, who is preempted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.commands.backtest.question import Backtest
from kwhatif.errors import UsageError
from kwhatif.snapshot.recording import rfc3339
from tests.commands.backtest.recordings import line
from tests.commands.queue.test_queue import cluster_queue, kueue, workload

Json = dict[str, Any]
BEGIN = 1_767_225_600.0
LENDS = {"cohortName": "all", "preemption": {"reclaimWithinCohort": "Any"}}


class Day:
    """A recording of two ClusterQueues of a cohort, in which workloads come, begin and end."""

    def __init__(self, *queues: Json, **kinds: list[Json]) -> None:
        self.version = 10
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
        local = [
            kueue("LocalQueue", each["metadata"]["name"], "ml", spec={"clusterQueue": each["metadata"]["name"]})
            for each in queues
        ]
        listed = {
            "v1/namespaces": [namespace],
            "v1/pods": [],
            "v1/nodes": [],
            "kueue.x-k8s.io/v1beta2/resourceflavors": [kueue("ResourceFlavor", "default", spec={})],
            "kueue.x-k8s.io/v1beta2/clusterqueues": list(queues),
            "kueue.x-k8s.io/v1beta2/localqueues": local,
            "kueue.x-k8s.io/v1beta2/workloads": kinds.get("workloads", []),
        }
        self.lines = []
        for kind, items in listed.items():
            for each in items:
                each["metadata"]["resourceVersion"] = "5"
            self.lines.append(line(kind, BEGIN, list={"metadata": {"resourceVersion": "10"}, "items": items}))
        self.workloads: dict[str, Json] = {}

    def happen(self, at: float, name: str, *true: str, queue: str = "", cpu: int = 1, deleted: bool = False) -> Day:
        """A workload comes (``queue``), has these conditions from now on, or goes."""
        self.version += 1
        made = self.workloads.get(name)
        if made is None:
            made = self.workloads[name] = workload(name, queue, str(cpu))
            made["metadata"] |= {"uid": name, "creationTimestamp": rfc3339(BEGIN + at)}
        made["metadata"]["resourceVersion"] = str(self.version)
        time = rfc3339(BEGIN + at)
        conditions = [
            {"type": kind, "status": "True", "reason": kind, "message": kind, "lastTransitionTime": time}
            for kind in true
        ]
        made["status"] = {"conditions": conditions}
        event = {"type": "DELETED" if deleted else "MODIFIED", "object": json.loads(json.dumps(made))}
        self.lines.append(line("kueue.x-k8s.io/v1beta2/workloads", BEGIN + at, event=event))
        return self

    def save(self, folder: Path) -> Path:
        path = folder / "day.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in self.lines))
        return path


def ordinary_day() -> Day:
    """a may lend 2 of its 4; b has 2. A job of b's wants 3, one of 2 before it works for 100 seconds."""
    day = Day(cluster_queue("a", "4", {"lendingLimit": "0"}, **LENDS), cluster_queue("b", "2", **LENDS))
    day.happen(10, "first", queue="b", cpu=2)
    day.happen(11, "first", "QuotaReserved", "Admitted")
    day.happen(20, "second", queue="b", cpu=2)
    day.happen(111, "first", "QuotaReserved", "Admitted", "Finished")
    day.happen(112, "second", "QuotaReserved", "Admitted")
    day.happen(150, "mine", queue="a", cpu=4)
    day.happen(151, "mine", "QuotaReserved", "Admitted")
    day.happen(160, "second", "QuotaReserved", "Admitted", "Finished")
    return day


def test_what_if_a_queue_lent_more_then_others_start_sooner(tmp_path: Path) -> None:
    other = cluster_queue("a", "4", {"lendingLimit": "2"}, **LENDS)
    result = kwhatif.backtest_queues(ordinary_day().save(tmp_path), queues=[other])
    (change,) = result.changes
    assert (change.workload, change.what) == ("ml/second", "sooner")
    assert (change.a.admitted_after, change.b.admitted_after) == (90.0, 0.0)
    assert (change.a.status, change.b.status) == ("finished", "finished")
    everybody = [side.waits[0] for side in (result.recorded, result.a, result.b)]
    assert [(each.admitted, each.at_the_end) for each in everybody] == [(3, 0)] * 3
    assert [each.maximum for each in everybody] == [92.0, 90.0, 0.0]
    assert result.exit_code == 1


def test_what_is_lent_is_taken_back_and_the_evicted_begin_anew(tmp_path: Path) -> None:
    day = Day(cluster_queue("a", "4", **LENDS), cluster_queue("b", "4", **LENDS))
    day.happen(10, "theirs", queue="b", cpu=4).happen(11, "theirs", "QuotaReserved", "Admitted")
    day.happen(50, "mine", queue="a", cpu=4).happen(51, "mine", "QuotaReserved", "Admitted")
    day.happen(81, "mine", "QuotaReserved", "Admitted", "Finished")
    day.happen(111, "theirs", "QuotaReserved", "Admitted", "Finished").happen(400, "last", queue="a", cpu=4)
    result = kwhatif.backtest_queues(day.save(tmp_path), queues=[cluster_queue("b", "0", **LENDS)])
    (change,) = result.changes
    assert (change.workload, change.what, change.b.preempted_by) == ("ml/theirs", "preempted", ("ml/mine",))
    assert (change.b.admitted_after, change.b.status) == (0.0, "finished")
    everybody = [side.waits[0] for side in (result.recorded, result.a, result.b)]
    assert [each.preempted for each in everybody] == [0, 0, 1]
    assert [each.admitted for each in everybody] == [2, 3, 4]


def test_the_same_queues_come_to_the_same_day(tmp_path: Path) -> None:
    same = cluster_queue("b", "2", **LENDS)
    result = kwhatif.backtest_queues(ordinary_day().save(tmp_path), queues=[same])
    assert (result.changes, result.exit_code) == ((), 0)


def test_an_end_that_was_not_recorded_is_said(tmp_path: Path) -> None:
    day = Day(cluster_queue("a", "1"))
    day.happen(1, "w", queue="a").happen(2, "w", "QuotaReserved", "Admitted").happen(60, "v", queue="a")
    result = kwhatif.backtest_queues(day.save(tmp_path), queues=[cluster_queue("a", "2")])
    assert [(each.workload, each.what) for each in result.changes] == [("ml/v", "admitted")]
    assert "2 workloads without a recorded end keep quota until the day is over" in result.assumed


def test_queues_are_asked_about_a_recorded_day_alone(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(kueue("ResourceFlavor", "default", spec={})))
    with pytest.raises(UsageError, match="--queues asks about a recorded day"):
        Backtest(recording=str(path), queues=["x.yaml"]).choose()
