"""Utilization of nodes, for plugins that score by it: from load-watcher, or computed from metrics.k8s.io.

Upstream: pkg/watcher/watcher.go and pkg/watcher/internal/metricsprovider/k8s.go of paypal/load-watcher.
"""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from http.client import HTTPException
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.core import Node
from kwhatif.api.decode import convert, describe_value
from kwhatif.api.quantity import Quantity
from kwhatif.api.watcher_metrics import Metric, MetricsData, MetricsWindow, NodeMetrics, WatcherMetrics
from kwhatif.errors import ClusterError, InputError
from kwhatif.results.amounts import format_count
from kwhatif.snapshot.read.compression import decompress_chunks
from kwhatif.snapshot.read.files import Text, read_paths
from kwhatif.snapshot.read.objects import decode, inside, read_documents
from kwhatif.usage.http_answers import opener, pieces_of, reason_of

TIMEOUT = 10.0
"""Seconds until a load-watcher has to answer."""

_EXPECTED = "what load-watcher serves at /watcher, or what /apis/metrics.k8s.io/v1beta1/nodes lists"


class _Metadata(msgspec.Struct):
    name: str


class _NodeUsage(msgspec.Struct):
    metadata: _Metadata
    usage: dict[str, Quantity]
    timestamp: str | None = None
    window: str = ""


def read_node_load(source: str, nodes: Sequence[Node]) -> tuple[WatcherMetrics, str]:
    """The load in a file, on standard input (``-``) or from a load-watcher at a URL, and a sentence about it.

    Usage from metrics.k8s.io becomes a share of the capacity of ``nodes``, as load-watcher computes it. Raises
    InputError with the place of what is wrong, ClusterError where the server cannot be reached.
    """
    documents = read_documents(_text_of(source))
    used: list[tuple[_NodeUsage, int]] = []
    for place, document in enumerate(documents):
        try:
            value = decode(document.value, dict[str, Any])
            if "data" in value and "kind" not in value:
                return _read_served(value, source, nodes)
            used += _usages_of(value)
        except InputError as error:
            where = f"document {place + 1}: " if len(documents) > 1 else ""
            raise InputError(f"{where}{error.problem}", source=source, place=error.place) from None
    if not used:
        raise InputError(f"expected {_EXPECTED}; found nothing of either", source=source)
    return _work_out_load(used, source, nodes)


def is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _text_of(source: str) -> Text:
    if not is_url(source):
        (text,) = read_paths([source], max_bytes=bounds.SETTINGS_BYTES)
        return text
    address = urllib.parse.urlsplit(source)
    path = address.path.rstrip("/")
    asked = address._replace(path=path if path.endswith("/watcher") else f"{path}/watcher").geturl()
    request = urllib.request.Request(asked, headers={"Accept": "application/json", "Accept-Encoding": "gzip"})
    try:
        with opener().open(request, timeout=TIMEOUT) as answer:
            return Text(asked, b"".join(decompress_chunks(pieces_of(answer), bounds.SETTINGS_BYTES)))
    except urllib.error.HTTPError as error:
        raise ClusterError(f"{asked}: {reason_of(error)}") from None
    except InputError as error:
        raise ClusterError(f"{asked}: {error.problem}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise ClusterError(f"{asked}: {getattr(error, 'reason', error) or type(error).__name__}") from None


def _read_served(value: Mapping[str, Any], source: str, nodes: Sequence[Node]) -> tuple[WatcherMetrics, str]:
    load = convert(value, WatcherMetrics)
    if load.data.nodes is None:
        raise InputError(f"expected {_EXPECTED}; found no figures", place="$.data.NodeMetricsMap")
    known = [name for name, each in load.data.nodes.items() if each.metrics]
    return load, f"load: {source}, what load-watcher served for {_share_of(known, nodes)}"


def _usages_of(value: Mapping[str, Any]) -> Iterator[tuple[_NodeUsage, int]]:
    """The NodeMetrics of a list, or a single one, with their times in seconds since 1970. Raises InputError."""
    kind = value.get("kind")
    if kind == "NodeMetrics":
        yield _usage_of(value)
        return
    if kind not in ("NodeMetricsList", "List"):
        found = f"an object of kind {kind}" if isinstance(kind, str) else describe_value(dict(value))
        raise InputError(f"expected {_EXPECTED}; found {found}", place="$")
    for place, item in enumerate(value.get("items") or ()):
        try:
            yield _usage_of(item)
        except InputError as error:
            raise inside(error, "", f"$.items[{place}]") from None


def _usage_of(value: object) -> tuple[_NodeUsage, int]:
    usage = convert(value, _NodeUsage)
    if usage.timestamp is None:
        return usage, 0
    try:
        return usage, int(datetime.fromisoformat(usage.timestamp).timestamp())
    except ValueError:
        problem = f'expected a time such as "2026-03-01T11:29:02Z", found "{usage.timestamp}"'
        raise InputError(problem, place="$.timestamp") from None


def _work_out_load(
    used: Sequence[tuple[_NodeUsage, int]], source: str, nodes: Sequence[Node]
) -> tuple[WatcherMetrics, str]:
    """Latest figures in percent of the capacity; nodes that do not exist are left out."""
    capacities = {node.name: node.status.capacity or {} for node in nodes}
    found: dict[str, NodeMetrics] = {}
    for each, _ in used:
        name = each.metadata.name
        has = capacities.get(name, {})
        metrics = [
            Metric(type=kind, operator="Latest", rollup=each.window, value=100 * amount / capacity)
            for kind, amount, capacity in (
                ("CPU", _amount_of(each.usage, "cpu"), _amount_of(has, "cpu")),
                ("Memory", _amount_of(each.usage, "memory"), _amount_of(has, "memory")),
            )
            if amount is not None and capacity
        ]
        if metrics:
            found[name] = NodeMetrics(metrics=metrics)
    end = max(seconds for _, seconds in used)
    load = WatcherMetrics(timestamp=end, window=MetricsWindow(start=end, end=end), data=MetricsData(nodes=found))
    return load, (
        f"load: {source}, worked out from what metrics.k8s.io lists for {_share_of(found, nodes)}: use as a share of "
        "capacity at one moment, no averages and no deviations"
    )


def _amount_of(amounts: Mapping[str, Quantity], resource: str) -> int | None:
    """Millicores of cpu, bytes of memory."""
    amount = amounts.get(resource)
    if amount is None:
        return None
    return amount.milli_value() if resource == "cpu" else amount.value()


def _share_of(known: Iterable[str], nodes: Sequence[Node]) -> str:
    there = {node.name for node in nodes}
    strangers = len(set(known) - there)
    beside = f"; {format_count(strangers, 'node')} of it {'is' if strangers == 1 else 'are'} not in the cluster"
    return f"{len(there & set(known))} of {format_count(len(there), 'node')}{beside if strangers else ''}"
