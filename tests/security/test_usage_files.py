"""Usage that takes room or time, or numbers that no machine has: kept small, or refused with one line."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.usage import use_over_time
from kwhatif.usage.book import KnownPod, UsageBook
from kwhatif.usage.histogram import Histogram
from kwhatif.usage.prometheus_answers import read_answers
from kwhatif.usage.read import UsageInputs, read_usage
from tests.usage.given import COUNTER, MEMORY, RATE, START, answer, known, read, series

YEAR = 365 * 86_400


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    """No test may take more than 250 MB."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 250e6


@pytest.mark.long
def test_samples_a_thousand_years_apart_take_no_room_for_the_time_between(tmp_path: Path) -> None:
    for number in (1, 300):
        ends = [series(MEMORY, [(START, 1), (START + 1000 * YEAR, 2)], pod=f"web-{each}") for each in range(number)]
        assert read(tmp_path, answer(*ends)).book.together(["shop/web-0"], "memory", 100) == 2**20


def test_pods_a_thousand_years_apart_take_none_either(tmp_path: Path) -> None:
    first, last = series(MEMORY, [(START, 1)]), series(MEMORY, [(START + 1000 * YEAR, 2**21)], pod="web-2")
    book = read(tmp_path, answer(first, last)).book
    assert book.together(["shop/web-1", "shop/web-2"], "memory", 100) == 2**21


def test_a_pod_in_two_documents_a_thousand_years_apart_takes_none(tmp_path: Path) -> None:
    texts = [answer(series(MEMORY, [(START + apart, 5)])) for apart in (0, 1000 * YEAR)]
    assert read(tmp_path, *texts, window=86_400.0).book.timeline.step > use_over_time.FIRST_STEP


@pytest.mark.long
def test_one_huge_sample_of_each_pod_takes_no_room_for_the_values_below() -> None:
    book = UsageBook(lambda _, pod: KnownPod(f"Deployment/shop/{pod}", ("main",), present=True))
    for number in range(1500):
        book.add("shop", f"pod-{number}", "main", "memory", None, np.array([1e15]))
    assert book.of("Deployment/shop/pod-7", "main", "memory") is not None


def test_many_different_values_are_refused_at_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.bounds.USAGE_VALUES", 10_000)
    book = UsageBook(known)
    with pytest.raises(InputError, match="more than 10,000 different values"):
        book.add("shop", "web-1", "main", "cpu", None, np.arange(20_000.0))


def test_many_pods_are_refused_at_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.bounds.OBJECTS", 100)
    book = UsageBook(known)
    for number in range(100):
        book.add("elsewhere", f"pod-{number}", "main", "cpu", None, np.array([1.0]))
    with pytest.raises(InputError, match="more than 100 pods and containers"):
        book.add("elsewhere", "another", "main", "cpu", None, np.array([1.0]))


@pytest.mark.long
def test_samples_one_by_one_are_counted_in_a_line_of_work() -> None:
    histogram = Histogram("cpu")
    for number in range(5_000):
        histogram.add(np.array([float(number * 7 % 5_000)]))
    assert histogram.room <= 4 * 5_000
    assert histogram.percentile(50) == 2_499


@pytest.mark.parametrize("labels", [b'"a":"' + b"x" * 2**20, b'"a":"b",' * 2**18], ids=["long", "many"])
def test_labels_are_read_to_a_limit(labels: bytes) -> None:
    searched = 0

    def pieces() -> Iterator[bytes]:
        nonlocal searched
        yield b'{"data":{"result":[{"metric":{'
        for _ in range(240):
            searched += 1
            yield labels

    with pytest.raises(InputError, match=f"labels of a series are larger than {bounds.LABEL_BYTES:,} bytes"):
        read_answers(pieces(), UsageBook(known), "usage")
    assert searched <= 2


