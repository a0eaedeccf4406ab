"""A recording of a real scheduler comes out again, and what does not is told with its reason."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kwhatif
from kwhatif.api.core import Node, Pod
from kwhatif.commands.backtest.decisions import decisions, read_pod_versions
from kwhatif.commands.backtest.result import BacktestResult
from kwhatif.commands.backtest.text import backtest_blocks
from kwhatif.errors import InputError
from kwhatif.render.tables import text_of
from kwhatif.snapshot.load import load_recording, load_snapshot
from tests.commands.backtest.recordings import bound_to, deleted_soon, line, node, pod, refused, told, written

DAY = Path(__file__).parents[2] / "data/recorded-day.jsonl.gz"
REFUSAL = (
    "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: "
    "1 No preemption victims found for incoming pod."
)


def backtested(path: Path, need: float = 0) -> BacktestResult:
    return kwhatif.backtest(path, need=need)


@pytest.mark.long
def test_a_recorded_day_of_a_real_scheduler_comes_out_again() -> None:
    result = backtested(DAY, need=99)
    assert {each.what: (each.agreeing, each.total) for each in result.agreement} == {
        "bound": (90, 90),
        "refused": (78, 78),
        "preempted": (4, 4),
    }
    assert (result.texts_agreeing, result.texts, result.exit_code) == (14, 14, 0)
    same = {each.what: each.same + each.tied for each in result.agreement}
    assert same["bound"] >= 80, "most agree without looking for a state that does"
    assert [sum(each.decisions for each in result.over_time), sum(each.agreeing for each in result.over_time)] == [
        172
    ] * 2
    assert 10 < len(result.over_time) <= 48
    assert result.over_time[0].at == "2026-11-21T23:34:26Z"


def test_a_recording_is_recognised_as_the_cluster_it_ends_with() -> None:
    snapshot = load_snapshot([str(DAY)])
    last: dict[str, Any] = {}
    for text in gzip.decompress(DAY.read_bytes()).splitlines():
        read = json.loads(text)
        for obj in read.get("list", {}).get("items", ()) if read["kind"] == "v1/pods" else ():
            last[obj["metadata"]["uid"]] = obj
        if read["kind"] == "v1/pods" and "event" in read:
            obj = read["event"]["object"]
            last[obj["metadata"]["uid"]] = None if read["event"]["type"] == "DELETED" else obj
    there = {uid: obj["spec"].get("nodeName") for uid, obj in last.items() if obj is not None}
    assert {pod.metadata.uid: pod.spec.node_name for pod in snapshot.objects.list_all(Pod)} == there
    assert len(snapshot.objects.list_all(Node)) > 0
    assert snapshot.source.endswith("(recording)")


@pytest.mark.parametrize(
    ("changes", "what", "verdict"),
    [
        pytest.param(
            [told("ADDED", pod("p", 11)), told("MODIFIED", pod("p", 12, nodeName="b"))],
            "bound",
            "unexplained",
            id="a node that the pod could not have, with nothing else going on",
        ),
        pytest.param(
            [
                told("ADDED", pod("p", 11)),
                told("ADDED", pod("q", 12, nodeName="a")),
                told("MODIFIED", pod("p", 13, nodeName="b")),
            ],
            "bound",
            "the cluster moved",
            id="a node that the pod could not have, while another pod came",
        ),
        pytest.param(
            [told("ADDED", pod("p", 11, "9")), told("MODIFIED", refused(pod("p", 12, "9"), "no luck today"))],
            "refused",
            "unexplained",
            id="a text that nobody here says",
        ),
    ],
)
def test_what_does_not_agree_has_a_verdict(
    tmp_path: Path, changes: list[dict[str, Any]], what: str, verdict: str
) -> None:
    result = backtested(written(tmp_path, *changes, nodes=[node(), node("b", "0")]), need=50)
    (differing,) = result.disagreements
    assert (differing.pod, differing.what, differing.verdict) == ("default/p", what, verdict)
    assert differing.evidence
    assert result.exit_code == 1


def test_a_decision_that_was_written_later_than_it_was_made_agrees_near_by(tmp_path: Path) -> None:
    """The first pod has the only room already when the second is refused, though its binding is written after that."""
    changes = (
        told("ADDED", pod("first", 11, "3")),
        told("ADDED", pod("second", 12, "3")),
        told("MODIFIED", refused(pod("second", 13, "3"), REFUSAL)),
        told("MODIFIED", pod("first", 14, "3", nodeName="a")),
    )
    result = backtested(written(tmp_path, *changes), need=100)
    assert {each.what: (each.total, each.same, each.near) for each in result.agreement} == {
        "bound": (1, 1, 0),
        "refused": (1, 0, 1),
        "preempted": (0, 0, 0),
    }
    assert result.exit_code == 0


def test_a_search_that_began_elsewhere_leads_to_the_recorded_node(tmp_path: Path) -> None:
    """Of 120 nodes alike, 100 are looked at; which ones, depends on where the last search ended."""
    nodes = [node(f"n{i:03}") for i in range(120)]
    changes = [
        told("ADDED", pod("p", 11)),
        told("MODIFIED", pod("p", 12, nodeName="n110")),
        told("ADDED", pod("q", 13)),
        told("MODIFIED", pod("q", 14, nodeName="n095")),
    ]
    result = backtested(written(tmp_path, *changes, nodes=nodes), need=100)
    bound = result.agreement[0]
    assert (bound.searched, bound.tied, result.exit_code) == (1, 1, 0), "the second search begins where the first ended"
    assert result.reach == 1.0


def test_changed_services_and_nodes_are_read_again(tmp_path: Path) -> None:
    """With a Service the second pod avoids the node of the first; the node that comes last has room for the third."""
    labels = {"app": "web"}
    first, second, third = pod("p", 11), pod("q", 14), pod("r", 17, "5")
    for each in (first, second, third):
        each["metadata"]["labels"] = labels
    first["spec"]["nodeName"] = "a"
    service = {"metadata": {"name": "s", "namespace": "default", "resourceVersion": "13"}, "spec": {"selector": labels}}
    big = {**node("c", "8"), "metadata": {"name": "c", "resourceVersion": "16"}}
    changes = [
        told("ADDED", first),
        line("v1/services", event={"type": "ADDED", "object": service}),
        told("ADDED", second),
        told("MODIFIED", bound_to("b", second, 15)),
        line("v1/nodes", event={"type": "ADDED", "object": big}),
        told("ADDED", third),
        told("MODIFIED", bound_to("c", third, 18)),
    ]
    result = backtested(written(tmp_path, *changes, nodes=[node(), node("b")]))
    assert (result.agreement[0].same, result.agreement[0].total) == (2, 2)


SHORT = "0/1 nodes are available: 1 Insufficient cpu."


def running(name: str, version: int, cpu: str, start: int = 0, *, labels: dict[str, str] | None = None) -> Any:
    """A pod on the node, started at a second."""
    obj = pod(name, version, cpu, nodeName="a", priority=0)
    obj["metadata"]["labels"] = labels or {}
    obj["status"] = {"phase": "Running", "startTime": f"1970-01-01T00:00:{start:02}Z"}
    return obj


def event(version: int, reason: str, about: str, message: str, at: int = 1001, count: int = 1) -> dict[str, Any]:
    time = f"1970-01-01T00:{at // 60:02}:{at % 60:02}.000000Z"
    obj = {
        "metadata": {"name": f"e{version}", "namespace": "default", "resourceVersion": str(version)},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": about, "uid": f"uid-{about}"},
        "reason": reason,
        "message": message,
        "eventTime": time,
    }
    if count > 1:
        obj["series"] = {"count": count, "lastObservedTime": time}
    return line("v1/events", event={"type": "ADDED", "object": obj})


def preempted(victim: str, version: int, by: str = "urgent", **more: Any) -> dict[str, Any]:
    return event(version, "Preempted", victim, f"Preempted by pod uid-{by} on node a", **more)


def budget(app: str, allowed: int) -> dict[str, Any]:
    obj = {
        "metadata": {"name": app, "namespace": "default", "resourceVersion": "11"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
    }
    return line("policy/v1/poddisruptionbudgets", event={"type": "ADDED", "object": obj})


APP = {"app": "web"}
PREEMPTIONS = [
    pytest.param(
        "1", [running("v1", 12, "2", 1), running("v2", 13, "2", 2)], [preempted("v2", 31)], "same", id="the later"
    ),
    pytest.param(
        "1", [running("v1", 12, "2", 2), running("v2", 13, "2", 1)], [preempted("v2", 31)], "", id="the earlier"
    ),
    pytest.param(
        "1",
        [running("v1", 12, "2"), running("v2", 13, "2")],
        [preempted("v1", 31)],
        "tied",
        id="the other one of two equals",
    ),
    pytest.param(
        "3",
        [running("v1", 12, "2"), running("v2", 13, "2")],
        [preempted("v1", 29, by="other", at=1000), preempted("v1", 30, by="other", count=2), preempted("v2", 31)],
        "same",
        id="and one who was preempted before, for which an Event is only counted up",
    ),
    pytest.param(
        "3",
        [deleted_soon(running("v1", 12, "2")), running("v2", 13, "2")],
        [preempted("v2", 31)],
        "same",
        id="and one on the way out, about which there is no Event",
    ),
    pytest.param("3", [running("v1", 12, "2"), running("v2", 13, "2")], [preempted("v2", 31)], "", id="but not both"),
    pytest.param(
        "1",
        [running("v1", 12, "2", labels=APP), running("v2", 13, "2", labels=APP), budget("web", 1)],
        [preempted("v1", 31)],
        "same",
        id="the earlier, since the budget does not allow the eviction of the later",
    ),
    pytest.param(
        "1",
        [running("v1", 12, "2", labels=APP), running("v2", 13, "2", labels=APP), budget("web", 1)],
        [preempted("v2", 31)],
        "tied",
        id="the later, had it been the earlier for the budget",
    ),
]


@pytest.mark.parametrize(("cpu", "there", "told_of", "agreement"), PREEMPTIONS)
def test_victims_are_those_that_events_tell_of(
    tmp_path: Path, cpu: str, there: list[dict[str, Any]], told_of: list[dict[str, Any]], agreement: str
) -> None:
    changes = [each if "kind" in each else told("ADDED", each) for each in there]
    urgent = pod("urgent", 20, cpu, priority=100)
    failed = event(30, "FailedScheduling", "urgent", SHORT)
    result = backtested(written(tmp_path, *changes, told("ADDED", urgent), failed, *told_of))
    counts = {each.what: each for each in result.agreement}
    assert counts["preempted"].total == 1
    assert [name for name in ("same", "foretold", "tied", "near") if getattr(counts["preempted"], name)] == (
        [agreement] if agreement else []
    )


def test_a_victim_that_is_evicted_before_the_refusal_is_written_is_one_of_that_cycle(tmp_path: Path) -> None:
    """Victims are evicted beside the cycle, so that the API server may hear of them first."""
    urgent = pod("urgent", 20, "3", priority=100)
    second = refused(pod("urgent", 33, "3", priority=100), SHORT)
    second["status"]["nominatedNodeName"] = "a"
    path = written(
        tmp_path,
        told("ADDED", running("v1", 12, "2")),
        told("ADDED", running("v2", 13, "2")),
        told("ADDED", urgent),
        event(30, "FailedScheduling", "urgent", "0/1 nodes are available: 1 node(s) were unschedulable."),
        preempted("v1", 31, at=1005),
        told("MODIFIED", second, at=1005.2),
        preempted("v2", 34, at=1006),
    )
    recording, _ = load_recording(str(path))
    made = decisions(recording, list(read_pod_versions(recording)))
    assert [(decision.before, decision.victims) for decision in made] == [
        (30, ()),
        (33, ("default/v1", "default/v2")),
    ]


def test_a_last_line_that_is_not_whole_is_left_out_and_said(tmp_path: Path) -> None:
    path = written(tmp_path, told("ADDED", pod("p", 11)))
    path.write_text(path.read_text()[:-20])
    assert "the last line is not whole" in " ".join(backtested(path).notes)


def at(seconds: float) -> dict[str, Any]:
    return {**told("ADDED", pod("p", 11)), "at": seconds}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param([at(1e18), at(9)], "$.at: expected float < 253402300800", id="after the year 9999"),
        pytest.param([at(-1), at(9)], "$.at: expected float >= 0", id="before 1970"),
        pytest.param([{"at": 1.0, "kind": "v1/pods"}], "found neither", id="neither list nor event"),
        pytest.param([told("MOVED", pod("p", 11))], 'an event of type "MOVED"', id="an unknown event"),
        pytest.param(
            [told("ADDED", {"metadata": {"name": "p"}})],
            "$.event.object.metadata.resourceVersion: expected a number",
            id="no version",
        ),
    ],
)
def test_a_recording_that_is_wrong_is_refused_with_the_line(
    tmp_path: Path, changes: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(InputError) as error:
        load_recording(str(written(tmp_path, *changes)))
    assert message in str(error.value)
    assert "line 5" in str(error.value)


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text('{"apiVersion": "v1", "kind": "NodeList", "items": []}')
    with pytest.raises(InputError, match="line 1: expected a recording"):
        load_recording(str(path))


# --- a snapshot alone


def of_snapshot(tmp_path: Path, *pods: dict[str, Any], last: int = 100, nodes: int = 2) -> BacktestResult:
    listed = [{"apiVersion": "v1", "kind": "Node", **node("abcdef"[i])} for i in range(nodes)]
    path = tmp_path / "cluster.json"
    items = [*listed, *({"apiVersion": "v1", "kind": "Pod", **each} for each in pods)]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return kwhatif.backtest(path, last=last)


def bound(name: str, on: str, second: int | None, cpu: str = "1", **metadata: Any) -> dict[str, Any]:
    obj = bound_to(on, pod(name, 1, cpu), 1)
    obj["metadata"] |= metadata
    if second is not None:
        moment = f"2026-11-20T08:00:{second:02}Z"
        obj["status"] = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": moment}]}
    return obj


LAST = [
    pytest.param([bound("p", "a", 1, "2"), bound("q", "b", 2)], {"same": 2, "foretold": 1}, id="each where it was"),
    pytest.param(
        [bound("p", "a", 1, "2"), bound("q", "a", 2)], {"same": 1, "foretold": 1}, id="not on the fuller node"
    ),
    pytest.param([bound("p", "a", None), bound("q", "b", 2)], {"same": 1}, id="one whose time is not known stays"),
    pytest.param(
        [bound("p", "a", 1, annotations={"kubernetes.io/config.mirror": "x"}), bound("q", "b", 2)],
        {"same": 1},
        id="a static pod stays",
    ),
]


@pytest.mark.parametrize(("pods", "agreeing"), LAST)
def test_the_pods_bound_last_are_asked_for_again(
    tmp_path: Path, pods: list[dict[str, Any]], agreeing: dict[str, int]
) -> None:
    result = of_snapshot(tmp_path, *pods)
    row = result.agreement[0]
    assert {name: count for name in ("same", "foretold", "tied", "near") if (count := getattr(row, name))} == agreeing
    asked = sum("status" in each and "annotations" not in each["metadata"] for each in pods)
    assert row.total == asked
    assert sum(each.decisions for each in result.over_time) == asked
    assert sum(each.agreeing for each in result.over_time) == row.agreeing
    assert sum(result.left_out.values()) == len(pods) - asked
    assert [each.verdict for each in result.disagreements] == ["the cluster moved"] * (asked - row.agreeing)


def test_times_too_coarse_to_order_are_no_evidence_and_make_no_share(tmp_path: Path) -> None:
    result = of_snapshot(tmp_path, *(bound(f"p{i}", "ab"[i % 2], 7) for i in range(6)))
    assert [each.total for each in result.agreement] == [0, 0, 0]
    assert result.left_out == {"others were bound in the same second, and in which order is not known": 6}
    text = text_of(backtest_blocks(result))
    assert text.startswith("No decision can be judged: none is evidence.")
    assert "%" not in text
    assert (result.exit_code, msgspec.structs.replace(result, need=99.0).exit_code) == (0, 1)


def test_only_decisions_that_had_a_choice_count_and_against_what_any_node_that_passes_would_reach(
    tmp_path: Path,
) -> None:
    pinned = bound("pinned", "b", 3, "2")
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pinned["spec"]["affinity"] = {"nodeAffinity": required}
    result = of_snapshot(tmp_path, bound("p", "a", 1, "2"), bound("q", "b", 2), pinned, bound("odd", "b", 4))
    assert (result.agreement[0].total, result.agreement[0].agreeing) == (4, 3)
    # ``p`` found two equal nodes, either of which would have been taken for agreement.
    assert msgspec.structs.asdict(result.choices) == {"decisions": 3, "agreeing": 2, "chance": 2.0}
    assert "with a choice of nodes 2 of 3 bindings, 66.6%, where any node that passes would reach 66.6%" in (
        text_of(backtest_blocks(result))
    )


def test_one_choice_that_differs_is_counted_as_0_and_not_as_a_truth_value(tmp_path: Path) -> None:
    result = of_snapshot(tmp_path, bound("p", "b", 2, "2"), bound("odd", "b", 3), last=1)
    assert "with a choice of nodes 0 of 1 binding, 0.0%" in text_of(backtest_blocks(result))


def test_a_binding_for_which_no_node_passes_any_more_differs_but_had_no_choice(tmp_path: Path) -> None:
    moved = bound("moved", "a", 1)
    moved["spec"]["nodeSelector"] = {"gone": "since"}
    result = of_snapshot(tmp_path, moved, bound("q", "b", 2, "2"))
    assert result.choices.decisions == 1
    assert [each.pod for each in result.disagreements] == ["default/moved"]


def test_only_so_many_of_the_last_are_asked_about(tmp_path: Path) -> None:
    result = of_snapshot(tmp_path, *(bound(f"p{i}", "ab"[i % 2], i) for i in range(6)), last=4)
    assert result.agreement[0].total == 4
    assert "asked about 4 of 6 pods, those bound last" in " ".join(result.notes)
