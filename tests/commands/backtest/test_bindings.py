"""A backtest says who else than the recorded scheduler gave pods their nodes, and whether it was one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import kwhatif
from kwhatif.commands.backtest.result import BacktestResult
from kwhatif.commands.backtest.text import backtest_blocks
from kwhatif.redaction.redact import LineRedactor
from kwhatif.render.blocks import Lines
from tests.commands.backtest.recordings import bound_to, pod, told, written

SECOND = {"schedulerName": "second"}


def appearing(name: str, version: int, **spec: Any) -> dict[str, Any]:
    return told("ADDED", pod(name, version, **spec))


def mirror(name: str, version: int) -> dict[str, Any]:
    obj = pod(name, version, nodeName="a")
    return {**obj, "metadata": {**obj["metadata"], "annotations": {"kubernetes.io/config.mirror": "x"}}}


def bound(name: str, version: int, **spec: Any) -> dict[str, Any]:
    """The pod as a binding leaves it: with a node and the condition."""
    obj = bound_to("a", pod(name, version, **spec), version)
    return told("MODIFIED", {**obj, "status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}})


def event(
    version: int, about: str, reason: str = "Scheduled", by: str = "default-scheduler", **more: Any
) -> dict[str, Any]:
    reference = {"kind": "Pod", "namespace": "default", "name": about, "uid": f"uid-{about}"}
    obj = {
        "metadata": {"name": f"{about}.{version}", "namespace": "default", "resourceVersion": str(version)},
        "involvedObject": reference,
        "reason": reason,
        "eventTime": "1970-01-01T00:16:41.000000Z",
        "reportingComponent": by,
        **more,
    }
    return told("ADDED", obj, kind="v1/events")


def elected(version: int, who: str, by: str = "default-scheduler") -> dict[str, Any]:
    lease = {"kind": "Lease", "namespace": "kube-system", "name": "kube-scheduler"}
    return event(version, "kube-scheduler", "LeaderElection", by, involvedObject=lease, message=f"{who} became leader")


ONE = {"total": 1}
LIVES = [
    pytest.param(
        [appearing("p", 11), bound("p", 12), event(13, "p")],
        {**ONE, "confirmed": 1},
        "The recorded scheduler alone gave nodes to pods: 1 pod.",
        id="its Event says that the recorded scheduler bound a pod",
    ),
    pytest.param(
        [appearing("p", 11), bound("p", 12)],
        ONE,
        "The recorded scheduler alone gave nodes to pods: 1 pod. "
        "For 1 of 1 that it bound, only the schedulerName says so, and no Event.",
        id="no Event tells of a binding",
    ),
    pytest.param(
        [appearing("p", 11, **SECOND), bound("p", 12, **SECOND), event(13, "p", by="second")],
        {**ONE, "by_other_schedulers": {"second": 1}},
        "1 of 1 pod got a node from others than the recorded scheduler: 1 from second.",
        id="a pod of a scheduler that no profile is",
    ),
    pytest.param(
        [appearing("p", 11, **SECOND), bound("p", 12, **SECOND)],
        {**ONE, "by_other_schedulers": {"second": 1}},
        "1 of 1 pod got a node from others than the recorded scheduler: 1 from second.",
        id="the same, with the schedulerName alone",
    ),
    pytest.param(
        [appearing("p", 11), bound("p", 12), event(13, "p", by="", source={"component": "thief"})],
        {**ONE, "by_other_schedulers": {"thief": 1}},
        "1 of 1 pod got a node from others than the recorded scheduler: 1 from thief.",
        id="an older Event says that another scheduler bound a pod of the recorded one",
    ),
    pytest.param(
        [
            appearing("p", 11, nodeName="a"),
            told("ADDED", mirror("s", 12)),
            appearing("q", 13),
            bound("q", 14),
            event(15, "q"),
            bound("p", 16),
        ],
        {"total": 3, "created_with_node": 1, "static": 1, "confirmed": 1},
        "2 of 3 pods got a node from others than the recorded scheduler: 1 created with one, 1 static pod.",
        id="a pod that names its node, and a static pod",
    ),
    pytest.param(
        [bound("p", 12), event(13, "p")],
        {**ONE, "confirmed": 1},
        "The recorded scheduler alone gave nodes to pods: 1 pod.",
        id="a pod whose creation was missed has the condition of a binding",
    ),
    pytest.param(
        [appearing("p", 9, nodeName="a"), bound("p", 12)],
        {},
        "",
        id="a pod that had its node when the recording began does not count",
    ),
    pytest.param(
        [appearing("p", 8, nodeName="a"), told("DELETED", pod("p", 9, nodeName="a"))],
        {},
        "",
        id="nor does one that had gone by then",
    ),
    pytest.param(
        [
            appearing("p", 11),
            bound("p", 12),
            event(13, "p", reportingInstance="default-scheduler-m1"),
            event(14, "p", "FailedScheduling", reportingInstance="default-scheduler-m2"),
            event(15, "p", "FailedScheduling", by="second", reportingInstance="second-m3"),
        ],
        {**ONE, "confirmed": 1, "instances": 2},
        "The recorded scheduler alone gave nodes to pods: 1 pod. "
        "Its Events come from 2 hosts: each process begins its searches on its own.",
        id="the recorded scheduler writes from two hosts",
    ),
    pytest.param(
        [
            elected(9, "m0_1"),
            appearing("p", 11),
            bound("p", 12),
            event(13, "p"),
            elected(14, "m1_2"),
            elected(15, "m1_3"),
            elected(16, "m1_4", by="controller"),
        ],
        {**ONE, "confirmed": 1, "elections": 2},
        "The recorded scheduler alone gave nodes to pods: 1 pod. "
        "A leader was elected 2 times: each begins its searches at the first node.",
        id="a restart on the same host, and elections before and of others",
    ),
]


def backtested(path: Path) -> BacktestResult:
    return kwhatif.backtest(path)


@pytest.mark.parametrize(("changes", "counts", "text"), LIVES)
def test_who_gave_pods_their_nodes(
    tmp_path: Path, changes: list[dict[str, Any]], counts: dict[str, Any], text: str
) -> None:
    result = backtested(written(tmp_path, *changes))
    found = result.bindings
    assert found is not None
    names = ("total", "by_other_schedulers", "created_with_node", "static", "confirmed", "instances", "elections")
    assert {name: value for name in names if (value := getattr(found, name))} == counts
    (lines,) = (block for block in backtest_blocks(result) if isinstance(block, Lines))
    told = " ".join(map(str, lines.texts))
    assert text in told
    assert bool(text) == ("recorded scheduler" in told)


def test_a_redacted_recording_tells_the_same_without_the_names_of_hosts(tmp_path: Path) -> None:
    changes = [
        elected(11, "zqx1_1a2b"),
        elected(12, "zqx2_1a2b"),
        appearing("p", 13),
        bound("p", 14),
        event(15, "p", reportingInstance="default-scheduler-zqx1"),
        event(16, "p", "FailedScheduling", reportingInstance="default-scheduler-zqx2"),
        appearing("q", 17, schedulerName="zqx"),
        bound("q", 18, schedulerName="zqx"),
        event(19, "q", by="zqx"),
    ]
    plain = written(tmp_path, *changes)
    lines = LineRedactor(None, lambda translation: None).lines(plain.read_bytes().splitlines(keepends=True))
    redacted = tmp_path / "redacted.jsonl"
    redacted.write_bytes(b"".join(lines))
    assert b"zqx" not in redacted.read_bytes()
    found = [backtested(path).bindings for path in (plain, redacted)]
    first, second = (replace(each, by_other_schedulers={}) for each in found if each is not None)
    assert first == second
    assert (first.total, first.instances, first.elections) == (2, 2, 2)
    assert [list(each.by_other_schedulers.values()) for each in found if each is not None] == [[1], [1]]
