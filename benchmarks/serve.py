"""Time a server: one client, many at once, and how much memory they leave. One JSON line.

    serve.py [--nodes N] [--pods P] [--questions Q] [--clients C] [--seconds S]

The cluster is the one of gate.py, and each question places a Deployment of ten. ``medianMilliseconds`` and
``p99Milliseconds`` are of one client, ``cpuMilliseconds`` what the server's processes spent on each of its questions.
Then so many ``clients`` ask at once for so many seconds, from as many addresses as the limit of each wants;
``memoryMiB`` is read every tenth of that time. ``load`` is that of the machine at the end.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gate import deployment, write

EACH_CLIENT = 16
"""Requests of one address at once."""


class Client:
    """A connection that is kept."""

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120, source_address=(address, 0))

    def ask(self, number: int) -> tuple[int, float]:
        """Status and milliseconds of a question."""
        manifest = deployment(f"new{number % 3}", "team-1", 10, "1.0")
        body = json.dumps({"manifests": [manifest], "kubernetesVersion": "1.36"})
        begun = time.perf_counter()
        self._connection.request("POST", "/v1/place", body, {"Content-Type": "application/json"})
        reply = self._connection.getresponse()
        reply.read()
        return reply.status, (time.perf_counter() - begun) * 1000


def processes_of(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(entry.read_text().rpartition(")")[2].split()[1]) in found:
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def seconds_of(pid: int) -> float:
    """The processor time of a server, of its keeper, and of workers that are there or have ended."""
    total = 0
    for each in processes_of(pid):
        try:
            total += sum(map(int, Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue
    return total / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> int:
    """MiB of all processes of a server; what they share is counted once."""
    total = 0
    for each in processes_of(pid):
        try:
            found = re.search(r"Pss:\s+(\d+) kB", Path(f"/proc/{each}/smaps_rollup").read_text())
        except OSError:
            continue
        total += int(found[1]) if found else 0
    return total // 1024


@contextmanager
def serving(*cluster: str) -> Iterator[tuple[int, int]]:
    """The process of a server that knows its cluster, and its port."""
    words = [sys.executable, "-m", "kwhatif", "serve", *cluster, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        port = int(re.findall(r":(\d+)$", server.stderr.readline().strip())[0])
        with ThreadPoolExecutor(1) as reader:
            reader.submit(lambda: [None for _ in server.stderr or ()])
            try:
                client = Client(port)
                while client.ask(0)[0] == 503:
                    time.sleep(0.2)
                yield server.pid, port
            finally:
                server.terminate()


def measure(folder: Path, questions: int, clients: int, seconds: float) -> dict[str, Any]:
    begun = time.perf_counter()
    with serving("--snapshot", str(folder / "cluster.json")) as (pid, port):
        return _measure(pid, port, begun, questions, clients, seconds)


def _measure(pid: int, port: int, begun: float, questions: int, clients: int, seconds: float) -> dict[str, Any]:
    client = Client(port)
    ready, before = time.perf_counter() - begun, seconds_of(pid)
    alone = sorted(client.ask(number)[1] for number in range(questions))
    cpu, memory = seconds_of(pid) - before, [memory_of(pid)]
    until = time.perf_counter() + seconds

    def ask_on(number: int) -> list[tuple[int, float]]:
        own, found = Client(port, f"127.0.0.{2 + number // EACH_CLIENT}"), []
        while time.perf_counter() < until:
            found.append(own.ask(number))
        return found

    with ThreadPoolExecutor(clients) as pool:
        asking = pool.map(ask_on, range(clients))
        for _ in range(10):
            time.sleep(seconds / 10)
            memory.append(memory_of(pid))
        together = [reply for found in asking for reply in found]
    times = sorted(each for _, each in together)
    return {
        "readySeconds": round(ready, 1),
        "medianMilliseconds": round(statistics.median(alone), 1),
        "p99Milliseconds": round(alone[int(len(alone) * 0.99)], 1),
        "cpuMilliseconds": round(cpu / questions * 1000, 1),
        "clients": clients,
        "answered": len(together),
        "errors": sum(status != 200 for status, _ in together),
        "togetherMedianMilliseconds": round(statistics.median(times), 1),
        "memoryMiB": memory,
        "load": [round(each, 1) for each in os.getloadavg()],
    }


def parser_of(text: str | None, nodes: int = 1000, pods: int = 20_000) -> argparse.ArgumentParser:
    """The options of a benchmark of a server: how large its cluster is."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=nodes)
    parser.add_argument("--pods", type=int, default=pods)
    return parser


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), arguments.nodes, arguments.pods, 0)
        print(json.dumps(measure(Path(name), arguments.questions, arguments.clients, arguments.seconds)), flush=True)


if __name__ == "__main__":
    main()
