"""Record what becomes of changes on a real control plane, through kubectl: what the judge holds ``place`` against.

    python -m tests.happened.recorder --context CONTEXT [--quiet SECONDS] [--most SECONDS] -o OUT.jsonl.gz STEP...

A step is a file in JSON: one object, which is applied to the cluster of ``CONTEXT``, or a command of kubectl with the
question that foretells it, ``{"kubectl": ["cordon", "n1"], "question": {"place": {"edits": [{"cordon": "n1"}]}}}``.
When no object has changed for ``--quiet`` seconds, all are at rest, and the next step follows.
The context has to be named, since the cluster is changed. It takes
a kube-apiserver, a kube-controller-manager and a kube-scheduler, and something that marks bound pods Running and
removes those that are deleted, as kubelets do.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kwhatif.api.kinds import plural_of

Json = dict[str, Any]
Kubectl = Callable[..., str]
"""Words of a kubectl command -> what it prints. Raises SystemExit with a sentence where it fails."""

AFTER = (
    *("Pod", "PersistentVolumeClaim", "PersistentVolume", "Node"),
    *("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"),
)
"""The kinds of what is compared, and of what has to be at rest."""

BEFORE = (
    *("Namespace", "Service", "ServiceAccount", "ReplicationController", "ResourceQuota", "LimitRange", "CronJob"),
    *("ControllerRevision", "PodDisruptionBudget", "PriorityClass", "HorizontalPodAutoscaler"),
    *("StorageClass", "CSINode", "CSIDriver", "VolumeAttachment", "CSIStorageCapacity", *AFTER),
)


def kubectl_of(context: str) -> Kubectl:
    """Runs kubectl, in this context."""

    def kubectl(*words: str) -> str:
        try:
            ran = subprocess.run(["kubectl", "--context", context, *words], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise SystemExit("no kubectl on the PATH: changes are recorded through it") from None
        if ran.returncode:
            raise SystemExit(f"kubectl {' '.join(words)}: {ran.stderr.strip() or f'exit code {ran.returncode}'}")
        return ran.stdout

    return kubectl


def list_objects(kubectl: Kubectl, kinds: Sequence[str]) -> list[Json]:
    """All objects of these kinds, by one kubectl: a list a kind (``PodList``), without managed fields."""
    lists: dict[str, Json] = {kind: {"apiVersion": "v1", "kind": f"{kind}List", "items": []} for kind in kinds}
    resources = ",".join(map(plural_of, kinds))
    for item in json.loads(kubectl("get", resources, "--all-namespaces", "--output", "json"))["items"]:
        item["metadata"].pop("managedFields", None)
        lists[item["kind"]]["items"].append(item)
    return list(lists.values())


def wait_for_rest(
    kubectl: Kubectl, quiet: float, most: float, now: Callable[[], float], sleep: Callable[[float], None]
) -> list[Json]:
    """The objects once none has changed for ``quiet`` seconds. Raises SystemExit after ``most`` seconds."""
    began = since = now()
    found = list_objects(kubectl, AFTER)
    while now() - since < quiet:
        if now() - began > most:
            raise SystemExit(f"the cluster is not at rest after {most:g} seconds")
        sleep(min(quiet, 1.0))
        again = list_objects(kubectl, AFTER)
        if _versions(again) != _versions(found):
            found, since = again, now()
    return found


def _versions(lists: Sequence[Json]) -> dict[str, str]:
    return {
        item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for listed in lists for item in listed["items"]
    }


def record_change(kubectl: Kubectl, path: Path, number: int, rest: Callable[[], list[Json]]) -> Json:
    """Apply one manifest, or run one command of kubectl; the line of a recording."""
    step: Json = json.loads(path.read_text())
    before = list_objects(kubectl, BEFORE)
    line = {"id": f"{path.stem}-{number:03d}", "before": before}
    if "kubectl" in step:
        kubectl(*step["kubectl"])
        return {**line, "what": step["kubectl"][0], "question": step["question"], "after": rest()}
    metadata = step["metadata"]
    key = step["kind"], metadata.get("namespace", "default"), metadata["name"]
    there = {
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"])
        for listed in before
        for item in listed["items"]
    }
    kubectl("apply", "--filename", str(path))
    return {**line, "what": "update" if key in there else "create", "change": step, "after": rest()}


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("steps", nargs="+", type=Path)
    parser.add_argument("--context", required=True)
    parser.add_argument("--quiet", type=float, default=15.0)
    parser.add_argument("--most", type=float, default=600.0)
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args(words)
    kubectl = kubectl_of(given.context)

    def rest() -> list[Json]:
        return wait_for_rest(kubectl, given.quiet, given.most, time.monotonic, time.sleep)

    rest()
    with gzip.open(given.out, "wt", encoding="utf-8") as lines:
        for number, path in enumerate(given.steps):
            lines.write(json.dumps(record_change(kubectl, path, number, rest)) + "\n")
            lines.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
