"""The same samples come out the same, whoever says them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.usage.book import UsageBook
from kwhatif.usage.read import UsageInputs, read_usage
from tests.usage.given import COUNTER, MEMORY, RATE, START, Samples, answer, every, known, read, series

WEB = "Deployment/shop/web"
CPU = [120, 340, 90, 500, 1100, 290, 570, 230, 110, 410]
"""Millicores; nine out of ten are no more than 570."""


def cpu_of(found: UsageInputs) -> tuple[int, int, int]:
    histogram = found.book.of(WEB, "main", "cpu")
    assert histogram is not None
    return histogram.number, histogram.percentile(90), histogram.peak


def counter(cores: list[float], seconds: float) -> list[float]:
    found = [0.0]
    for each in cores:
        found.append(found[-1] + each * seconds)
    return found


TOP = "\n".join(
    [
        "NAMESPACE  POD    NAME  CPU(cores)  MEMORY(bytes)",
        *(f"shop  web-{n}  main  {cpu}m  64Mi" for n, cpu in enumerate(CPU)),
    ]
)
METRICS = json.dumps(
    {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetricsList",
        "items": [
            {
                "metadata": {"name": f"web-{number}", "namespace": "shop"},
                "timestamp": "2026-11-01T00:00:00Z",
                "window": "15s",
                "containers": [{"name": "main", "usage": {"cpu": f"{cpu * 1_000_000 - 1}n", "memory": "64Mi"}}],
            }
            for number, cpu in enumerate(CPU)
        ],
    }
)
VECTOR = {
    "status": "success",
    "data": {
        "resultType": "vector",
        "result": [
            {
                "metric": {"__name__": RATE, "namespace": "shop", "pod": f"web-{n}", "container": "main"},
                "value": [START, str(cpu / 1000)],
            }
            for n, cpu in enumerate(CPU)
        ],
    },
}


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a matrix of rates", answer(series(RATE, every(60, (cpu / 1000 for cpu in CPU))))),
        ("a matrix without the name of the metric", answer(series("", every(60, (cpu / 1000 for cpu in CPU))))),
        ("the counter itself", answer(series(COUNTER, every(60, counter([cpu / 1000 for cpu in CPU], 60))))),
        ("a vector, written for people", json.dumps(VECTOR, indent=2)),
        ("kubectl top pods -A --containers", TOP),
        ("kubectl top pods of pods with one container", TOP.replace("POD    NAME", "NAME").replace("  main", "")),
        ("PodMetrics", METRICS),
    ],
    ids=lambda each: each if len(each) < 60 else "",
)
def test_percentiles_come_out_to_the_millicore(what: str, text: str, tmp_path: Path) -> None:
    assert cpu_of(read(tmp_path, text)) == (10, 570, 1100)


def test_a_source_is_told_by_what_it_holds_also_packed_and_mixed_in_a_directory(tmp_path: Path) -> None:
    folder = tmp_path / "usage"
    folder.mkdir()
    (folder / "top.txt").write_text(TOP)
    (folder / "answer.json.gz").write_bytes(gzip.compress(answer(series(RATE, every(60, [0.2]))).encode()))
    (folder / "notes.md").write_text("no usage")
    found = UsageInputs(UsageBook(known))
    read_usage([str(folder)], found)
    assert found.sorts == ["Prometheus", "kubectl top"]
    assert cpu_of(found)[0] == 11


def test_pieces_of_a_stream_may_end_anywhere(tmp_path: Path) -> None:
    from kwhatif.usage.prometheus_answers import read_answers

    text = (
        answer(series(RATE, every(60, [0.1, 0.3]), image="a]}{")) + "\n" + answer(series(MEMORY, every(60, [5])))
    ).encode()
    for size in (1, 2, 7, 64):
        book = UsageBook(known)
        read_answers((text[at : at + size] for at in range(0, len(text), size)), book, "answer")
        cpu, memory = book.of(WEB, "main", "cpu"), book.of(WEB, "main", "memory")
        assert cpu is not None
        assert (cpu.number, cpu.peak) == (2, 300)
        assert memory is not None
        assert memory.peak == 5


def test_what_is_no_container_counts_for_nothing_and_is_told(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        answer(
            series(RATE, every(60, [0.1])),
            series(RATE, every(60, [9.0]), container=""),
            series(RATE, every(60, [9.0]), container="POD"),
            series("container_fs_usage_bytes", every(60, [9.0])),
        ),
    )
    assert cpu_of(found) == (1, 100, 100)
    assert (found.book.complaints.aggregates, found.book.complaints.unrelated) == (2, 1)


WRONG: dict[str, tuple[list[tuple[str, Samples]], tuple[int, int], str, int]] = {
    "a counter that begins anew": ([(COUNTER, every(10, [0, 5, 1, 6]))], (3, 500), "resets", 1),
    "NaN, stale markers and infinities": ([(RATE, every(60, [0.1, "NaN", "+Inf", 0.3]))], (2, 300), "not_a_number", 2),
    "negative samples": ([(RATE, every(60, [0.1, -4, 0.3]))], (2, 300), "negative", 1),
    "the same series of two servers": ([(RATE, every(60, [0.1, 0.3]))] * 2, (2, 300), "repeated", 2),
    "samples that go back in time": (
        [(RATE, [(START, 0.1), (START - 60, 9), (START + 60, 0.3)])],
        (2, 300),
        "repeated",
        1,
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_left_out_and_counted(what: str, tmp_path: Path) -> None:
    given, (number, peak), field, counted = WRONG[what]
    found = read(tmp_path, answer(*(series(name, samples) for name, samples in given)))
    histogram = found.book.of(WEB, "main", "cpu")
    assert histogram is not None
    assert (histogram.number, histogram.peak) == (number, peak)
    assert getattr(found.book.complaints, field) == counted
    assert any(text.startswith(f"{counted} ") for text in found.book.notes())


def test_only_the_window_counts(tmp_path: Path) -> None:
    found = read(tmp_path, answer(series(RATE, every(3600, [9.0] * 10 + [0.1] * 5))), window=4 * 3600)
    assert cpu_of(found) == (5, 100, 100)
    assert found.book.complaints.outside_window == 10


def test_strangers_are_counted(tmp_path: Path) -> None:
    found = read(
        tmp_path, answer(series(RATE, every(60, [0.1])), series(RATE, every(60, [0.2]), pod="x", namespace="other"))
    )
    assert found.book.matched_pods == 1
    assert list(found.book.notes()) == ["1 of 2 pods with usage are not of this cluster, such as other/x"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "usage-0: holds no usage: it is empty"),
        (
            '{"status":"error","errorType":"bad_data","error":"parse error"}',
            "Prometheus answered with an error: parse error",
        ),
        (answer(series(RATE, every(60, [0.1])))[:-30], "is truncated within a series"),
        (answer(series(RATE, [(START, "many")])), "$.data.result[0]: expected a series with metric and values"),
        ("NAMESPACE POD NAME CPU(cores) MEMORY(bytes)\nshop web-1 main", "line 2: expected NAMESPACE POD NAME"),
        ("POD NAME CPU(cores) MEMORY(bytes)\nweb-1 main lots 5Mi", "line 2: expected a quantity in CPU(cores)"),
        ('{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}', "$.kind: expected usage (an answer of Prometheus"),
        (
            '{"apiVersion":"metrics.k8s.io/v1beta1","kind":"PodMetrics","metadata":{"name":"a"},"timestamp":"x"}',
            "$.timestamp",
        ),
        (
            '{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":"a"}}',
            "$.spec.targetRef: expected the workload",
        ),
    ],
)
def test_what_is_no_usage_is_refused_with_its_place(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)
    assert "usage-0" in str(caught.value)
