"""Utilization of nodes, for plugins that score by it: from load-watcher, or computed from metrics.k8s.io.

Upstream: pkg/watcher/watcher.go and pkg/watcher/internal/metricsprovider/k8s.go of paypal/load-watcher.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.core import Node
from kwhatif.api.decode import convert, describe_value
from kwhatif.api.quantity import Quantity
from kwhatif.api.times import parse_time
from kwhatif.api.watcher_metrics import Metric, MetricsData, MetricsWindow, NodeMetrics, WatcherMetrics
from kwhatif.errors import ClusterError, InputError, UsageError
from kwhatif.results.amounts import format_count
from kwhatif.snapshot.read.files import Text, read_paths
from kwhatif.snapshot.read.objects import decode, inside, read_documents
from kwhatif.snapshot.read.secrets import WebAddress
from kwhatif.usage.http_answers import NoAnswer, answer_of

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
    if is_url(source):
        try:
            address = WebAddress.parse(source)
        except ValueError as error:
            raise UsageError(f"--load: {error}") from None
        source, text = address.shown, _ask(address)
    else:
        (text,) = read_paths([source], max_bytes=bounds.SETTINGS_BYTES)
    documents = read_documents(text)
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
    return source.lower().startswith(("http://", "https://"))


def _ask(address: WebAddress) -> Text:
    shown, url = (
        stated if stated.endswith("/watcher") else f"{stated}/watcher" for stated in (address.shown, address.url)
    )
    headers = {"Accept": "application/json", "Accept-Encoding": "gzip"}
    if address.authorization:
        headers["Authorization"] = address.authorization
    request = urllib.request.Request(url + address.query, headers=headers)
    try:
        with answer_of(request, bounds.LOAD_SECONDS, bounds.SETTINGS_BYTES, address.secrets()) as pieces:
            return Text(shown, b"".join(pieces))
    except NoAnswer as error:
        raise ClusterError(f"{shown}: {error}") from None
    except InputError as error:
        raise ClusterError(f"{shown}: {error.problem}") from None


def _read_served(value: Mapping[str, Any], source: str, nodes: Sequence[Node]) -> tuple[WatcherMetrics, str]:
    load = convert(value, WatcherMetrics)
    if load.data.nodes is None:
        raise InputError(f"expected {_EXPECTED}; found no figures", place="$.data.NodeMetricsMap")
    known = [name for name, node_metrics in load.data.nodes.items() if node_metrics.metrics]
    return load, f"load: {source}, what load-watcher served for {_share_of(known, nodes)}"


def _usages_of(value: Mapping[str, Any]) -> Iterator[tuple[_NodeUsage, int]]:
    """The NodeMetrics of a list, or a single one, with their times in seconds since 1970. Raises InputError."""
    kind = value.get("kind")
    if kind == "NodeMetrics":
        yield _usage_of(value)
        return
    if kind not in ("NodeMetricsList", "List"):
        kind_text = f"an object of kind {kind}" if isinstance(kind, str) else describe_value(dict(value))
        raise InputError(f"expected {_EXPECTED}; found {kind_text}", place="$")
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
        return usage, int(parse_time(usage.timestamp).timestamp())
    except ValueError as error:
        raise InputError(str(error), place="$.timestamp") from None


def _work_out_load(
    used: Sequence[tuple[_NodeUsage, int]], source: str, nodes: Sequence[Node]
) -> tuple[WatcherMetrics, str]:
    """Latest figures in percent of the capacity; nodes that do not exist are left out."""
    capacities = {node.name: node.status.capacity or {} for node in nodes}
    loads: dict[str, NodeMetrics] = {}
    for use, _ in used:
        name = use.metadata.name
        has = capacities.get(name, {})
        metrics = [
            Metric(type=kind, operator="Latest", rollup=use.window, value=100 * amount / capacity)
            for kind, amount, capacity in (
                ("CPU", _amount_of(use.usage, "cpu"), _amount_of(has, "cpu")),
                ("Memory", _amount_of(use.usage, "memory"), _amount_of(has, "memory")),
            )
            if amount is not None and capacity
        ]
        if metrics:
            loads[name] = NodeMetrics(metrics=metrics)
    end = max(seconds for _, seconds in used)
    load = WatcherMetrics(timestamp=end, window=MetricsWindow(start=end, end=end), data=MetricsData(nodes=loads))
    return load, (
        f"load: {source}, worked out from what metrics.k8s.io lists for {_share_of(loads, nodes)}: use as a share of "
        "capacity at one moment, no averages and no deviations"
    )


def _amount_of(amounts: Mapping[str, Quantity], resource: str) -> int | None:
    """Millicores of cpu, bytes of memory."""
    amount = amounts.get(resource)
    return None if amount is None else amount.amount_of(resource)


def _share_of(reporting: Iterable[str], nodes: Sequence[Node]) -> str:
    there = {node.name for node in nodes}
    unknown = len(set(reporting) - there)
    beside = f"; {format_count(unknown, 'node')} of it {'is' if unknown == 1 else 'are'} not in the cluster"
    return f"{len(there & set(reporting))} of {format_count(len(there), 'node')}{beside if unknown else ''}"
