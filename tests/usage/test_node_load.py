"""How busy nodes are: from a load-watcher, from files, and worked out from metrics.k8s.io."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kwhatif.api.core import Node
from kwhatif.api.decode import convert
from kwhatif.errors import ClusterError, InputError
from kwhatif.usage.node_load import read_node_load

NODES = [
    convert({"metadata": {"name": name}, "status": {"capacity": {"cpu": cpu, "memory": memory}}}, Node)
    for name, cpu, memory in (("a", "4", "8Gi"), ("b", "2", "4Gi"))
]
SERVED = {
    "timestamp": 1_772_366_000,
    "window": {"duration": "15m", "start": 1_772_365_000, "end": 1_772_366_000},
    "data": {"NodeMetricsMap": {"a": {"metrics": [{"type": "CPU", "operator": "AVG", "value": 41.5}]}, "b": {}}},
}


def node_metrics(name: str, cpu: str, memory: str, at: str = "2026-03-01T11:29:02Z") -> dict[str, Any]:
    usage = {"cpu": cpu, "memory": memory}
    return {"kind": "NodeMetrics", "metadata": {"name": name}, "timestamp": at, "window": "20s", "usage": usage}


def written(tmp_path: Path, *documents: object) -> str:
    path = tmp_path / "load.yaml"
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return str(path)


def test_what_load_watcher_serves_is_taken_as_it_is(tmp_path: Path) -> None:
    load, sentence = read_node_load(written(tmp_path, SERVED), NODES)
    assert load.window.end == 1_772_366_000
    assert [metric.value for metric in (load.data.nodes or {})["a"].metrics or ()] == [41.5]
    assert sentence.endswith("load.yaml, what load-watcher served for 1 of 2 nodes")


def test_use_becomes_a_share_of_capacity_and_the_window_ends_with_the_newest(tmp_path: Path) -> None:
    listed = {
        "kind": "NodeMetricsList",
        "items": [node_metrics("a", "1", "2Gi"), node_metrics("gone", "1", "1Gi", "2026-03-01T11:30:00Z")],
    }
    load, sentence = read_node_load(written(tmp_path, listed, node_metrics("b", "500m", "3Gi")), NODES)
    shares = {
        name: [(metric.type, metric.operator, metric.value) for metric in each.metrics or ()]
        for name, each in (load.data.nodes or {}).items()
    }
    assert shares == {
        "a": [("CPU", "Latest", 25.0), ("Memory", "Latest", 25.0)],
        "b": [("CPU", "Latest", 25.0), ("Memory", "Latest", 75.0)],
    }
    assert load.window.end == 1_772_364_600
    assert "worked out from what metrics.k8s.io lists for 2 of 2 nodes" in sentence


@pytest.mark.parametrize(
    ("documents", "place", "problem"),
    [
        pytest.param([[1]], "$", "expected an object, found a list", id="a list is neither"),
        pytest.param([{"kind": "Pod"}], "$", "found an object of kind Pod", id="a pod is neither"),
        pytest.param([{"data": {}}], "$.data.NodeMetricsMap", "found no figures", id="an answer without figures"),
        pytest.param(
            [{"data": {"NodeMetricsMap": {"a": {"metrics": [{"value": "x"}]}}}}],
            "$.data.NodeMetricsMap.a.metrics[0].value",
            'expected a number, found "x"',
            id="a figure that is a text",
        ),
        pytest.param(
            [{"kind": "List", "items": [node_metrics("a", "1", "1Gi"), node_metrics("b", "1", "lots")]}],
            "$.items[1].usage.memory",
            'found "lots"',
            id="use that is no quantity",
        ),
        pytest.param(
            [node_metrics("a", "1", "1Gi"), node_metrics("b", "1", "1Gi", "noon")],
            "$.timestamp",
            'document 2: expected a time such as "2026-03-01T11:29:02Z", found "noon"',
            id="a time that is none",
        ),
        pytest.param([{"kind": "NodeMetricsList", "items": []}], "", "found nothing of either", id="an empty list"),
    ],
)
def test_what_is_neither_is_an_error_with_its_place(
    tmp_path: Path, documents: list[object], place: str, problem: str
) -> None:
    path = written(tmp_path, *documents)
    with pytest.raises(InputError) as caught:
        read_node_load(path, NODES)
    assert (caught.value.source, caught.value.place) == (path, place)
    assert problem in caught.value.problem


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        code = 200 if self.path == "/watcher" else 404
        text = json.dumps(SERVED if code == 200 else {"error": "no such page"}).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Nobody looks."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_load_watcher_is_asked_at_its_address(url: str) -> None:
    for source in (url, f"{url}/", f"{url}/watcher"):
        load, sentence = read_node_load(source, NODES)
        assert list(load.data.nodes or {}) == ["a", "b"]
        assert sentence == f"load: {source.rstrip(chr(47))}, what load-watcher served for 1 of 2 nodes"


def test_a_server_that_does_not_answer_is_named(url: str) -> None:
    with pytest.raises(ClusterError, match=r"/elsewhere/watcher: HTTP 404 Not Found: no such page"):
        read_node_load(f"{url}/elsewhere", NODES)
    with pytest.raises(ClusterError, match=r"http://127\.0\.0\.1:1/watcher: "):
        read_node_load("http://127.0.0.1:1", NODES)
