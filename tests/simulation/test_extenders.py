"""What results and the command line say of extenders."""

from __future__ import annotations

import importlib.util
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import yaml

from kwhatif.results.base import Gap
from kwhatif.results.explain import ExplainResult
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import PlaceResult
from tests.builders import write_objects
from tests.cli.running import CLUSTER, Ran, refused, run
from tests.scheduling.extender_server import SLOW, Raw, keeps, names, scores, serving

SAMPLES = Path(__file__).parents[2] / "samples"
NODES, PODS = CLUSTER, "data/small.yaml"


def policy(at: Path, *extenders: dict[str, Any]) -> str:
    path = at / "policy.yaml"
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(yaml.safe_dump({**document, "extenders": list(extenders)}))
    return str(path)


def line(at: Path, *words: str, **extender: Any) -> tuple[str, ...]:
    configured = {"nodeCacheCapable": True, **extender}
    return ("place", PODS, "--snapshot", NODES, "--policy", policy(at, configured), *words)


def place(at: Path, *words: str, **extender: Any) -> Ran:
    return run(*line(at, *words, **extender))


def placed(ran: Ran) -> PlaceResult:
    assert ran.code in (0, 1), ran.err
    return msgspec.json.decode(ran.out, type=PlaceResult)


def gaps(result: PlaceResult | ExplainResult) -> list[Gap]:
    return [gap for gap in result.fidelity.gaps if "extender" in gap.what]


def test_nobody_is_called_unless_asked_to(tmp_path: Path) -> None:
    with serving({"filter": keeps()}) as server:
        result = placed(place(tmp_path, "-o", "json", urlPrefix=server.url, filterVerb="filter"))
    assert server.requests == []
    (gap,) = gaps(result)
    assert gap.what == f"extenders are not called: {server.url} (--call-extenders does)"
    assert len(gap.pods) == len(result.placements)


def test_calls_are_counted_and_failures_told(tmp_path: Path) -> None:
    turns = iter([Raw(code=500)])

    def answer(body: dict[str, Any]) -> Any:
        return next(turns, {"NodeNames": names(body)[:1]})

    with serving({"filter": answer}) as server:
        words = ("--call-extenders", "-o", "json")
        result = placed(place(tmp_path, *words, urlPrefix=server.url, filterVerb="filter", ignorable=True))
        url = server.url
    pods = len(result.placements)
    asked, failed = gaps(result)
    assert asked.what == f"extender {url} was called: {pods} filter, 1 failed"
    assert asked.pods == ()
    text = f"failed filter with extender at URL {url}/filter, code 500"
    assert (failed.what, failed.effect) == (f"extender {url} failed to filter once: {text}", "it was skipped")
    assert failed.pods == (result.placements[0].pod,)


def test_a_failure_is_nothing_to_stand_on(tmp_path: Path) -> None:
    with serving({"filter": Raw(code=500)}) as server:
        given: dict[str, Any] = {"urlPrefix": server.url, "filterVerb": "filter", "ignorable": True}
        assert place(tmp_path, "--call-extenders", **given).code == 0
        ran = place(tmp_path, "--call-extenders", "--strict", **given)
    assert ran.code == 2
    assert "--strict: extender" in ran.err


def test_timeouts_are_told_apart_and_do_not_go_on_for_ever(tmp_path: Path) -> None:
    with serving({"filter": SLOW}) as server:
        words = ("--call-extenders", "--timeline", "-o", "json")
        result = placed(place(tmp_path, *words, urlPrefix=server.url, filterVerb="filter", httpTimeout="20ms"))
    asked = gaps(result)[0]
    assert "3 filter" in asked.what
    assert "3 of them timed out" in asked.what
    assert asked.what.endswith("not made, since so many in a row had timed out")
    assert not any(placement.good for placement in result.placements)


def test_a_binding_that_was_not_made_is_told(tmp_path: Path) -> None:
    with serving({"bind": {}}) as server:
        given = {"urlPrefix": server.url, "bindVerb": "bind"}
        result = placed(place(tmp_path, "--call-extenders", "-o", "json", **given))
        assert server.requests == []
        told = [gap.what for gap in gaps(result)]
        again = placed(place(tmp_path, "--call-extenders", "--call-extender-bind", "-o", "json", **given))
        bound = [body["PodName"] for body in server.asked("bind")]
    number = sum(placement.good for placement in result.placements)
    pods = "1 pod" if number == 1 else f"{number} pods"
    assert told == [
        f"extender {server.url} was called: no call",
        f"extender {server.url} would bind {pods}, and was not called (--call-extender-bind does)",
    ]
    assert bound == [placement.pod.partition("/")[2] for placement in again.placements if placement.good]


