"""A recorded day is lived again: the world does what it did, and the scheduler as it is told to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import kwhatif
from kwhatif.commands.backtest.result import BacktestDiff
from kwhatif.commands.schema_files import SCHEMAS
from tests.cli.running import run
from tests.commands.backtest.recordings import node, pod, told, written

ROOT = Path(__file__).parents[3]
DAY = ROOT / "tests/data/recorded-day.jsonl.gz"
PACKED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}
    ],
}

Spec = dict[str, Any]


def lived(path: Path, policy: Any = "default") -> BacktestDiff:
    return kwhatif.backtest_diff(path, other=policy)


class Told:
    """The changes of a day, at seconds since it began."""

    def __init__(self) -> None:
        self.lines: list[Spec] = []
        self._version = 10
        self._objects: dict[str, Spec] = {}

    def put(self, at: float, obj: Spec, kind: str = "v1/pods") -> Told:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        new = self._objects.get(obj["metadata"]["name"]) is None
        self._objects[obj["metadata"]["name"]] = obj
        self.lines.append(told("ADDED" if new else "MODIFIED", obj, 1000.0 + at, kind))
        return self

    def pod(
        self, at: float, name: str, cpu: str = "1", *, app: str = "", kind: str = "ReplicaSet", **spec: Any
    ) -> Told:
        obj = pod(name, 0, cpu, **spec)
        obj["metadata"]["uid"] = f"{name}-{self._version}"
        if app:
            owner = {"apiVersion": "apps/v1", "kind": kind, "name": app, "uid": app, "controller": True}
            obj["metadata"]["ownerReferences"] = [owner]
        return self.put(at, obj)

    def bound(self, at: float, name: str, to: str) -> Told:
        old = self._objects[name]
        return self.put(at, {**old, "metadata": {**old["metadata"]}, "spec": {**old["spec"], "nodeName": to}})

    def status(self, at: float, name: str, **status: Any) -> Told:
        old = self._objects[name]
        return self.put(at, {**old, "metadata": {**old["metadata"]}, "status": status})

    def spec(self, at: float, name: str, kind: str = "v1/pods", **spec: Any) -> Told:
        old = self._objects[name]
        return self.put(at, {**old, "metadata": {**old["metadata"]}, "spec": {**old.get("spec", {}), **spec}}, kind)

    def leaving(self, at: float, name: str, why: str = "") -> Told:
        old = self._objects[name]
        metadata = {**old["metadata"], "deletionTimestamp": "2026-11-20T08:00:00Z"}
        conditions = [{"type": "DisruptionTarget", "status": "True", "reason": why}] if why else []
        return self.put(at, {**old, "metadata": metadata, "status": {"conditions": conditions}})

    def gone(self, at: float, name: str, kind: str = "v1/pods") -> Told:
        self._version += 1
        old = self._objects.pop(name)
        old = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self._version)}}
        self.lines.append(told("DELETED", old, 1000.0 + at, kind))
        return self

    def preempted(self, at: float, name: str) -> Told:
        return self.leaving(at, name, "PreemptionByScheduler").gone(at + 1, name)


def over_time(result: BacktestDiff, *seconds: float) -> list[tuple[int, int]]:
    """How many pods are on nodes, and how many wait, just before these moments."""
    found = {each.seconds: (each.a.pods, each.waiting_a) for each in result.over_time}
    return [found[second] for second in seconds]


DAYS = [
    pytest.param(
        Told().pod(1, "p").bound(2, "p", "a").leaving(10, "p").gone(12, "p"),
        {2: (1, 0), 11: (1, 0), 13: (0, 0)},
        id="a pod is deleted when it was, and leaves in as much time",
    ),
    pytest.param(
        Told().pod(1, "p", "9").gone(10, "p"),
        {2: (0, 1), 11: (0, 0)},
        id="one that waits is gone at once",
    ),
    pytest.param(
        Told()
        .pod(1, "p", "3")
        .bound(1, "p", "a")
        .pod(2, "q", "3")
        .status(5, "p", phase="Succeeded")
        .bound(9, "q", "a")
        .status(14, "q", phase="Succeeded"),
        {4: (1, 1), 9: (1, 0), 11: (0, 0)},
        id="a pod works as long as recorded from the moment on at which it is bound here",
    ),
    pytest.param(
        Told()
        .pod(1, "p", "3", app="web")
        .bound(1, "p", "a")
        .preempted(5, "p")
        .pod(5.5, "q", "3", app="web")
        .bound(7, "q", "a")
        .leaving(15, "q")
        .gone(16, "q"),
        {4: (1, 0), 8: (1, 0), 12: (1, 0), 17: (0, 0)},
        id="a pod that was preempted for nobody here stays, and ends as the one made in its place",
    ),
    pytest.param(
        Told().pod(1, "p", "3").bound(1, "p", "a").preempted(5, "p"),
        {4: (1, 0), 8: (1, 0)},
        id="one that nobody recreated stays until the end",
    ),
    pytest.param(
        Told().pod(1, "p", schedulingGates=[{"name": "hold"}]).spec(5, "p", schedulingGates=None).bound(6, "p", "a"),
        {4: (0, 0), 6: (1, 0)},
        id="a pod that is held by a gate neither waits nor is scheduled",
    ),
    pytest.param(
        Told().pod(1, "p", "9").put(5, node("b", "16"), "v1/nodes").bound(6, "p", "b"),
        {4: (0, 1), 6: (1, 0)},
        id="a node that comes is taken",
    ),
    pytest.param(
        Told()
        .put(0.1, {**node("a"), "spec": {"unschedulable": True}}, "v1/nodes")
        .pod(1, "p")
        .spec(5, "a", "v1/nodes", unschedulable=False)
        .bound(6, "p", "a"),
        {4: (0, 1), 6: (1, 0)},
        id="a node that is uncordoned is taken",
    ),
    pytest.param(
        Told().pod(1, "p", schedulerName="mine").bound(4, "p", "a").gone(9, "p"),
        {3: (0, 0), 5: (1, 0), 11: (0, 0)},
        id="the pods of other schedulers are bound as they were",
    ),
    pytest.param(
        Told()
        .put(0.1, node("a"), "v1/nodes")
        .put(0.2, node("b"), "v1/nodes")
        .pod(1, "p", "3", app="web")
        .pod(1, "q", "3", app="web")
        .bound(2, "p", "a")
        .bound(2, "q", "b")
        .gone(5, "a", "v1/nodes")
        .gone(6, "p")
        .pod(6.5, "r", "3", app="web"),
        {4: (2, 0), 6: (1, 1), 12: (1, 1)},
        id="the pods of a node that goes are recreated",
    ),
    pytest.param(
        Told()
        .put(0.1, node("a"), "v1/nodes")
        .put(0.2, node("b"), "v1/nodes")
        .pod(1, "p", "3", app="web", kind="StatefulSet")
        .bound(2, "p", "a")
        .spec(4, "a", "v1/nodes", unschedulable=True)
        .leaving(5, "p", "EvictionByEvictionAPI")
        .gone(6, "p")
        .pod(6.1, "p", "3", app="web", kind="StatefulSet")
        .bound(6.2, "p", "b"),
        {4: (1, 0), 7: (1, 0)},
        id="a node that is drained is drained here, too",
    ),
]


@pytest.mark.parametrize(("day", "seen"), DAYS)
def test_the_world_does_what_it_did(tmp_path: Path, day: Told, seen: dict[float, tuple[int, int]]) -> None:
    # A last line so late that moments are half seconds apart.
    last = day.lines + Told().put(60, node("late", "0"), "v1/nodes").lines
    last[-1]["event"]["object"]["metadata"]["resourceVersion"] = "1000"
    result = lived(written(tmp_path, *last))
    assert over_time(result, *seen) == list(seen.values())
    assert (result.exit_code, result.changes) == (0, ())


@pytest.mark.long
def test_another_policy_moves_pods_while_the_recorded_one_stays_close_to_what_was_recorded() -> None:
    result = lived(DAY, PACKED)
    recorded, a = result.recorded, result.a
    assert (recorded.bound, recorded.preempted) == (90, 6)
    assert abs(a.bound - recorded.bound) <= 3
    assert recorded.same >= recorded.both * 0.9 > 70
    assert result.exit_code == 1
    assert sum(each.moved for each in result.workloads) == sum(each.what == "moved" for each in result.changes) > 20
    jsonschema.validate(json.loads(json.dumps(result.to_dict())), SCHEMAS["backtest-diff"]())
    told = [each.side for each in result.preemptions]
    assert [told.count("A"), told.count("B")] == [a.preempted, result.b.preempted]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day that our own scheduler made."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from backtest import day  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    path = tmp_path_factory.mktemp("made") / "day.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in day(30, 100, 10)))
    return path


@pytest.mark.long
def test_a_day_of_our_own_scheduler_goes_just_as_it_went(made: Path) -> None:
    result = lived(made)
    recorded = result.recorded
    assert (recorded.bound, recorded.both, recorded.same) == (90, 90, 90)
    assert (result.a.bound, result.a.at_the_end, result.exit_code) == (90, 10, 0)


def test_a_policy_that_packs_leaves_more_nodes_empty(made: Path) -> None:
    last = lived(made, PACKED).over_time[-1]
    assert last.b.used < last.a.used
    (a, b) = (next(use for use in each.resources if use.resource == "cpu") for each in (last.a, last.b))
    assert b.deviation > a.deviation
    assert b.mean == a.mean


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param((DAY, "--need", "99"), "--recorded-policy", id="a share of nothing"),
        pytest.param((ROOT / "samples/three-nodes.json",), "--recorded-policy", id="a snapshot has no day"),
    ],
)
def test_what_is_said_by_recorded_policy_is_pointed_to(words: tuple[object, ...], message: str) -> None:
    done = run("backtest", *map(str, words), "--policy", "default")
    assert (done.code, message in done.err) == (2, True)
