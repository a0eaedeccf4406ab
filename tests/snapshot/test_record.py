"""``kwhatif snapshot record`` against a server on loopback whose watches fail in every way."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwhatif.api.core import Pod
from kwhatif.api.node_provisioning import NodePool
from kwhatif.api.quantity import plain_quantity
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.live import recorder
from kwhatif.snapshot.live import requests as discovery
from kwhatif.snapshot.live.dump import DumpOptions
from kwhatif.snapshot.live.live_cluster import Connection
from kwhatif.snapshot.live.recorder import Recorder, RecordingSummary
from kwhatif.snapshot.load import load_recording, load_snapshot
from kwhatif.snapshot.recording import Recording
from tests.cli.running import TESTS, refused, run
from tests.snapshot.server import Answer, ApiServer, Slam, Watch, key_of, objects_in, status_of
from tests.snapshot.server import recorded as exchanges

PODS, NODES, EVENTS = "/api/v1/pods", "/api/v1/nodes", "/api/v1/events"
FIRST = 5000
"""A version after those of all lists."""

pytestmark = pytest.mark.usefixtures("hurry")


@pytest.fixture(autouse=True)
def events_of_the_scheduler(server: ApiServer) -> None:
    """The recorded server was not asked for its Events."""
    server.put(f"{EVENTS}?limit=50", {"kind": "EventList", "metadata": {"resourceVersion": "2472"}, "items": []})


def pod(name: str, version: int, *, node: str = "", uid: str = "") -> dict[str, Any]:
    """A pod as the API server has it, with what nobody reads."""
    obj = copy.deepcopy(next(objects_in(PODS)))
    obj["metadata"] |= {"name": name, "uid": uid or f"uid-of-{name}", "resourceVersion": str(version)}
    obj["metadata"]["managedFields"] = [{"manager": "hunter2"}]
    obj["spec"].pop("nodeName", None)
    obj["spec"] |= {"nodeName": node} if node else {}
    return obj


def told(type_: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": type_, "object": obj}


def line(type_: str, obj: dict[str, Any]) -> bytes:
    return json.dumps(told(type_, obj)).encode() + b"\n"


def bound(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A pod comes and gets a node."""
    return told("ADDED", pod(name, FIRST)), told("MODIFIED", pod(name, FIRST + 1, node="n"))


