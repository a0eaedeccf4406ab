"""Record what a server on loopback tells as fast as it can be taken, and count.

    python benchmarks/record.py [--events 200000] [--rate 10000]

The server is a process of its own; it tells ``rate`` events a second (0: as fast as they are taken), pods that come,
get a node and go. Prints a line of JSON: how many were told and written, in which time, and what that took of
processor and memory.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from kwhatif.snapshot.live.dump import DumpOptions
from kwhatif.snapshot.live.live_cluster import Connection
from kwhatif.snapshot.live.recorder import Counts, Recorder
from kwhatif.snapshot.load import load_recording

AT_ONCE = 100
"""So many events are told in one piece; a busy API server does not send each by itself either."""


def pod(number: int, version: int, node: str | None) -> dict[str, Any]:
    """A pod of a Deployment, of which much is not read, as in a real cluster."""
    meta = {
        "name": f"web-7d4b9c6f5-{number:07d}",
        "namespace": f"team-{number % 40}",
        "uid": f"5d0a3c1e-0000-4000-8000-{number:012d}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-11-20T14:00:00Z",
        "labels": {"app": "web", "pod-template-hash": "7d4b9c6f5", "team": f"team-{number % 40}"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d4b9c6f5", "uid": "u", "controller": True}
        ],
        "managedFields": [{"manager": "kube-controller-manager", "fieldsV1": {f"f:{i}": {} for i in range(30)}}],
    }
    container = {
        "name": "main",
        "image": "registry.example.com/shop/web:1.2.3",
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "env": [{"name": f"SETTING_{i}", "value": "value"} for i in range(10)],
        "volumeMounts": [{"name": "kube-api-access", "mountPath": "/var/run/secrets"}],
    }
    spec = {"containers": [container], "schedulerName": "default-scheduler", "priority": 0, "restartPolicy": "Always"}
    status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True" if node else "False"}]}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": meta,
        "spec": {**spec, **({"nodeName": node} if node else {})},
        "status": status,
    }


def pieces(events: int) -> list[bytes]:
    """What the watch of pods tells: 5,000 pods at a time come, get a node and go."""
    lines = []
    for number in range(events):
        turn, rest = divmod(number, 15_000)
        what, which = divmod(rest, 5_000)
        node = None if what == 0 else f"node-{which % 500}"
        type_ = ("ADDED", "MODIFIED", "DELETED")[what]
        lines.append(json.dumps({"type": type_, "object": pod(turn * 5_000 + which, number + 10, node)}))
    return [("\n".join(lines[i : i + AT_ONCE]) + "\n").encode() for i in range(0, events, AT_ONCE)]


def serve(pipe: Pipe, events: int, rate: float) -> None:
    """The server, in a process of its own; says its port once it is there."""
    told = pieces(events)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if "watch=1" in query:
                self._watch(told if path == "/api/v1/pods" else [])
                return
            kind = {"/api/v1/nodes": "Node", "/api/v1/pods": "Pod", "/api/v1/events": "Event"}.get(path, "")
            body: dict[str, Any] = {"kind": f"{kind}List", "metadata": {"resourceVersion": "9"}, "items": []}
            if path == "/version":
                body = {"gitVersion": "v1.36.0", "major": "1", "minor": "36"}
            elif path == "/apis":
                body = {"groups": []}
            data = json.dumps(body).encode()
            self.send_response(200 if kind or path in ("/version", "/apis") else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _watch(self, told: list[bytes]) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            start = time.monotonic()
            for number, piece in enumerate(told):
                if rate:
                    time.sleep(max(0.0, start + number * AT_ONCE / rate - time.monotonic()))
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            time.sleep(3600)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    pipe.send(server.server_address[1])
    server.serve_forever()


def record(directory: Path, port: int, events: int) -> dict[str, Any]:
    """Record them all, and count what is in the file."""
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    (directory / "config").write_text(json.dumps(config))
    path = directory / "day.jsonl.zst"
    start: list[float] = []

    def shown(counts: Counts) -> None:
        if counts.events and not start:
            start.append(time.monotonic())
        if counts.events >= events:
            recorder.stop.set()

    recorder = Recorder(Connection(kubeconfig=str(directory / "config")), DumpOptions(), seconds=600, shown=shown)
    begun, cpu = time.monotonic(), time.process_time()
    recorded = recorder.record(str(path))
    seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "told": events,
        "written": len(load_recording(str(path))[0].changes),
        "bound": recorded.counts.bound,
        "seconds": round(seconds, 2),
        "cpuSeconds": round(cpu, 2),
        "eventsPerCpuSecond": round(events / cpu),
        "peakMemoryMiB": round(peak),
        "megabytes": round(path.stat().st_size / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rate", type=float, default=10_000)
    options = parser.parse_args()
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"
    mine, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, options.events, options.rate), daemon=True
    )
    server.start()
    with tempfile.TemporaryDirectory() as directory:
        print(json.dumps(record(Path(directory), mine.recv(), options.events)))
    server.terminate()


if __name__ == "__main__":
    main()
