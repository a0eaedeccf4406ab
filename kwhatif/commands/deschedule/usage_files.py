"""Files with what was measured: lists of NodeMetrics and PodMetrics, or Prometheus' answer to the policy's query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.descheduling.framework.measured_usage import usage_data
from kwhatif.descheduling.framework.plugin import UsageData
from kwhatif.errors import InputError
from kwhatif.simulation.policy_file import plain_document
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.objects import read_documents

_COMMANDS = "kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes (and .../pods), or /api/v1/query of Prometheus"


def read_usage(files: Sequence[str]) -> UsageData:
    """What all the files tell together. Raises InputError."""
    found: dict[str, Any] = {}
    for text in read_paths(list(files)) if files else ():
        for document in read_documents(text):
            value = plain_document(document.value, text.name)
            if isinstance(value, dict) and "status" in value and "data" in value and "kind" not in value:
                found["prometheus"] = value
                continue
            items = list(_items(value))
            if not items:
                raise InputError(f"expected what was measured: {_COMMANDS}", source=text.name)
            for kind, item in items:
                found.setdefault("nodes" if kind == "NodeMetrics" else "pods", []).append(item)
    return usage_data(found)


def _items(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The metrics of a list, or a single one, each with its kind."""
    if not isinstance(value, dict):
        return
    kind = str(value.get("kind", ""))
    if kind in ("NodeMetrics", "PodMetrics"):
        yield kind, value
    for item in value.get("items") or () if kind in ("List", "NodeMetricsList", "PodMetricsList") else ():
        if isinstance(item, dict):
            yield str(item.get("kind") or kind.removesuffix("List")), item
