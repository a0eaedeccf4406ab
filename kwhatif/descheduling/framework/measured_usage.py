"""Metrics of ``metrics.k8s.io`` and of Prometheus, as their APIs return them, in the form that plugins read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from kwhatif.api.decode import convert
from kwhatif.api.quantity import Quantity
from kwhatif.descheduling.framework.plugin import UsageData
from kwhatif.errors import InputError

T = TypeVar("T")


class _Metadata(msgspec.Struct):
    name: str
    namespace: str | None = None


class _NodeMetrics(msgspec.Struct):
    metadata: _Metadata
    usage: dict[str, Quantity] | None = None


class _Container(msgspec.Struct):
    usage: dict[str, Quantity] | None = None


class _PodMetrics(msgspec.Struct):
    metadata: _Metadata
    containers: list[_Container] | None = None


class _Sample(msgspec.Struct):
    value: list[str | float]
    metric: dict[str, str] | None = None


class _Data(msgspec.Struct, rename="camel"):
    result_type: str = ""
    result: list[_Sample] | None = None


class _Answer(msgspec.Struct):
    status: str = ""
    error: str = ""
    data: _Data | None = None


def usage_data(metrics: Mapping[str, Any]) -> UsageData:
    """``nodes`` (NodeMetrics), ``pods`` (PodMetrics) and ``prometheus`` (an answer), each if it is there.

    Raises InputError with the place.
    """
    nodes, pods, answer = metrics.get("nodes"), metrics.get("pods"), metrics.get("prometheus")
    return UsageData(
        nodes=None if nodes is None else dict(_each(nodes, node_usage_of, "$.nodes")),
        pods=None if pods is None else dict(_each(pods, pod_usage_of, "$.pods")),
        prometheus=None if answer is None else check_answer(answer),
    )


def _each(items: Iterable[Any], read: Callable[[Any], T], place: str) -> list[T]:
    values: list[T] = []
    for number, item in enumerate(convert(items, list[Any])):
        try:
            values.append(read(item))
        except InputError as error:
            raise InputError(error.problem, place=f"{place}[{number}]{error.place.removeprefix('$')}") from None
    return values


def node_usage_of(item: Mapping[str, Any]) -> tuple[str, dict[str, int]]:
    """A node and its resources in billionths. Raises InputError with the place."""
    metrics = convert(item, _NodeMetrics)
    return metrics.metadata.name, _amounts(metrics.usage)


def pod_usage_of(item: Mapping[str, Any]) -> tuple[str, list[dict[str, int]]]:
    """A pod and its containers, each resource in billionths. Raises InputError with the place."""
    metrics = convert(item, _PodMetrics)
    key = f"{metrics.metadata.namespace or 'default'}/{metrics.metadata.name}"
    return key, [_amounts(container.usage) for container in metrics.containers or ()]


def check_answer(answer: Any) -> Any:
    """The answer to a query, as it is. Raises InputError with the place if Prometheus would not answer so."""
    usage = convert(answer, _Answer)
    for number, sample in enumerate((usage.data.result if usage.data else None) or ()):
        try:
            _, text = sample.value
            float(text)
        except ValueError:
            place = f"$.data.result[{number}].value"
            raise InputError("expected a time and a number as text", place=place) from None
    return answer


def _amounts(usage: Mapping[str, Quantity] | None) -> dict[str, int]:
    return {name: quantity.nano() for name, quantity in (usage or {}).items()}