def test_explain_shows_extenders_like_plugins(tmp_path: Path) -> None:
    with serving({"filter": keeps("a", "b", failed={}), "prioritize": scores(b=3)}) as server:
        path = policy(
            tmp_path,
            {"urlPrefix": server.url, "nodeCacheCapable": True, "filterVerb": "filter"}
            | {"prioritizeVerb": "prioritize", "weight": 2},
        )
        nodes = write_objects(
            tmp_path / "nodes.json",
            *(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": name},
                    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
                }
                for name in "abc"
            ),
        )
        ran = run("explain", PODS, "--snapshot", nodes, "--policy", path, "--call-extenders", "-o", "json")
    assert ran.code == 0, ran.err
    result = msgspec.json.decode(ran.out, type=ExplainResult)
    report = result.pods[0]
    by_name = {node.node: node for node in report.nodes}
    (blocker,) = by_name["c"].blockers
    assert (blocker.plugin, blocker.reason, blocker.detail, blocker.reported) == (
        "Extender", "left out without a word", server.url, False
    )  # fmt: skip
    (score,) = [score for score in by_name["b"].scores if score.plugin == server.url]
    assert (score.weight, score.raw, score.normalized, score.weighted) == (2, 3, 30, 60)
    assert by_name["b"].chosen
    assert by_name["b"].total == report.placement.score
    # A cycle of the run, one for each pod alone, and one to explain it: everything was asked about already.
    assert [verb for verb, _ in server.requests] == ["filter", "prioritize"] * 3


def test_explain_asks_about_nodes_that_the_cycle_did_not_look_at(tmp_path: Path) -> None:
    """Of 120 nodes a cycle samples 100; explain is about all of them."""
    with serving(
        {"filter": lambda body: {"NodeNames": [], "FailedNodes": dict.fromkeys(names(body), "full")}}
    ) as server:
        path = policy(tmp_path, {"urlPrefix": server.url, "nodeCacheCapable": True, "filterVerb": "filter"})
        document = yaml.safe_load(Path(path).read_text()) | {"percentageOfNodesToScore": 1}
        Path(path).write_text(yaml.safe_dump(document))
        nodes = write_objects(
            tmp_path / "nodes.json",
            *(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": f"n{i:03}"},
                    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
                }
                for i in range(120)
            ),
        )
        words = ("--snapshot", nodes, "--policy", path, "--call-extenders", "--no-fixes", "-o", "json")
        ran = run("explain", PODS, *words)
        asked = [len(names(body)) for _, body in server.requests]
    result = msgspec.json.decode(ran.out, type=ExplainResult)
    report = result.pods[0]
    # The run, the pod alone, the pod that is explained, and then about all.
    assert asked == [100, 100, 100, 120]
    assert isinstance(result.outcome, Outcome)
    assert (result.outcome.good, result.outcome.verdict) == (False, "Does not fit: 0 of 1 pod placed")
    assert report.placement.message.startswith("0/120 nodes are available: 100 full. ")
    assert all([blocker.reason for blocker in node.blockers] == ["full"] for node in report.nodes)


# --- words on the command line


def test_a_bind_call_needs_the_other_option(tmp_path: Path) -> None:
    words = line(tmp_path, "--call-extender-bind", urlPrefix="http://x", bindVerb="bind")
    assert refused(*words) == "--call-extender-bind needs --call-extenders: without it no extender is called"


def test_there_may_be_nobody_to_call() -> None:
    ran = run("place", PODS, "--snapshot", NODES, "--call-extenders")
    assert "the configuration has no extenders: --call-extenders changes nothing" in ran.err


def test_trust_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    tls = {"caFile": "/nowhere/ca.pem"}
    words = line(tmp_path, "--call-extenders", urlPrefix="https://x", filterVerb="f", tlsConfig=tls)
    assert refused(*words) == "couldn't build extenders: https://x: open /nowhere/ca.pem: no such file or directory"


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://me:secret@127.0.0.1:{taken.getsockname()[1]}"
        for words in ((), ("--call-extenders",)):
            ran = place(tmp_path, *words, urlPrefix=url, filterVerb="filter")
            assert "secret" not in ran.out + ran.err
            assert "me:***@127.0.0.1" in ran.out


# --- the sample


def sample() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_extender", SAMPLES / "extender" / "extender.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def sample_running(**zones: Any) -> Iterator[int]:
    with sample().server(0, **zones) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield http.server_port
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.long
@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        pytest.param({"closed": ["eu-west-1a"], "preferred": "eu-west-1c"}, "general-c-1", id="the preferred zone"),
        pytest.param({"closed": ["eu-west-1a", "eu-west-1c"]}, "general-b-1", id="the only one open"),
        pytest.param({"closed": [f"eu-west-1{zone}" for zone in "abc"]}, "", id="none is open"),
    ],
)
def test_the_sample_closes_zones_and_prefers_one(zones: Any, expected: str, tmp_path: Path) -> None:
    with sample_running(**zones) as port:
        path = tmp_path / "policy.yaml"
        text = (SAMPLES / "policies" / "extender.yaml").read_text()
        assert "127.0.0.1:8888" in text
        path.write_text(text.replace("127.0.0.1:8888", f"127.0.0.1:{port}"))
        manifest = str(SAMPLES / "manifests" / "web.yaml")
        words = ("--snapshot", str(SAMPLES / "cluster"), "--policy", str(path), "--call-extenders", "-o", "json")
        result = placed(run("place", manifest, *words))
    first = result.placements[0]
    assert first.node == expected
    if not expected:
        assert "node(s) were in a closed zone" in first.message
