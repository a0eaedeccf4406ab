"""The recorded truth of an API server and a controller manager, and how ours is brought into the same form."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

from kwhatif.api.quantity import Quantity

Json = dict[str, Any]

PATH = Path(__file__).with_name("cases.jsonl.gz")
HASH_LABELS = ("pod-template-hash", "controller-revision-hash")
UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")

# What the recording kept of a pod's spec and of its containers.
SPEC = (
    *("containers", "initContainers", "overhead", "nodeSelector", "nodeName", "affinity", "tolerations"),
    *("topologySpreadConstraints", "priority", "priorityClassName", "preemptionPolicy", "schedulerName"),
    *("schedulingGates", "resourceClaims", "restartPolicy", "runtimeClassName", "hostNetwork", "volumes"),
    *("terminationGracePeriodSeconds", "resources"),
)
CONTAINER = ("name", "image", "resources", "ports", "restartPolicy")


def load() -> tuple[Json, list[Json]]:
    """What every case found, and the cases."""
    with gzip.open(PATH, "rt", encoding="utf-8") as lines:
        first, *cases = (json.loads(line) for line in lines)
    return first, cases


def in_namespace(obj: Json) -> Json:
    return obj | {"metadata": {"namespace": "default", **obj["metadata"]}}


def pods_of(pods: list[Json]) -> list[str]:
    """Pods as texts that agree if the pods do, in no particular order."""
    hashes: dict[str, str] = {}
    return sorted(json.dumps(_pod(pod, hashes), sort_keys=True) for pod in pods)


def recorded_pods(pods: list[Json]) -> list[str]:
    return sorted(json.dumps(_normal(pod), sort_keys=True) for pod in pods)


def claims_of(claims: list[Json]) -> list[str]:
    """Claims that were made, in the recording's form."""
    return recorded_claims(
        [{"name": c["metadata"]["name"], "labels": c["metadata"].get("labels"), "spec": c["spec"]} for c in claims]
    )


def recorded_claims(claims: list[Json]) -> list[str]:
    return sorted(json.dumps(_normal(claim | {"labels": claim["labels"] or {}}), sort_keys=True) for claim in claims)


def message(text: str) -> str:
    """An event's text without what differs between runs: random names, and the mark of a combined event."""
    text = text.removeprefix("(combined from similar events): ")
    return re.sub(r'pods "(\w+)-\w+-\w+"', r'pods "\1-<hash>-<name>"', text)


def _pod(pod: Json, hashes: dict[str, str]) -> Json:
    metadata, spec = pod["metadata"], pod["spec"]
    labels = dict(metadata.get("labels") or {})
    for label in HASH_LABELS:
        if label in labels:
            labels[label] = hashes.setdefault(labels[label], f"<hash-{len(hashes) + 1}>")
    for label in UID_LABELS:
        if label in labels:
            labels[label] = "<uid>"
    owners = [
        {key: owner[key] for key in ("apiVersion", "kind", "name", "controller")}
        for owner in metadata.get("ownerReferences") or ()
    ]
    kept: Json = {key: spec[key] for key in SPEC if spec.get(key)}
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = [{field: c[field] for field in CONTAINER if c.get(field)} for c in kept[key]]
    known: Json = {"labels": labels, "owners": owners, "spec": kept}
    if metadata.get("generateName"):
        known["generateName"] = metadata["generateName"]
    else:
        known["name"] = metadata["name"]
    text = json.dumps(_normal(known))
    for value, placeholder in hashes.items():
        text = text.replace(value, placeholder)
    return json.loads(text)  # type: ignore[no-any-return]


def _normal(value: Any, key: str = "") -> Any:
    """Without what is empty; quantities by value; tolerations and volumes in one order."""
    if isinstance(value, dict):
        if key in ("requests", "limits", "overhead"):
            return {name: _amount(text) for name, text in value.items()}
        normal = {name: _normal(item, name) for name, item in value.items()}
        return {name: item for name, item in normal.items() if item not in (None, {}, []) or name in ("labels",)}
    if isinstance(value, list):
        items = [_normal(item) for item in value]
        return sorted(items, key=json.dumps) if key in ("tolerations", "volumes") else items
    return value


def _amount(text: object) -> str:
    quantity = Quantity.from_json(text)
    return str(quantity.milli_value())
