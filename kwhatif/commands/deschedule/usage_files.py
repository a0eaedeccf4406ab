"""Reads measured usage from files: lists of NodeMetrics and PodMetrics, or Prometheus' answer to the policy's query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from kwhatif.api.decode import convert
from kwhatif.descheduling.framework.measured_usage import check_answer, node_usage_of, pod_usage_of
from kwhatif.descheduling.framework.plugin import UsageData
from kwhatif.errors import InputError
from kwhatif.simulation.policy_file import plain_document
from kwhatif.snapshot.read.files import read_paths
from kwhatif.snapshot.read.objects import inside, read_documents

T = TypeVar("T")

_KINDS = ("NodeMetrics", "PodMetrics")
_COMMANDS = "kubectl get --raw /apis/metrics.k8s.io/v1beta1/nodes (and .../pods), or /api/v1/query of Prometheus"


def read_usage(files: Sequence[str]) -> UsageData:
    """What all the files tell together. Raises InputError."""
    nodes: dict[str, dict[str, int]] = {}
    pods: dict[str, list[dict[str, int]]] = {}
    answer: Any = None
    for text in read_paths(list(files)) if files else ():
        for document in read_documents(text):
            value = plain_document(document.value, text.name)
            if isinstance(value, dict) and "status" in value and "data" in value and "kind" not in value:
                answer = _read(check_answer, value, text.name, "$")
                continue
            nothing = True
            for kind, item, place in _items(value, text.name):
                nothing = False
                if kind == "NodeMetrics":
                    nodes.update([_read(node_usage_of, item, text.name, place)])
                else:
                    pods.update([_read(pod_usage_of, item, text.name, place)])
            if nothing:
                raise InputError(f"expected measurements: {_COMMANDS}", source=text.name)
    return UsageData(nodes or None, pods or None, answer)


def _read(read: Callable[[dict[str, Any]], T], value: dict[str, Any], source: str, place: str) -> T:
    try:
        return read(value)
    except InputError as error:
        raise inside(error, source, place) from None


def _items(value: Any, source: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The metrics of a list, or a single one, each with its kind and place. Raises InputError."""
    if not isinstance(value, dict):
        return
    kind = str(value.get("kind", ""))
    if kind in _KINDS:
        yield kind, value, "$"
    if kind not in ("List", *(f"{single}List" for single in _KINDS)):
        return
    items = _read(lambda document: convert(document.get("items") or [], list[Any]), value, source, "$.items")
    for number, item in enumerate(items):
        if isinstance(item, dict):
            yield str(item.get("kind") or kind.removesuffix("List")), item, f"$.items[{number}]"
