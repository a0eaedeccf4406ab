"""Recordings of a few lines, for tests to make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def line(kind: str, at: float = 1000.0, **more: Any) -> dict[str, Any]:
    return {"at": at, "kind": kind, **more}


def node(name: str = "a", cpu: str = "4") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {"metadata": {"name": name, "resourceVersion": "1"}, "status": {"allocatable": amounts, "capacity": amounts}}


def pod(name: str, version: int, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": str(version)},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **spec},
    }


def told(type_: str, obj: dict[str, Any], at: float = 1000.0, kind: str = "v1/pods") -> dict[str, Any]:
    return line(kind, at, event={"type": type_, "object": obj})


def written(tmp_path: Path, *changes: dict[str, Any], nodes: list[dict[str, Any]] | None = None) -> Path:
    listed = {"metadata": {"resourceVersion": "10"}, "items": [node()] if nodes is None else nodes}
    nothing = {"metadata": {"resourceVersion": "10"}, "items": []}
    kinds = ("v1/pods", "v1/services", "policy/v1/poddisruptionbudgets")
    lines = [line("v1/nodes", list=listed), *(line(kind, list=nothing) for kind in kinds), *changes]
    path = tmp_path / "day.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


def refused(pod: dict[str, Any], text: str) -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}
    return {**pod, "status": {"conditions": [condition]}}


def bound_to(name: str, obj: dict[str, Any], version: int) -> dict[str, Any]:
    metadata = {**obj["metadata"], "resourceVersion": str(version)}
    return {**obj, "metadata": metadata, "spec": {**obj["spec"], "nodeName": name}}


def deleted_soon(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "1970-01-01T00:20:00Z"}}
