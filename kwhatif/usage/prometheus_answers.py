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

from kwhatif import bounds
from kwhatif.api.decode import ENDS_EARLY, decode_json
from kwhatif.errors import InputError
from kwhatif.snapshot.read.json_reader import JsonDocument, read_json
from kwhatif.usage.book import UsageBook
from kwhatif.usage.histogram import FloatArray

_SERIES = re.compile(rb'\{\s{0,64}"metric"\s{0,64}:\s{0,64}\{')
_SAMPLES = re.compile(rb'"values?"\s{0,64}:\s{0,64}\[')
_END = re.compile(rb"\]\s{0,64}\}")
_BETWEEN = re.compile(rb"[\s,]*")
_LEFT = 256
"""Bytes that may hold the beginning of a series of which the rest is still to come."""

CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"
_CORES_AT_MOST = 100_000.0
"""A series without a name that goes higher than this is of bytes."""

_BREAKS_OFF = "is truncated"
_LONGEST_WORDS = 1000
_EXPECTED = "an answer of the Prometheus API, or its data"


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] | None = None
    value: tuple[float, str] | None = None


class _Data(msgspec.Struct):
    result: list[msgspec.Raw] | None = None


class _Envelope(msgspec.Struct, rename="camel"):
    """A document without its series, in whose places are zeros."""

    status: str = ""
    error: str = ""
    data: _Data | None = None
    result: list[msgspec.Raw] | None = None
    warnings: list[str] | None = None
    is_partial: bool = False


_decode = msgspec.json.Decoder(_Series).decode


def read_answer(chunks: Iterable[bytes], book: UsageBook, source: str) -> None:
    """Add what one answer of a server says. Raises InputError for what is no complete answer."""
    documents = _read_documents(chunks, book, source)
    if len(documents) != 1 or documents[0] is None or documents[0].status != "success":
        raise InputError("expected one answer of the Prometheus API, found something else", source=source)


def read_answers(chunks: Iterable[bytes], book: UsageBook, source: str) -> None:
    """Add what answers of the API say, one document after the other, or their data, or single series.

    Raises InputError for what is none of them, or breaks off.
    """
    _read_documents(chunks, book, source)


def _read_documents(chunks: Iterable[bytes], book: UsageBook, source: str) -> list[_Envelope | None]:
    """Add the series; returns the documents in which they stood, None for those that are a series."""
    outline = _Outline(source)
    for number, text in enumerate(_texts(chunks, outline, source)):
        try:
            series = _decode(text)
            pairs = series.values if series.values is not None else [series.value] if series.value else []
            times = np.array([pair[0] for pair in pairs], np.float64)
            values = np.array([float(pair[1]) for pair in pairs], np.float64)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            problem = f"expected a series with metric and values, as the Prometheus API has it: {error}"
            raise InputError(problem, source=source, place=f"$.data.result[{number}]") from None
        if len(times):
            _add(series.metric, times, values, book)
    return _read_envelopes(bytes(outline.text), book, source)


class _Outline:
    """The text of an answer with a zero in the place of each run of series."""

    def __init__(self, source: str) -> None:
        self.text = bytearray()
        self._source = source
        self._after_series = False

    def add_series(self) -> None:
        if not self._after_series:
            self.text += b"0"
        self._after_series = True

    def take(self, output: bytearray, size: int) -> None:
        """Move so many bytes here. What separates series is not worth it."""
        if size and not (self._after_series and _BETWEEN.fullmatch(output, 0, size)):
            self.text += output[:size]
            self._after_series = False
        del output[:size]
        if len(self.text) > bounds.LABEL_BYTES:
            problem = f"expected {_EXPECTED}, found more than {bounds.LABEL_BYTES:,} bytes without a series"
            raise InputError(problem, source=self._source)


