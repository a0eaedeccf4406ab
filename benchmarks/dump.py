"""Time reading a large live cluster into a file, and loading that file: one JSON line.

    dump.py [--nodes N] [--pods P] [--keep DIRECTORY]

A server on loopback makes up a cluster as a real one prints it: managed fields, environment, probes, statuses, random
uids. It has rendered its pages before the clock runs. ``kwhatif snapshot dump`` reads them in a process of its own, and
another one loads the file until a cluster is ready to schedule on.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from load import REPLICAS, _peak_mebibytes

from kwhatif.api.kinds import KIND_TABLE, plural_of

KINDS = {plural_of(kind.name): f"{kind.name}List" for kind in KIND_TABLE}
Spec = dict[str, Any]

PAGE = 500
GENERATIONS = 3  # replica sets a deployment: its own and two old ones, as its history keeps them
MANAGERS = ("kube-controller-manager", "kubelet", "kubectl-client-side-apply")
CHOICE = random.Random(0)


def uid() -> str:
    digits = f"{CHOICE.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def suffix() -> str:
    return "".join(CHOICE.choices("bcdfghjklmnpqrstvwxz2456789", k=5))


def moment() -> str:
    return f"2026-11-{CHOICE.randint(1, 19):02d}T{CHOICE.randint(0, 23):02d}:{CHOICE.randint(0, 59):02d}:07Z"


def meta(name: str, namespace: str = "", **more: Any) -> Spec:
    """Metadata as the API server prints it, of which managed fields are the larger part."""
    fields = {f"f:field-{k}": {"f:inner": {}, f'k:{{"name":"main-{k}"}}': {".": {}}} for k in range(6)}
    managed = [
        {"manager": who, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
        for who in MANAGERS
    ]
    home = {"namespace": namespace} if namespace else {}
    version = {"resourceVersion": str(CHOICE.randint(10**6, 10**7)), "creationTimestamp": moment()}
    return {"name": name, **home, "uid": uid(), **version, **more, "managedFields": managed}


def nodes(count: int) -> Iterator[Spec]:
    for index in range(count):
        name = f"ip-10-{index // 256}-{index % 256}-7.compute.internal"
        amounts = {"cpu": "31850m", "memory": "130862284Ki", "ephemeral-storage": "190Gi", "pods": "110"}
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": ("m6.8xlarge", "c6.8xlarge", "r6.8xlarge")[index % 3],
            "topology.kubernetes.io/zone": ("north", "middle", "south")[index % 3],
            "topology.kubernetes.io/region": "land",
        }
        conditions = [
            {
                "type": t,
                "status": s,
                "reason": f"Kubelet{t}",
                "message": f"kubelet says {t}",
                "lastHeartbeatTime": moment(),
            }
            for t, s in (("MemoryPressure", "False"), ("DiskPressure", "False"), ("Ready", "True"))
        ]
        images = [
            {"names": [f"registry.example/app{k}@sha256:{k:064x}", f"registry.example/app{k}:1.0"], "sizeBytes": 9 * k}
            for k in CHOICE.sample(range(200), 50)
        ]
        yield {
            "metadata": meta(name, labels=labels, annotations={"node.alpha.kubernetes.io/ttl": "0"}),
            "spec": {"podCIDR": f"10.{index // 256}.{index % 256}.0/24", "providerID": f"cloud:///north/i-{index:08x}"},
            "status": {"allocatable": amounts, "capacity": amounts, "conditions": conditions, "images": images},
        }


def container(app: int) -> Spec:
    return {
        "name": "main",
        "image": f"registry.example/app{app % 200}:1.0",
        "command": ["/bin/server", "--listen=:8080"],
        "env": [{"name": f"SETTING_{k}", "value": f"a value of app {app}, number {k}"} for k in range(12)],
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": {"failureThreshold": 3, "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}},
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": f"{100 + app % 9 * 50}m", "memory": f"{256 + app % 5 * 128}Mi"},
            "limits": {"memory": "1Gi"},
        },
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [{"name": "settings", "mountPath": "/etc/settings"}],
    }


def template(app: int) -> Spec:
    return {
        "metadata": {"labels": {"app": f"app{app}"}, "annotations": {"checksum/settings": f"{app:064x}"}},
        "spec": {
            "containers": [container(app)],
            "volumes": [{"name": "settings", "configMap": {"name": f"settings-{app}", "defaultMode": 420}}],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "securityContext": {"runAsNonRoot": True},
            "schedulerName": "default-scheduler",
        },
    }


def home(app: int) -> str:
    return f"team-{app % 40}"


def owner(kind: str, name: str, of: str) -> Spec:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": of}
    return {"ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}]}


def deployments(count: int) -> Iterator[Spec]:
    for app in range(count):
        spec = {"replicas": REPLICAS, "selector": {"matchLabels": {"app": f"app{app}"}}, "template": template(app)}
        conditions = [{"type": "Available", "status": "True", "message": "Deployment has minimum availability."}]
        yield {"metadata": meta(f"app{app}", home(app)), "spec": spec, "status": {"conditions": conditions}}


def replica_sets(count: int) -> Iterator[Spec]:
    for app in range(count):
        for generation in range(GENERATIONS):
            name, replicas = f"app{app}-7c9d{generation}", REPLICAS if generation + 1 == GENERATIONS else 0
            labels = {"app": f"app{app}", "pod-template-hash": f"7c9d{generation}"}
            made = template(app)
            made["metadata"]["labels"] = labels
            spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": made}
            revision = {"deployment.kubernetes.io/revision": str(generation + 1)}
            of = owner("Deployment", f"app{app}", uid())
            yield {"metadata": meta(name, home(app), annotations=revision, labels=labels, **of), "spec": spec}


def pods(count: int, names: list[str]) -> Iterator[Spec]:
    owner_uid = ""
    for index in range(count):
        app = index // REPLICAS
        owner_uid = uid() if index % REPLICAS == 0 else owner_uid
        labels = {"app": f"app{app}", "pod-template-hash": f"7c9d{GENERATIONS - 1}"}
        of = owner("ReplicaSet", f"app{app}-7c9d{GENERATIONS - 1}", owner_uid)
        token = f"kube-api-access-{suffix()}"
        mount = {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token, "readOnly": True}
        main = container(app)
        main["volumeMounts"] = [*main["volumeMounts"], mount]
        projected = {
            "defaultMode": 420,
            "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}],
        }
        spec = template(app)["spec"]
        tolerations = [
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ]
        conditions = [
            {"type": t, "status": "True", "lastProbeTime": None, "lastTransitionTime": moment()}
            for t in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        ]
        status = {
            "name": "main",
            "image": main["image"],
            "imageID": f"registry.example/app{app % 200}@sha256:{app % 200:064x}",
            "containerID": f"containerd://{CHOICE.getrandbits(256):064x}",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": moment()}},
            "resources": main["resources"],
            "allocatedResources": main["resources"]["requests"],
        }
        name = f"app{app}-7c9d{GENERATIONS - 1}-{suffix()}"
        yield {
            "metadata": meta(name, home(app), generateName=name[:-5], labels=labels, **of),
            "spec": {
                **spec,
                "containers": [main],
                "volumes": [*spec["volumes"], {"name": token, "projected": projected}],
                "nodeName": CHOICE.choice(names),
                "priority": 0,
                "preemptionPolicy": "PreemptLowerPriority",
                "enableServiceLinks": True,
                "tolerations": tolerations,
            },
            "status": {
                "phase": "Running",
                "conditions": conditions,
                "containerStatuses": [status],
                "hostIP": "10.0.0.1",
                "podIP": f"10.{index // 65536}.{index // 256 % 256}.{index % 256}",
                "startTime": moment(),
                "qosClass": "Burstable",
            },
        }


def csi_nodes(names: list[str]) -> Iterator[Spec]:
    for name in names:
        driver = {"name": "disk.csi.example", "nodeID": name, "topologyKeys": ["topology.kubernetes.io/zone"]}
        yield {"metadata": meta(name), "spec": {"drivers": [{**driver, "allocatable": {"count": 25}}]}}


class Pages:
    """All answers of the server, rendered."""

    def __init__(self, node_count: int, pod_count: int) -> None:
        apps = -(-pod_count // REPLICAS)
        names = [node["metadata"]["name"] for node in nodes(node_count)]
        self._lists: dict[str, list[bytes]] = {}
        self.bytes = 0
        self._add("/api/v1/nodes", "NodeList", nodes(node_count))
        self._add("/api/v1/pods", "PodList", pods(pod_count, names))
        self._add("/apis/apps/v1/deployments", "DeploymentList", deployments(apps))
        self._add("/apis/apps/v1/replicasets", "ReplicaSetList", replica_sets(apps))
        self._add("/apis/storage.k8s.io/v1/csinodes", "CSINodeList", csi_nodes(names))
        self._add("/api/v1/namespaces", "NamespaceList", ({"metadata": meta(f"team-{k}")} for k in range(40)))

    def _add(self, path: str, kind: str, objects: Iterator[Spec]) -> None:
        pages, items = [], list[bytes]()
        for obj in objects:
            items.append(json.dumps(obj, separators=(",", ":")).encode())
            if len(items) == PAGE:
                pages.append(items)
                items = []
        if items or not pages:
            pages.append(items)
        rendered = []
        for number, page in enumerate(pages):
            following = str(number + 1) if number + 1 < len(pages) else ""
            head = {"kind": kind, "metadata": {"resourceVersion": "1", "continue": following}}
            rendered.append(json.dumps(head).encode()[:-1] + b',"items":[' + b",".join(page) + b"]}")
        self._lists[path] = rendered
        self.bytes += sum(map(len, rendered))

    def answer(self, target: str) -> tuple[int, bytes]:
        url = urlsplit(target)
        if url.path == "/version":
            return 200, b'{"gitVersion": "v1.36.1", "major": "1", "minor": "36"}'
        if url.path in self._lists:
            return 200, self._lists[url.path][int(parse_qs(url.query).get("continue", ["0"])[0])]
        if url.path.endswith("kube-system/pods") or url.path == "/apis":
            return 404, b"{}"
        empty = {"kind": KINDS[url.path.rpartition("/")[2]], "metadata": {"resourceVersion": "1"}, "items": []}
        return 200, json.dumps(empty).encode()


def serve(node_count: int, pod_count: int) -> None:
    """Serve forever; the port and the size of all lists are printed when everything is ready."""
    pages = Pages(node_count, pod_count)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            status, body = pages.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(json.dumps({"port": server.server_address[1], "bytes": pages.bytes}), flush=True)
    server.serve_forever()


def dump(kubeconfig: str, out: str) -> None:
    """Run the command itself, and print how long it took and what it held; meant for a process of its own."""
    from kwhatif.cli.main import main

    started = time.perf_counter()
    sys.argv = ["kwhatif", "snapshot", "dump", "--kubeconfig", kubeconfig, "-o", out]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    print(json.dumps({"dumpSeconds": round(time.perf_counter() - started, 2), "dumpPeakMiB": _peak_mebibytes()}))


def measured(node_count: int, pod_count: int, directory: Path) -> dict[str, Any]:
    here = [sys.executable, __file__, "--nodes", str(node_count), "--pods", str(pod_count)]
    with subprocess.Popen([*here, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            told = json.loads(server.stdout.readline())
            path, out = directory / "kubeconfig", directory / "cluster.json.zst"
            named = {
                "cluster": {"server": f"http://127.0.0.1:{told['port']}"},
                "context": {"cluster": "c", "user": "u"},
            }
            config = {"clusters": [{"name": "c", **named}], "contexts": [{"name": "c", **named}], "users": []}
            path.write_text(json.dumps({"current-context": "c", **config}))
            done = _json_of([*here, "--dump", str(path), str(out)])
        finally:
            server.terminate()
    loaded = _json_of([sys.executable, str(Path(__file__).parent / "load.py"), "--load", str(out)])
    return {
        "nodes": loaded["nodes"],
        "pods": loaded["pods"],
        "servedMiB": round(told["bytes"] / 2**20),
        **done,
        "fileMB": round(out.stat().st_size / 1e6, 1),
        "loadSeconds": loaded["seconds"],
        "loadPeakMiB": loaded["peakMemoryMiB"],
    }


def _json_of(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description="Time dumping a large cluster.")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="write the file there and leave it")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--dump", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.nodes, asked.pods)
    elif asked.dump:
        dump(*asked.dump)
    else:
        with tempfile.TemporaryDirectory() as scratch:
            directory = asked.keep or Path(scratch)
            directory.mkdir(parents=True, exist_ok=True)
            print(json.dumps(measured(asked.nodes, asked.pods, directory)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
