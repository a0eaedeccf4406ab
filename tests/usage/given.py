"""Usage as each source has it, made of plain samples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kwhatif.usage.book import KnownPod, UsageBook
from kwhatif.usage.read import UsageInputs, read_usage

RATE = "namespace:container_cpu_usage_seconds_total:rate"
COUNTER = "container_cpu_usage_seconds_total"
MEMORY = "container_memory_working_set_bytes"
START = 1_790_000_000

Samples = Sequence[tuple[float, Any]]


def known(namespace: str, pod: str) -> KnownPod | None:
    """A cluster in which every pod of ``shop`` is one of web's, and nobody else is known."""
    return KnownPod("Deployment/shop/web", ("main",), present=True) if namespace == "shop" else None


def series(name: str, samples: Samples, pod: str = "web-1", **labels: str) -> dict[str, Any]:
    """One series; without a name it says of no metric what it is."""
    metric = {"namespace": "shop", "pod": pod, "container": "main", **labels}
    if name:
        metric["__name__"] = name
    return {"metric": metric, "values": [[time, str(value)] for time, value in samples]}


def answer(*found: Mapping[str, Any], kind: str = "matrix") -> str:
    """An answer of Prometheus' API."""
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": list(found)}})


def every(seconds: float, values: Iterable[object]) -> list[tuple[float, Any]]:
    """Values at regular times."""
    return [(START + seconds * number, value) for number, value in enumerate(values)]


def read(folder: Path, *texts: str, window: float | None = None, names: Sequence[str] = ()) -> UsageInputs:
    """What is known after files with these texts have been read."""
    paths = []
    for number, text in enumerate(texts):
        path = folder / (names[number] if names else f"usage-{number}")
        path.write_text(text)
        paths.append(str(path))
    found = UsageInputs(UsageBook(known, window))
    read_usage(paths, found)
    return found
