"""``PodMetrics`` of metrics.k8s.io: one sample of each container.

Upstream: staging/src/k8s.io/metrics/pkg/apis/metrics/v1beta1/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from kwhatif.api.decode import convert
from kwhatif.api.quantity import Quantity
from kwhatif.api.times import parse_time
from kwhatif.api.timestamps import Timestamp
from kwhatif.usage.book import RESOURCES, UsageBook


class _Container(msgspec.Struct):
    name: str
    usage: dict[str, Quantity]


class _Metadata(msgspec.Struct):
    name: str
    namespace: str | None = None


class _PodMetrics(msgspec.Struct):
    metadata: _Metadata
    containers: list[_Container] | None = None
    timestamp: Timestamp | None = None


def add_pod_metrics(value: Mapping[str, Any], book: UsageBook, namespace: str) -> None:
    """Add the samples of one object; ``namespace`` is its default. Raises InputError with the place."""
    found = convert(value, _PodMetrics)
    times = None
    if found.timestamp:
        times = np.array([parse_time(found.timestamp).timestamp()], np.float64)
    home = found.metadata.namespace or namespace
    for container in found.containers or ():
        for resource in RESOURCES:
            amount = container.usage.get(resource)
            if amount is not None:
                value_ = amount.milli_value() if resource == "cpu" else amount.value()
                sample = np.array([value_], np.float64)
                book.add(home, found.metadata.name, container.name, resource, times, sample)
