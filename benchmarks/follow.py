"""Change a cluster that a server follows, and time how soon questions see it. One JSON line.

    follow.py [--nodes N] [--pods P] [--rate R] [--seconds S]

A server on loopback has so many nodes and pods, of which ``rate`` come, change or go each second. Every two seconds a
node comes that one pod has waited for: ``seenMedianSeconds`` is from then to the first answer that names it. At the
end, ``sameObjects`` says whether the objects that were followed are those of a fresh dump, and ``sameAnswer`` whether
the server answers as the command does from that dump. ``load`` is that of the machine at the end.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from serve import memory_of, parser_of, serving

import kwhatif
from kwhatif.render.formats import as_json
from kwhatif.snapshot.live.dump import DumpOptions, dump
from kwhatif.snapshot.live.live_cluster import Connection
from tests.snapshot.living import LivingServer
from tests.snapshot.test_followed_cluster import following, plain

Spec = dict[str, Any]


def node(number: int) -> Spec:
    name = f"n{number:05d}"
    labels = {"kubernetes.io/hostname": name, "number": str(number), "topology.kubernetes.io/zone": "abc"[number % 3]}
    return {
        "metadata": {"name": name, "uid": name, "labels": labels},
        "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"}},
    }


def pod(number: int, pick: random.Random, nodes: int) -> Spec:
    requests = {"cpu": f"{pick.randint(1, 9)}00m", "memory": "64Mi"}
    spec: Spec = {"containers": [{"name": "a", "image": "a", "resources": {"requests": requests}}]}
    if pick.random() < 0.9:
        spec["nodeName"] = f"n{pick.randrange(nodes):05d}"
    metadata = {"name": f"p{number:06d}", "namespace": f"team-{number % 40}", "uid": f"{number}-{pick.randrange(3)}"}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running" if "nodeName" in spec else "Pending"}}


class Life(threading.Thread):
    """Changes a pod ``rate`` times a second until it is to ``stop``."""

    def __init__(self, api: LivingServer, nodes: int, pods: int, rate: float) -> None:
        super().__init__(daemon=True)
        self.api, self.nodes, self.pods, self.rate = api, nodes, pods, rate
        self.changes, self.stop = 0, threading.Event()

    def run(self) -> None:
        pick, begun = random.Random(1), time.monotonic()
        there = set(range(self.pods))
        while not self.stop.is_set():
            number = pick.randrange(self.pods)
            if number in there and pick.random() < 0.3:
                there.remove(number)
                self.api.delete("Pod", f"p{number:06d}", f"team-{number % 40}")
            else:
                there.add(number)
                self.api.put("Pod", pod(number, pick, self.nodes))
            self.changes += 1
            time.sleep(max(0.0, begun + self.changes / self.rate - time.monotonic()))


def has_node(port: int, number: int) -> bool:
    """Whether a pod that waits for this node finds it."""
    spec = {"nodeSelector": {"number": str(number)}, "containers": [{"name": "a", "image": "a"}]}
    metadata = {"name": "probe", "namespace": "default"}
    probe = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    (placement,) = place(port, manifests=[probe])
    return placement["node"] is not None


def place(port: int, **fields: Any) -> list[Spec]:
    """What becomes of each pod."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    body = json.dumps({"ignoreUnknown": True, **fields})
    connection.request("POST", "/v1/place", body, {"Content-Type": "application/json"})
    found: list[Spec] = json.loads(connection.getresponse().read())["placements"]
    connection.close()
    return found


def measure(folder: Path, nodes: int, pods: int, rate: float, seconds: float) -> Spec:
    pick = random.Random(0)
    here = {
        "Node": [node(number) for number in range(nodes)],
        "Pod": [pod(number, pick, nodes) for number in range(pods)],
        "Namespace": [{"metadata": {"name": name}} for name in ("default", *(f"team-{n}" for n in range(40)))],
        "ServiceAccount": [{"metadata": {"name": "default", "namespace": "default"}}],
    }
    with LivingServer(here) as api:
        config = api.kubeconfig(folder)
        connection = Connection(kubeconfig=config)
        with following(connection) as own, serving("--live", "--kubeconfig", config) as (pid, port):
            life = Life(api, nodes, pods, rate)
            begun, seen, memory, new = time.monotonic(), [], [memory_of(pid)], nodes
            life.start()
            while time.monotonic() < begun + seconds:
                time.sleep(2)
                api.put("Node", node(new))
                since = time.monotonic()
                while not has_node(port, new):
                    pass
                seen.append(time.monotonic() - since)
                new += 1
                if len(seen) % 10 == 0:
                    memory.append(memory_of(pid))
            life.stop.set()
            life.join()
            took = time.monotonic() - begun
            api.put("Node", node(new))
            while not has_node(port, new):
                pass
            own.wait_until(
                lambda cluster: f"n{new:05d}" in {each.name for each in cluster.snapshot.objects.list_kind("Node")}
            )
            time.sleep(2)
            fresh = dump(connection, DumpOptions()).snapshot
            same, answer = own.objects() == plain(fresh), place(port, withPending=True)
        expected = kwhatif.place(with_pending=True, snapshot=fresh, ignore_unknown=True)
    return {
        "changes": life.changes,
        "changesPerSecond": round(life.changes / took, 1),
        "seen": len(seen),
        "seenMedianSeconds": round(statistics.median(seen), 2),
        "seenMostSeconds": round(max(seen), 2),
        "sameObjects": same,
        "sameAnswer": answer == json.loads(as_json(expected))["placements"],
        "memoryMiB": memory,
        "load": [round(each, 1) for each in os.getloadavg()],
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=300)
    arguments = parser.parse_args()
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"
    with tempfile.TemporaryDirectory() as name:
        found = measure(Path(name), arguments.nodes, arguments.pods, arguments.rate, arguments.seconds)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