@pytest.mark.long
def test_labels_in_gzip_are_read_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "usage.json.gz"
    path.write_bytes(gzip.compress(b'{"data":{"result":[{"metric":{"a":"' + b"x" * 30 * 2**20))
    with pytest.raises(InputError, match="labels of a series"):
        read_usage([str(path)], UsageInputs(UsageBook(known)))


ODD = ["1e308", "-1e308", "1e400", "NaN", "+Inf", "-Inf", "1e-308", "9" * 400, "9223372036854775808", "-0"]


@pytest.mark.parametrize("name", [MEMORY, RATE, COUNTER, ""])
@pytest.mark.parametrize("value", ODD)
def test_numbers_that_no_machine_has_are_left_out(name: str, value: str, tmp_path: Path) -> None:
    samples = [(START, "1"), (START + 60, value), (START + 120, "2"), (START + 120.0000001, value), (START + 180, "3")]
    book = read(tmp_path, answer(series(name, samples))).book
    for resource in ("cpu", "memory"):
        found = book.of("Deployment/shop/web", "main", resource)
        assert found is None or 0 <= found.percentile(95) <= 2**53
        assert book.together(["shop/web-1"], resource, 95) is None or found is not None


@pytest.mark.parametrize("time", ["-1", "-1e300", "1e300", "253402300800", "1e17", "0", "0.5", "253402300799"])
def test_times_that_no_clock_shows_are_left_out(time: str, tmp_path: Path) -> None:
    text = answer(series(MEMORY, [(START, "1")])).replace(f"[[{START}, ", f"[[{time}, ")
    complaints = read(tmp_path, text).book.complaints
    assert complaints.untimely == (0 if 0 <= float(time) < 253402300800 else 1)


@pytest.mark.parametrize("amount", ["1e308", "9" * 300, "9223372036854775807", "1e-300"])
def test_amounts_of_metrics_and_tables_are_within_all_ranges(amount: str, tmp_path: Path) -> None:
    containers = [{"name": "main", "usage": {"cpu": amount, "memory": amount}}]
    metrics = {"kind": "PodMetrics", "metadata": {"name": "web-1", "namespace": "shop"}, "containers": containers}
    table = f"NAMESPACE POD NAME CPU(cores) MEMORY(bytes)\nshop web-1 main {amount} {amount}\n"
    for text in (json.dumps(metrics | {"apiVersion": "metrics.k8s.io/v1beta1"}), table):
        book = read(tmp_path, text).book
        peaks = [book.of("Deployment/shop/web", "main", resource) for resource in ("cpu", "memory")]
        assert all(peak is not None and peak.peak <= 2**53 for peak in peaks if peak)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"status":"error","error":"\\x"}', "not valid JSON"),
        ('{"status":"error","error":' + "[" * 60_000, "nested"),
        ('{"data":{"result":[' + "[" * 60_000, "nested"),
        ('{"data":{"result":[{"metric":{"a":' + "[" * 60_000 + '"values":[]}', "expected a series"),
        ('{"data":{"result":[{"values":[[1,"1"]],"metric":{"pod":"a"}}]}}', "labels first"),
        ('{"status":"success","data":{"result":[', "is truncated"),
        (answer(series(MEMORY, [(1, 1)]), series(MEMORY, [(1, 1)]))[:-4], "is truncated"),
        (answer(series(MEMORY, [(1, 1)]), series(MEMORY, [(2, 1)])).partition(', {"metric"')[0], "is truncated"),
        ('{"metric":' + " " * 3_000_000, "without a series"),
    ],
)
def test_what_is_no_answer_is_refused_with_a_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read(tmp_path, text)


def test_a_server_that_says_that_its_answer_is_partial_is_believed(tmp_path: Path) -> None:
    whole = json.loads(answer(series(MEMORY, [(START, 1)])))
    for partial in ({"warnings": ["a store is away"]}, {"isPartial": True}):
        notes = list(read(tmp_path, json.dumps(whole | partial)).book.notes())
        assert any("answers are incomplete or in doubt" in note for note in notes)
