"""Times that no clock shows: each is answered about, or refused in a line that names its place."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, cast
from unittest import mock

import pytest

from kwhatif import clock
from kwhatif.snapshot.live.recorder import _RecordingSink
from tests.cli.running import run

Json = dict[str, Any]

ANSWERED = [
    "0001-01-01T00:00:00Z",
    "1969-12-31T23:59:59Z",
    "2026-01-01T00:00:00.999999999999Z",
    "2026-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59Z",
]
REFUSED = [
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",  # before the year 1
    "-2026-01-01T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-12-31T23:59:60Z",  # a leap second: Go has none
    "2026-01-01T00:00:00-24:00",
    "9999-12-31T23:59:59-23:59",  # after the year 9999
    "10000-01-01T00:00:00Z",
]
NODE: Json = {
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
}


def pod(name: str, when: str, node: str = "n1", **metadata: str) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}
    return {
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": when, **metadata},
        "spec": {"nodeName": node, "priority": -5, "containers": [container]},
        "status": {"phase": "Running", "startTime": when},
    }


def snapshot(folder: Path, taken: str, *pods: Json) -> str:
    document = {
        "apiVersion": "kwhatif.dev/v1",
        "kind": "ClusterSnapshot",
        "metadata": {"takenAt": taken},
        "objects": {"Node": [NODE], "Pod": list(pods)},
    }
    path = folder / "cluster.json"
    path.write_text(json.dumps(document), "utf-8")
    return str(path)


def new_pod(folder: Path) -> str:
    body = pod("new", "2026-01-01T00:00:00Z")
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "new"},
        "spec": {**body["spec"], "nodeName": ""},
    }
    path = folder / "pod.json"
    path.write_text(json.dumps(document), "utf-8")
    return str(path)


@pytest.mark.parametrize("when", [*ANSWERED, *REFUSED])
def test_a_time_of_a_pod_of_the_snapshot_or_of_the_clock_is_answered_about_or_refused_in_a_line(
    when: str, tmp_path: Path
) -> None:
    new, usual = new_pod(tmp_path), "2026-01-01T00:00:00Z"
    of_pod = snapshot(tmp_path, usual, pod("old", when), pod("leaving", usual, deletionTimestamp=when))
    check(("place", new, "--snapshot", of_pod, "--timeline"), when, "$.objects.Pod[0].metadata.creationTimestamp")
    of_snapshot = snapshot(tmp_path, when, pod("old", usual))
    check(("snapshot", "info", of_snapshot), when, "$.metadata.takenAt")
    check(("gate", new, "--snapshot", of_snapshot, "--rule", "snapshot-age=warn"), when, "$.metadata.takenAt")
    check(("snapshot", "info", snapshot(tmp_path, usual), f"--now={when}"), when, "--now")


def check(words: tuple[str, ...], when: str, place: str) -> None:
    ran = run(*words)
    if when in ANSWERED:
        assert ran.code in (0, 1), ran.err
        assert ran.out
    else:
        assert (ran.code, ran.out) == (2, "")
        assert f"{place}: expected a time such as" in ran.err
        assert ran.err.count("\n") == 1


def test_times_of_a_recording_do_not_go_back_where_the_clock_does(monkeypatch: pytest.MonkeyPatch) -> None:
    walls, passed = iter([2_000_000_000.0, 5.0, -5.0]), [10.0, 11.0, 12.0]
    monkeypatch.setattr(clock, "seconds_since_1970", lambda: next(walls))
    with mock.patch.object(time, "monotonic", side_effect=passed):
        sink = _RecordingSink(cast("Any", None))
        assert [sink.now(), sink.now()] == [2_000_000_001.0, 2_000_000_002.0]
