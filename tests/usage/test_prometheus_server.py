"""A Prometheus that is asked: a real server on this machine, and how it is asked again, or not."""

from __future__ import annotations

import json
import shutil
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kwhatif.errors import ClusterError, InputError, UsageError
from kwhatif.usage.book import UsageBook
from kwhatif.usage.prometheus_client import PrometheusServer, read_token
from tests.usage.given import MEMORY, RATE, START, answer, every, known, series


class Server(ThreadingHTTPServer):
    """Answers as told, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, str]] = []
        self.tokens: list[str | None] = []
        self.failing: list[int] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = {key: values[0] for key, values in urllib.parse.parse_qs(body).items()}
        self.server.asked.append(asked)
        self.server.tokens.append(self.headers.get("Authorization"))
        code = self.server.failing.pop(0) if self.server.failing else 200
        text = json.dumps({"status": "error", "error": "no"})
        if code == 200:
            start, stop, step = (float(asked[name]) for name in ("start", "end", "step"))
            is_cpu = "cpu" in asked["query"]
            values = [0.25 if is_cpu else 2**20] * int((stop - start) // step + 1)
            found = series(RATE if is_cpu else MEMORY, [(start + step * n, v) for n, v in enumerate(values)])
            text = answer(*([found] if 'namespace="shop"' in asked["query"] else []))
        self.send_response(code)
        if code in (301, 302):
            self.send_header("Location", f"{self.server.url}/elsewhere")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Nobody looks."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.mark.long
def test_ranges_are_asked_by_namespace_metric_and_stretch(server: Server) -> None:
    book = UsageBook(known)
    asked = PrometheusServer(server.url, end=START, window=86_400 * 8, step=60, token="secret")
    asked.read(["data", "shop"], book)
    assert len(server.asked) == 2 * 2 * 2, "8 days a minute apart are more than one answer may hold"
    assert {each["step"] for each in server.asked} == {"60"}
    assert all((float(each["end"]) - float(each["start"])) / 60 < 11_000 for each in server.asked)
    assert set(server.tokens) == {"Bearer secret"}
    cpu, memory = (book.of("Deployment/shop/web", "main", each) for each in ("cpu", "memory"))
    assert cpu is not None
    assert (cpu.number, cpu.percentile(90)) == (8 * 1440 + 1, 250)
    assert memory is not None
    assert memory.peak == 2**20
    assert book.complaints.repeated == 0


@pytest.mark.parametrize(("failing", "works"), [([503], True), ([503, 429], True), ([503, 503, 503], False)])
def test_it_is_asked_again_where_that_may_help(failing: list[int], works: bool, server: Server) -> None:
    server.failing = list(failing)
    asked = PrometheusServer(server.url, end=START, window=600, retries=2)
    if works:
        asked.read(["shop"], UsageBook(known))
        assert len(server.asked) == 2 + len(failing)
    else:
        with pytest.raises(ClusterError, match="HTTP 503"):
            asked.read(["shop"], UsageBook(known))


@pytest.mark.parametrize(("code", "said"), [(400, "HTTP 400 Bad Request: no"), (401, "HTTP 401"), (302, "HTTP 302")])
def test_it_is_not_asked_again_where_that_cannot_help(code: int, said: str, server: Server) -> None:
    server.failing = [code]
    with pytest.raises(ClusterError, match=said):
        PrometheusServer(server.url, end=START, window=600).read(["shop"], UsageBook(known))
    assert len(server.asked) == 1


def test_nobody_there_is_told() -> None:
    with pytest.raises(ClusterError, match=r"http://127\.0\.0\.1:9: "):
        PrometheusServer("http://127.0.0.1:9", end=START, window=600, retries=0).read(["shop"], UsageBook(known))
    with pytest.raises(UsageError, match="expected a URL that begins with http"):
        PrometheusServer("prometheus:9090", end=START, window=600)


def test_a_token_is_one_line_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("abc.def\n")
    assert read_token(str(path)) == "abc.def"
    path.write_text("a\nb")
    with pytest.raises(InputError, match="expected a token in one line"):
        read_token(str(path))


@pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")), reason="there is no prometheus on this machine"
)
def test_a_real_prometheus_answers(tmp_path: Path) -> None:
    import socket
    import subprocess
    import time
    import urllib.request

    lines = ["# TYPE container_cpu_usage_seconds_total counter"]
    labels = '{namespace="shop",pod="web-1",container="main"}'
    samples = every(60, range(61))
    lines += [f"container_cpu_usage_seconds_total{labels} {value * 15} {time}" for time, value in samples]
    lines += ["# TYPE container_memory_working_set_bytes gauge"]
    lines += [f"container_memory_working_set_bytes{labels} {2**20} {time}" for time, _ in samples]
    (tmp_path / "samples").write_text("\n".join([*lines, "# EOF\n"]))
    (tmp_path / "prometheus.yml").write_text("global: {scrape_interval: 1h}\n")
    data = str(tmp_path / "data")
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(tmp_path / "samples"), data],
        check=True,
        capture_output=True,
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={data}"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=100y"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        book = UsageBook(known)
        PrometheusServer(f"http://127.0.0.1:{port}", end=START + 3600, window=3000).read(["shop", "data"], book)
    finally:
        process.terminate()
        process.wait()
    cpu, memory = (book.of("Deployment/shop/web", "main", each) for each in ("cpu", "memory"))
    assert cpu is not None
    assert cpu.percentile(90) == 250
    assert memory is not None
    assert memory.peak == 2**20