def bookmark(version: int) -> dict[str, Any]:
    return told("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version)}})


GONE = told("ERROR", status_of(410, "too old resource version"))
QUIET = Watch(then="silence")


@dataclass
class Made:
    """A recording that was made, and how."""

    path: Path
    recorded: RecordingSummary
    heard: list[str]

    @property
    def recording(self) -> Recording:
        return load_recording(str(self.path))[0]

    @property
    def events(self) -> list[tuple[str, str]]:
        """Type and name of each change of a pod."""
        changes = [change for change in self.recording.changes if change.kind.name == "Pod"]
        return [("gone" if change.deleted else "there", change.key[1]) for change in changes]

    def at(self, moment: str = "end") -> Snapshot:
        return load_snapshot([f"{self.path}@{moment}"])

    @property
    def pods(self) -> set[str]:
        return {obj.name for obj in self.at().objects.list_all(Pod)}


@pytest.fixture
def record(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Made]:
    """Record until so many events are written down."""
    monkeypatch.setattr(recorder, "EVERY", 0.01)

    def until(events: int, name: str = "day.jsonl.zst") -> Made:
        heard: list[str] = []
        connection = Connection(kubeconfig=server.kubeconfig(tmp_path))

        def stop(counts: recorder.Counts) -> None:
            if counts.events >= events:
                made.stop.set()

        made = Recorder(connection, DumpOptions(page_size=50), seconds=60, tell=heard.append, shown=stop)
        recorded = made.record(str(tmp_path / name))
        assert recorded.counts.events == events, heard
        return Made(tmp_path / name, recorded, heard)

    return until


def plain(snapshot: Snapshot) -> dict[str, list[Any]]:
    """The objects of a snapshot, without what only a recording says of each."""
    found: dict[str, list[Any]] = msgspec.to_builtins(snapshot.by_kind(), enc_hook=plain_quantity)
    for obj in (obj for listed in found.values() for obj in listed):
        obj["metadata"].pop("resourceVersion", None)
        for key in ("apiVersion", "kind"):
            obj.pop(key, None)
    return found


# --- what is in the file


@pytest.mark.long
@pytest.mark.parametrize("name", ["day.jsonl", "day.jsonl.gz", "day.jsonl.zst"])
def test_a_recording_begins_with_what_a_dump_has_and_goes_on_with_what_changes(
    name: str, server: ApiServer, record: Callable[..., Made], tmp_path: Path
) -> None:
    server.watch(
        PODS,
        Watch((*bound("new"), bookmark(FIRST + 2))),
        Watch((told("DELETED", pod("new", FIRST + 3, node="n")), told("ADDED", pod("other", FIRST + 4))), "silence"),
    )
    made = record(4, name)
    assert made.events == [("there", "new"), ("there", "new"), ("gone", "new"), ("there", "other")]
    assert (made.recorded.counts.bound, made.recorded.gaps, made.recorded.broken) == (1, {}, {})
    assert [asked.params["resourceVersion"] for asked in server.asked(PODS) if "watch" in asked.params][1] == "5002"
    dump_words = ("snapshot", "dump", "--kubeconfig", str(tmp_path / "kubeconfig.json"), "--chunk-size", "50")
    assert run(*dump_words, "-o", str(tmp_path / "d.json")).code == 0
    dump, start, end = load_snapshot([str(tmp_path / "d.json")]), made.at("+0s"), made.at()
    assert {kind: len(found) for kind, found in start.by_kind().items()} == dump.counts()
    assert plain(start) == plain(dump)
    assert (start.kubernetes_version, start.unreadable, start.dropped) == (dump.kubernetes_version, {}, dump.dropped)
    assert {obj.name for obj in end.objects.list_all(Pod)} - {obj.name for obj in dump.objects.list_all(Pod)} == {
        "other"
    }


@pytest.mark.long
def test_what_nobody_reads_is_not_in_the_file(server: ApiServer, record: Callable[..., Made]) -> None:
    said = {"metadata": {"name": "e", "namespace": "a", "resourceVersion": "5001"}, "involvedObject": {"kind": "Pod"}}
    server.watch(
        EVENTS,
        Watch(
            (
                told("ADDED", {**said, "reason": "Pulled", "message": "hunter2"}),
                told("ADDED", {**said, "reason": "FailedScheduling", "message": "0/1", "managedFields": "hunter2"}),
            ),
            "silence",
        ),
    )
    server.watch(PODS, Watch((told("ADDED", pod("new", FIRST)),), "silence"))
    made = record(2, "day.jsonl")
    text = made.path.read_text()
    assert "FailedScheduling" in text
    for noise in ("hunter2", "managedFields", "echo secret", "Pulled"):
        assert noise not in text
    assert oct(made.path.stat().st_mode & 0o777) == "0o600"


@pytest.mark.long
def test_a_recording_of_ours_is_backtested(server: ApiServer, record: Callable[..., Made]) -> None:
    server.watch(
        PODS, Watch((told("ADDED", pod("new", FIRST)), told("MODIFIED", pod("new", FIRST + 1, node="n"))), "silence")
    )
    made = record(2)
    ran = run("backtest", str(made.path), "-o", "json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["agreement"][0]["total"] == 1


@pytest.mark.long
def test_names_are_replaced_before_anything_is_written(
    server: ApiServer, record: Callable[..., Made], tmp_path: Path
) -> None:
    """The translation is there before the lines are, also of names that came later; what is said can be compared."""
    late = pod("hunter3-zebra", FIRST + 1)
    late["status"] = {
        "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "hunter4 is full"}
        ]
    }
    server.watch(PODS, Watch((told("ADDED", pod("hunter2", FIRST)), told("ADDED", late)), "silence"))
    process, path = started(server, tmp_path, "--redact", "--translation", str(tmp_path / "t.json")), tmp_path
    for _ in range(3000):
        if (path / "t.json").exists() and "zebra" in (path / "t.json").read_text():
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    recording, start = load_recording(str(path / "day.jsonl.zst"))
    assert start.redacted
    texts = "".join(bytes(change.raw).decode() for change in (*recording.start, *recording.changes))
    words = set(json.loads((path / "t.json").read_text())["words"])
    assert {"hunter2", "hunter3", "hunter4", "zebra"} <= words
    names = {obj.name for obj in load_snapshot([str(path / "day.jsonl.zst")]).objects.list_all(Pod)}
    assert len(names) == 391
    assert not any(word in texts for word in ("hunter", "zebra", "kwhatif-loop"))


@pytest.mark.long
def test_a_recording_that_is_there_is_redacted_and_comes_to_the_same(tmp_path: Path) -> None:
    day, redacted = TESTS / "data/recorded-day.jsonl.gz", tmp_path / "redacted.jsonl.zst"
    words = ("snapshot", "redact", str(day), "--translation", str(tmp_path / "t.json"), "-o", str(redacted))
    assert run(*words).code == 0
    assert "already exists" in refused(*words)
    a, b = (json.loads(run("backtest", str(path), "-o", "json").out) for path in (day, redacted))
    assert (a["agreement"], a["texts"], a["textsAgreeing"]) == (b["agreement"], b["texts"], b["textsAgreeing"])


# --- what goes wrong


@pytest.mark.long
def test_a_watch_that_is_cut_in_the_middle_of_a_line_goes_on(server: ApiServer, record: Callable[..., Made]) -> None:
    second = line("ADDED", pod("b", FIRST + 1))
    server.watch(
        PODS,
        Watch((told("ADDED", pod("a", FIRST)), second[: len(second) // 2]), "cut"),
        Watch((second,), "silence"),
    )
    made = record(2)
    assert made.events == [("there", "a"), ("there", "b")]
    assert [asked.params["resourceVersion"] for asked in server.asked(PODS) if "watch" in asked.params][1] == str(FIRST)
    assert made.recorded.gaps == {}
    assert any("the connection was cut; trying again" in text for text in made.heard)


@pytest.mark.long
@pytest.mark.parametrize("how", [Watch((GONE,)), Answer(410)], ids=["told by an event", "told by the status"])
def test_after_410_the_kind_is_listed_again_and_the_difference_told(
    how: Watch | Answer, server: ApiServer, record: Callable[..., Made]
) -> None:
    server.watch(PODS, Watch((told("ADDED", pod("a", FIRST)), told("ADDED", pod("b", FIRST + 1)))), how)
    known = list(objects_in(PODS))
    first, second, *rest = known
    second = copy.deepcopy(second)
    second["metadata"]["resourceVersion"] = str(FIRST + 4)
    again = {"uid": "uid-of-another-a"}
    server.fail(
        PODS,
        Answer(
            body={
                "kind": "PodList",
                "metadata": {"resourceVersion": str(FIRST + 9)},
                "items": [second, *rest, pod("a", FIRST + 5, **again), pod("c", FIRST + 6)],
            }
        ),
        after=len(known) // 50 + 1 + 2,
        times=1,
    )
    made = record(2 + 1 + 2 + 1 + 1 + 1)
    assert sorted(made.events[2:]) == sorted(
        [
            ("there", second["metadata"]["name"]),
            *[("gone", "a"), ("there", "a")],
            *[("gone", "b"), ("there", "c")],
            ("gone", first["metadata"]["name"]),
        ]
    )
    assert made.pods == {obj["metadata"]["name"] for obj in rest} | {"a", "c", second["metadata"]["name"]}
    assert made.pods == {item.key[1] for item in made.recording.until() if item.kind.name == "Pod"}
    assert made.recorded.gaps == {"Pod": "the version to go on from was forgotten (410)"}
    assert [(kind, gap.lost) for kind, gap in made.recording.about.missing] == [("v1/pods", True)]


@pytest.mark.long
@pytest.mark.parametrize(
    "fault",
    [
        Answer(429, headers={"Retry-After": "1"}),
        Answer(500),
        Answer(503, "<html>", type="text/html"),
        Slam(),
        Answer(401),
    ],
    ids=["429", "500", "503", "a server that restarts", "401"],
)
def test_a_watch_that_is_not_to_be_had_for_a_while_loses_nothing(
    fault: Answer | Slam, server: ApiServer, record: Callable[..., Made]
) -> None:
    later = Watch((told("ADDED", pod("b", FIRST + 1)),), "silence")
    server.watch(PODS, Watch((told("ADDED", pod("a", FIRST)),)), fault, fault, fault, later)
    made = record(2)
    assert made.events == [("there", "a"), ("there", "b")]
    assert (made.recorded.gaps, made.recorded.broken) == ({}, {})
    assert made.recording.about.missing == []


@pytest.mark.long
def test_a_kind_that_may_not_be_read_is_said_in_the_file(server: ApiServer, record: Callable[..., Made]) -> None:
    server.fail("/apis/policy/v1/poddisruptionbudgets", Answer(403))
    server.watch(PODS, Watch((told("ADDED", pod("a", FIRST)),), "silence"))
    made = record(1)
    assert set(made.recorded.refused) == {"PodDisruptionBudget"}
    assert made.at().unreadable["PodDisruptionBudget"].startswith("forbidden (403")


@pytest.mark.long
@pytest.mark.parametrize("told_by", ["a definition that comes", "time"])
def test_a_kind_that_is_served_later_is_followed_from_then_on(
    told_by: str, server: ApiServer, record: Callable[..., Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = json.loads(exchanges()["admin", key_of("/apis")].body)
    karpenter = {"name": "karpenter.sh", "versions": [{"groupVersion": "karpenter.sh/v1", "version": "v1"}]}
    more = {**groups, "groups": [*groups["groups"], karpenter]}
    server.put("/apis", groups, more)
    pool = {"metadata": {"name": "general", "resourceVersion": "4000"}, "spec": {"limits": {"cpu": "100"}}}
    listed = {"kind": "NodePoolList", "metadata": {"resourceVersion": "4999"}, "items": [pool]}
    server.put("/apis/karpenter.sh/v1/nodepools?limit=50", listed)
    changed = {"metadata": {"name": "general", "resourceVersion": str(FIRST)}, "spec": {"limits": {"cpu": "200"}}}
    server.watch("/apis/karpenter.sh/v1/nodepools", Watch((told("MODIFIED", changed),), "silence"))
    definition = {"metadata": {"name": "nodepools.karpenter.sh", "uid": "d", "resourceVersion": "4500"}}
    if told_by == "time":
        monkeypatch.setattr(discovery, "LOOK_AGAIN", 0.05)
        made = record(2)
    else:
        kinds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        server.watch(kinds, Watch((told("ADDED", definition),), "silence"))
        made = record(3)
    (found,) = made.at().objects.list_all(NodePool)
    assert found.spec.limits is not None
    assert str(found.spec.limits["cpu"]) == "200"
    assert "NodePool" not in made.at().unreadable
    assert made.recording.begins < 4000, "what came later does not move the beginning"


@pytest.mark.long
def test_a_kind_that_may_not_be_watched_is_said_in_the_file(server: ApiServer, record: Callable[..., Made]) -> None:
    server.fail(NODES, Answer(403, status_of(403, "nodes is forbidden: cannot watch")), params={"watch": "1"})
    server.watch(PODS, Watch((told("ADDED", pod("a", FIRST)),), "silence"))
    made = record(1)
    assert made.recorded.broken == {"Node": "forbidden (403: nodes is forbidden: cannot watch)"}
    (said,) = [text for text in made.at().inconsistencies if text.startswith("v1/nodes were not followed from ")]
    assert said.endswith("forbidden (403: nodes is forbidden: cannot watch)")


@pytest.mark.long
def test_an_object_that_cannot_be_read_is_left_out_and_said(server: ApiServer, record: Callable[..., Made]) -> None:
    odd = pod("odd", FIRST)
    odd["spec"]["priority"] = "high"
    server.watch(PODS, Watch((told("ADDED", odd), told("ADDED", pod("b", FIRST + 1))), "silence"))
    made = record(1)
    assert made.events == [("there", "b")]
    assert made.recorded.gaps["Pod"] == "objects that cannot be read were left out: 1"


@pytest.mark.long
def test_a_cluster_that_cannot_be_read_at_all_leaves_no_file(server: ApiServer, tmp_path: Path) -> None:
    server.fail(NODES, Answer(403))
    config = server.kubeconfig(tmp_path)
    assert "the nodes cannot be read" in refused(
        "snapshot", "record", "--kubeconfig", config, "--chunk-size", "50", "-o", str(tmp_path / "day.jsonl")
    )
    assert not (tmp_path / "day.jsonl").exists()


def test_a_recording_is_not_written_over_a_file(server: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "day.jsonl").write_text("another day")
    words = ("snapshot", "record", "--kubeconfig", server.kubeconfig(tmp_path), "-o")
    assert "already exists" in refused(*words, str(tmp_path / "day.jsonl"))
    assert (tmp_path / "day.jsonl").read_text() == "another day"
    assert "expected a file, found '-'" in refused(*words, "-")
    assert "cannot be written: No such file or directory" in refused(*words, str(tmp_path / "no" / "day.jsonl"))


# --- how it ends


def started(server: ApiServer, directory: Path, *more: str, limit: int | None = None) -> subprocess.Popen[str]:
    """A recording in a process of its own, whose files can be so large."""
    words = ("snapshot", "record", "--kubeconfig", server.kubeconfig(directory), "--chunk-size", "50")
    return subprocess.Popen(
        [sys.executable, "-m", "kwhatif", *words, *more, "-o", str(directory / "day.jsonl.zst")],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent)},
        preexec_fn=None if limit is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )


def wait_for_the_event(path: Path, name: str) -> None:
    """Until a pod of this name is in the file."""
    for _ in range(3000):
        with contextlib.suppress(InputError):
            if name in {change.key[1] for change in load_recording(str(path))[0].changes}:
                return
        time.sleep(0.02)
    pytest.fail(f"{name} was never written down")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_what_was_written_is_there_however_it_ends(number: signal.Signals, server: ApiServer, tmp_path: Path) -> None:
    server.watch(
        PODS, Watch((told("ADDED", pod("a", FIRST)), told("MODIFIED", pod("a", FIRST + 1, node="n"))), "silence")
    )
    process, path = started(server, tmp_path), tmp_path / "day.jsonl.zst"
    wait_for_the_event(path, "a")
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert "a" in {obj.name for obj in load_snapshot([f"{path}@end"]).objects.list_all(Pod)}
    if number is signal.SIGKILL:
        assert process.returncode == -9
    else:
        assert process.returncode == 0, said
        assert f"note: loop ({server.url}) to {path}: " in said
        assert "2 events, 1 pod bound" in said


@pytest.mark.long
def test_a_full_disk_ends_it_and_what_was_written_can_be_read(server: ApiServer, tmp_path: Path) -> None:
    names = (f"pod-{os.urandom(100).hex()}" for _ in range(200))
    noise = [told("ADDED", pod(name, FIRST + i, uid=os.urandom(2000).hex())) for i, name in enumerate(names)]
    server.watch(PODS, Watch(tuple(noise), "silence"))
    process, path = started(server, tmp_path, limit=200_000), tmp_path / "day.jsonl.zst"
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "cannot be written any more: File too large: " in said
    assert path.stat().st_size <= 200_000
    assert len(load_snapshot([f"{path}@end"]).objects.list_all(Pod)) >= 389


@pytest.mark.long
def test_a_file_without_its_end_can_be_read(server: ApiServer, record: Callable[..., Made]) -> None:
    server.watch(PODS, Watch((told("ADDED", pod("a", FIRST)),), "silence"))
    made = record(1)
    whole = made.path.read_bytes()
    made.path.write_bytes(whole[:-20])
    snapshot = made.at()
    assert len(snapshot.objects.list_all(Pod)) in (389, 390)
    assert any("breaks off" in text for text in snapshot.inconsistencies)