def _texts(chunks: Iterable[bytes], outline: _Outline, source: str) -> Iterator[bytes]:
    """The text of each series; what stands between them goes to the outline."""
    kept, begun = bytearray(), False
    searched = 0
    for chunk in chunks:
        kept += chunk
        while True:
            if not begun:
                match = _SERIES.search(kept)
                outline.take(kept, match.start() if match else max(0, len(kept) - _LEFT))
                if match is None:
                    break
                outline.add_series()
                begun, searched = True, 0
            samples = _SAMPLES.search(kept, 0, bounds.LABEL_BYTES)
            end = _END.search(kept, max(samples.end(), searched)) if samples else None
            if end is None:
                searched = max(0, len(kept) - _LEFT)
                if samples is None and len(kept) > bounds.LABEL_BYTES:
                    problem = (
                        f"the labels of a series are larger than {bounds.LABEL_BYTES:,} bytes, or it has no values"
                    )
                    raise InputError(problem, source=source)
                if len(kept) > bounds.SERIES_BYTES:
                    raise InputError(f"one series is larger than {bounds.SERIES_BYTES:,} bytes", source=source)
                break
            yield bytes(kept[: end.end()])
            del kept[: end.end()]
            begun = False
    if begun:
        raise InputError("is truncated within a series", source=source)
    outline.take(kept, len(kept))


def _read_envelopes(outline: bytes, book: UsageBook, source: str) -> list[_Envelope | None]:
    """The documents in which series stood. Raises InputError for errors, and where the end is missing."""
    documents: list[_Envelope | None] = []
    for document in _documents_of(outline, source):
        try:
            envelope = None if bytes(document.value).strip() == b"0" else decode_json(document.value, _Envelope)
        except InputError as error:
            raise InputError(f"expected {_EXPECTED}: {error.problem}", source=source, place=error.place) from None
        documents.append(envelope)
        if envelope is None:
            continue
        if envelope.status == "error":
            words = envelope.error[:_LONGEST_WORDS] or "it does not say why"
            raise InputError(f"Prometheus answered with an error: {words}", source=source, place="$.error")
        result = (envelope.data.result if envelope.data else None) or envelope.result or ()
        if any(bytes(raw).strip()[:1] == b"{" for raw in result):
            raise InputError("expected series with their labels first, then their values", source=source)
        if envelope.is_partial or envelope.warnings:
            book.complaints.partial += 1
    return documents


def _documents_of(outline: bytes, source: str) -> list[JsonDocument]:
    try:
        return list(read_json(outline, source))
    except InputError as error:
        if error.problem.endswith(ENDS_EARLY):
            raise InputError(_BREAKS_OFF, source=source) from None
        raise


def _add(labels: dict[str, str], times: FloatArray, values: FloatArray, book: UsageBook) -> None:
    complaints = book.complaints
    pod = labels.get("pod") or labels.get("pod_name") or ""
    container = labels.get("container") or labels.get("container_name") or ""
    namespace = labels.get("namespace") or ""
    if not pod or not namespace:
        complaints.unrelated += 1
        return
    if container in ("", "POD"):
        # cAdvisor has the sums of whole pods and their sandboxes, too.
        complaints.aggregates += 1
        return
    resource, is_counter = _meaning(labels, values)
    if not resource:
        complaints.unrelated += 1
        return
    if "__name__" not in labels:
        complaints.unnamed[resource] += 1
    if is_counter:
        times, values = rates(times, values, book)
    with np.errstate(over="ignore"):
        amounts = values * 1000 if resource == "cpu" else values
    book.add(namespace, pod, container, resource, times, amounts)


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
    sound = book.sound_samples(times, values)
    times, values = times[sound], values[sound]
    if len(times) < 2:
        return times[:0], values[:0]
    seconds, increase = np.diff(times), np.diff(values)
    anew = increase < 0
    book.complaints.resets += int(np.count_nonzero(anew))
    increase = np.where(anew, values[1:], increase)
    later = seconds > 0
    book.complaints.repeated += int(np.count_nonzero(~later))
    # Samples that are no more than a moment apart have rates beyond all numbers, which the book leaves out.
    with np.errstate(over="ignore"):
        rate = increase[later] / seconds[later]
    return times[1:][later], rate
