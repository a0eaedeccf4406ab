"""Usage from files, recognised by their content: Prometheus' answers, ``kubectl top``, metrics and VPA objects."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.decode import describe_value
from kwhatif.api.objects import section
from kwhatif.errors import InputError
from kwhatif.progress import report_progress, report_start
from kwhatif.snapshot.format.model import KIND as SNAPSHOT
from kwhatif.snapshot.read.compression import decompress_chunks
from kwhatif.snapshot.read.files import STDIN, Text, display_path, found_in, os_error
from kwhatif.snapshot.read.objects import decode, head_of, inside, items_of, read_documents
from kwhatif.usage.book import UsageBook
from kwhatif.usage.prometheus_answers import read_answers
from kwhatif.usage.recommendations import Recommendations
from kwhatif.usage.samples import add_pod_metrics, is_top, read_top

METRICS, RECOMMENDER = "PodMetrics", "VerticalPodAutoscaler"

_SUFFIXES = re.compile(r"\.(json|ya?ml|txt)(\.gz|\.zst)?$")
_ANSWER = re.compile(rb'\A\s*\{\s*"(?:status|data|resultType|result|metric|isPartial)"\s*:')
_PIECE = 1024 * 1024
_HEAD = 64 * 1024


class UsageInputs(msgspec.Struct):
    """The content of files: samples in a ``book``, and recommendations. ``sorts`` are the recognised formats."""

    book: UsageBook
    recommendations: Recommendations = msgspec.field(default_factory=Recommendations)
    sorts: list[str] = []


def read_usage(paths: Sequence[str], into: UsageInputs, namespace: str = "default") -> None:
    """Read files, directories and standard input; ``namespace`` is that of objects without one. Raises InputError."""
    for path in chain.from_iterable(map(_files, paths)):
        report_start(f"Reading usage of {display_path(path)}")
        try:
            _read(_pieces(path), into, display_path(path), namespace)
        except OSError as error:
            raise os_error(error, path) from None
        except InputError as error:
            raise error.with_source(display_path(path)) from None


def _files(path: str) -> list[str]:
    if path == STDIN or not os.path.isdir(path):
        return [path]
    files = [os.path.join(path, name) for name in sorted(os.listdir(path)) if _SUFFIXES.search(name)]
    if not files:
        raise InputError("this directory has no .json, .yaml, .yml or .txt files", source=display_path(path))
    return [found_in(path, file) for file in files if not os.path.isdir(file)]


def _pieces(path: str) -> Iterator[bytes]:
    """The text, unpacked, piece by piece; it is never held as a whole."""

    def raw() -> Iterator[bytes]:
        if path == STDIN:
            while piece := sys.stdin.buffer.read(_PIECE):
                yield piece
            return
        size, done = os.path.getsize(path), 0
        with open(path, "rb") as file:
            while piece := file.read(_PIECE):
                done += len(piece)
                report_progress("Reading usage", f"of {size // _PIECE + 1} MiB", done // _PIECE)
                yield piece

    yield from decompress_chunks(raw(), bounds.RECORDING_BYTES)


def _read(pieces: Iterator[bytes], into: UsageInputs, source: str, namespace: str) -> None:
    head = b""
    while len(head) < _HEAD and (piece := next(pieces, None)) is not None:
        head += piece
    head = head.removeprefix(b"\xef\xbb\xbf")
    if not head.strip():
        raise InputError("holds no usage: it is empty")
    if _ANSWER.match(head):
        into.sorts.append("Prometheus")
        read_answers(chain([head], pieces), into.book, source)
        return
    text = _whole(head, pieces)
    if is_top(text):
        into.sorts.append("kubectl top")
        read_top(text.decode("utf-8", "replace"), into.book, source, namespace)
        return
    _read_objects(Text(source, text), into, namespace)


def _whole(head: bytes, pieces: Iterable[bytes]) -> bytes:
    whole = bytearray(head)
    for piece in pieces:
        whole += piece
        if len(whole) > bounds.SNAPSHOT_BYTES:
            raise InputError(f"larger than the limit of {bounds.SNAPSHOT_BYTES:,} bytes")
    return bytes(whole)


def _read_objects(text: Text, into: UsageInputs, namespace: str) -> None:
    nothing = True
    for document in read_documents(text):
        if head_of(document)[1] == SNAPSHOT:
            kept = section(decode(document.value, dict[str, Any]), "objects")
            nothing &= not add_objects(kept, into, document.source)
            continue
        for item in items_of(document):
            if item.kind not in (METRICS, RECOMMENDER):
                problem = (
                    "expected usage (an answer of Prometheus, kubectl top pods, PodMetrics or VerticalPodAutoscalers), "
                    f"found {describe_value(item.kind)}"
                )
                raise InputError(problem, source=item.source, place=f"{item.place}.kind")
            nothing = False
            try:
                add_object(item.kind, decode(item.value, dict[str, Any]), into, namespace)
            except InputError as error:
                raise inside(error, item.source, item.place) from None
    if nothing:
        raise InputError("holds no usage: it has no PodMetrics and no VerticalPodAutoscaler", source=text.name)


def add_objects(objects: Mapping[str, Sequence[Mapping[str, Any]]], into: UsageInputs, source: str) -> int:
    """What a snapshot holds of usage, by kind; how many objects there were. Raises InputError."""
    number = 0
    for kind in (METRICS, RECOMMENDER):
        for place, value in enumerate(objects.get(kind) or ()):
            try:
                add_object(kind, value, into, "default")
            except InputError as error:
                raise inside(error, source, f"$.objects.{kind}[{place}]") from None
            number += 1
    return number


def add_object(kind: str, value: Mapping[str, Any], into: UsageInputs, namespace: str) -> None:
    """One PodMetrics or VerticalPodAutoscaler. Raises InputError with the place within it."""
    if kind not in into.sorts:
        into.sorts.append(kind)
    if kind == METRICS:
        add_pod_metrics(value, into.book, namespace)
    else:
        into.recommendations.add(value, namespace)
