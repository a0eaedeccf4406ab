"""Answers of Prometheus' HTTP API, ``query_range`` and ``query``, read series by series as the bytes come in.

Series are those of cAdvisor: ``container_memory_working_set_bytes``, rates of ``container_cpu_usage_seconds_total``,
and that counter itself. Prometheus, Thanos, Mimir and VictoriaMetrics write a series' labels before its samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np

from kwhatif.errors import InputError
from kwhatif.usage.book import UsageBook
from kwhatif.usage.histogram import FloatArray

_SERIES = re.compile(rb'\{\s*"metric"\s*:\s*\{')
_SAMPLES = re.compile(rb'"values?"\s*:\s*\[')
_END = re.compile(rb"\]\s*\}")
_FAILED = re.compile(rb'"status"\s*:\s*"error"')
_SAID = re.compile(rb'"error"\s*:\s*("(?:[^"\\]|\\.)*")')
_LEFT = 64
"""Bytes that may hold the beginning of a series of which the rest is still to come."""

MOST_SERIES_BYTES = 256 * 1024**2
"""One series: a year of samples every second has no more."""

CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
_CORES_AT_MOST = 100_000.0
"""A series without a name that goes higher than this is of bytes."""


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] | None = None
    value: tuple[float, str] | None = None


_decode = msgspec.json.Decoder(_Series).decode


def read_answers(chunks: Iterable[bytes], book: UsageBook, source: str) -> None:
    """Add what answers of the API say, one document after the other. Raises InputError for what is none of them."""
    for number, text in enumerate(_texts(chunks, source)):
        try:
            series = _decode(text)
            pairs = series.values if series.values is not None else [series.value] if series.value else []
            times = np.array([pair[0] for pair in pairs], np.float64)
            values = np.array([float(pair[1]) for pair in pairs], np.float64)
        except (msgspec.MsgspecError, ValueError) as error:
            problem = f"expected a series with metric and values, as the Prometheus API has it: {error}"
            raise InputError(problem, source=source, place=f"$.data.result[{number}]") from None
        if len(times):
            _add(series.metric, times, values, book)


def _texts(chunks: Iterable[bytes], source: str) -> Iterator[bytes]:
    """The text of each series, without what stands between them."""
    kept, begun = bytearray(), False
    searched = 0
    for chunk in chunks:
        kept += chunk
        while True:
            if not begun:
                found = _SERIES.search(kept)
                _check_head(bytes(kept[: found.start()]) if found else bytes(kept[-4096:]), source)
                if found is None:
                    del kept[: max(0, len(kept) - _LEFT)]
                    break
                del kept[: found.start()]
                begun, searched = True, 0
            samples = _SAMPLES.search(kept, 0)
            end = _END.search(kept, max(samples.end(), searched)) if samples else None
            if end is None:
                searched = max(0, len(kept) - _LEFT)
                if len(kept) > MOST_SERIES_BYTES:
                    raise InputError(f"one series is larger than {MOST_SERIES_BYTES:,} bytes", source=source)
                break
            yield bytes(kept[: end.end()])
            del kept[: end.end()]
            begun = False
    if begun:
        raise InputError("breaks off within a series: it was not written to its end", source=source)


def _check_head(head: bytes, source: str) -> None:
    if _FAILED.search(head):
        said = _SAID.search(head)
        why = msgspec.json.decode(said[1]) if said else "it does not say why"
        raise InputError(f"Prometheus answered with an error: {why}", source=source, place="$.error")


def _add(labels: dict[str, str], times: FloatArray, values: FloatArray, book: UsageBook) -> None:
    told = book.complaints
    pod = labels.get("pod") or labels.get("pod_name") or ""
    container = labels.get("container") or labels.get("container_name") or ""
    namespace = labels.get("namespace") or ""
    if not pod or not namespace:
        told.unrelated += 1
        return
    if container in ("", "POD"):
        # cAdvisor has the sums of whole pods and their sandboxes, too.
        told.aggregates += 1
        return
    resource, is_counter = _meaning(labels, values)
    if not resource:
        told.unrelated += 1
        return
    if "__name__" not in labels:
        told.unnamed[resource] += 1
    if is_counter:
        times, values = rates(times, values, book)
    book.add(namespace, pod, container, resource, times, values * 1000 if resource == "cpu" else values)


def _meaning(labels: dict[str, Any], values: FloatArray) -> tuple[str, bool]:
    """The resource of a series, and whether it counts seconds instead of cores.

    A recording rule has the metric's name within its own (``namespace:container_cpu_usage_seconds_total:sum_rate``).
    Prometheus drops the name of computed series: then the size of the values decides.
    """
    name = labels.get("__name__", "")
    if name == CPU:
        return "cpu", len(values) > 0
    if name == MEMORY or "memory_working_set" in name:
        return "memory", False
    if "cpu_usage" in name:
        return "cpu", False
    if name:
        return "", False
    finite = values[np.isfinite(values)]
    return ("memory" if len(finite) and float(finite.max()) > _CORES_AT_MOST else "cpu"), False


def rates(times: FloatArray, values: FloatArray, book: UsageBook) -> tuple[FloatArray, FloatArray]:
    """Cores between each two samples of a counter of seconds; float64[n - 1] each, or fewer.

    A counter that decreases was reset, as for Prometheus' ``rate``: its whole value counts.
    """
    sound = np.isfinite(values) & (values >= 0)
    book.complaints.not_a_number += int(np.count_nonzero(~np.isfinite(values)))
    book.complaints.negative += int(np.count_nonzero(values < 0))
    times, values = times[sound], values[sound]
    if len(times) < 2:
        return times[:0], values[:0]
    seconds, increase = np.diff(times), np.diff(values)
    anew = increase < 0
    book.complaints.resets += int(np.count_nonzero(anew))
    increase = np.where(anew, values[1:], increase)
    later = seconds > 0
    book.complaints.repeated += int(np.count_nonzero(~later))
    return times[1:][later], increase[later] / seconds[later]
