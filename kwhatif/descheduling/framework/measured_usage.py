"""Metrics as the APIs give them: lists of ``metrics.k8s.io`` and answers of Prometheus, read into what plugins ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.descheduling.framework.plugin import UsageData
from kwhatif.errors import InputError


def usage_data(metrics: Mapping[str, Any]) -> UsageData:
    """``nodes`` (NodeMetrics), ``pods`` (PodMetrics) and ``prometheus`` (an answer), each if it is there.

    Raises InputError.
    """
    nodes, pods = metrics.get("nodes"), metrics.get("pods")
    return UsageData(
        nodes=None if nodes is None else node_usages(nodes),
        pods=None if pods is None else pod_usages(pods),
        prometheus=metrics.get("prometheus"),
    )


def node_usages(items: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Node -> resource -> billionths. Raises InputError."""
    return {_name(item, "NodeMetrics"): _amounts(item.get("usage"), f"NodeMetrics {_name(item, '')}") for item in items}


def pod_usages(items: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, int]]]:
    """Pod -> its containers, each resource -> billionths. Raises InputError."""
    found: dict[str, list[dict[str, int]]] = {}
    for item in items:
        namespace = (item.get("metadata") or {}).get("namespace") or "default"
        key = f"{namespace}/{_name(item, 'PodMetrics')}"
        containers = item.get("containers") or ()
        found[key] = [_amounts(container.get("usage"), f"PodMetrics {key}") for container in containers]
    return found


def _name(item: Mapping[str, Any], kind: str) -> str:
    name = (item.get("metadata") or {}).get("name")
    if not isinstance(name, str):
        raise InputError(f"{kind} without a name", place="$.metadata.name")
    return name


def _amounts(usage: Mapping[str, Any] | None, what: str) -> dict[str, int]:
    try:
        return {name: Quantity.from_json(value).nano() for name, value in (usage or {}).items()}
    except QuantityError as error:
        raise InputError(f"{what}: {error}", place="$.usage") from None
