"""One sample of each container: the table of ``kubectl top pods``, with and without ``--containers`` and ``-A``, which
has no time, and ``PodMetrics`` of metrics.k8s.io.

Upstream: staging/src/k8s.io/metrics/pkg/apis/metrics/v1beta1/types.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from kwhatif.api.decode import convert, describe_value
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.api.times import parse_time
from kwhatif.api.timestamps import Timestamp
from kwhatif.errors import InputError
from kwhatif.usage.book import RESOURCES, UsageBook

_HEAD = re.compile(r"\s*(NAMESPACE\s+)?(?:POD\s+)?NAME\s+CPU\(cores\)\s+MEMORY\(bytes\)\s*")


def is_top(text: bytes) -> bool:
    """Whether a text begins as ``kubectl top pods`` does."""
    return _HEAD.fullmatch(text.split(b"\n", 1)[0].decode("utf-8", "replace")) is not None


def read_top(text: str, book: UsageBook, source: str, namespace: str) -> None:
    """Add the rows; without a column for it they are of one ``namespace``. Raises InputError with the line."""
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if _HEAD.fullmatch(line):
            columns = words
            continue
        if not words:
            continue
        if len(words) != len(columns):
            problem = f"expected {' '.join(columns)}, found {describe_value(line.strip())}"
            raise InputError(problem, source=source, place=f"line {number}")
        row = dict(zip(columns, words, strict=True))
        pod = row.get("POD") or row["NAME"]
        container = row["NAME"] if "POD" in row else ""
        home = row.get("NAMESPACE", namespace)
        for column, resource in (("CPU(cores)", "cpu"), ("MEMORY(bytes)", "memory")):
            try:
                amount = Quantity.parse(row[column])
            except QuantityError:
                problem = f"expected a quantity in {column}, found {describe_value(row[column])}"
                raise InputError(problem, source=source, place=f"line {number}") from None
            sample = np.array([amount.amount_of(resource)], np.float64)
            book.add(home, pod, container, resource, None, sample)


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
    metrics = convert(value, _PodMetrics)
    times = None
    if metrics.timestamp:
        times = np.array([parse_time(metrics.timestamp).timestamp()], np.float64)
    home = metrics.metadata.namespace or namespace
    for container in metrics.containers or ():
        for resource in RESOURCES:
            amount = container.usage.get(resource)
            if amount is not None:
                sample = np.array([amount.amount_of(resource)], np.float64)
                book.add(home, metrics.metadata.name, container.name, resource, times, sample)
