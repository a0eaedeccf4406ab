"""The bars of quotas on a page."""

from __future__ import annotations

import kwhatif
from kwhatif.commands.page import html_page
from kwhatif.commands.queue.quota_bars import quota_bars
from tests.commands.queue.test_queue import CLUSTER, cluster_queue, queues, there


def test_each_quota_of_a_cohort_is_a_chart_the_fullest_first() -> None:
    charts = quota_bars(kwhatif.queue(snapshot=[CLUSTER])) or []
    assert [each["title"] for each in charts[:2]] == [
        "cohort research: nvidia.com/gpu in h100",
        "cohort research: nvidia.com/gpu in a100",
    ]
    assert charts[1]["moments"] == ["language", "vision"]
    lines = {each["name"]: each["values"] for each in charts[1]["lines"]}
    assert lines == {"used of its own": [0.0, 8.0], "borrowed": [0.0, 4.0], "not used": [8.0, 0.0]}


def test_memory_is_counted_in_gibibytes_and_devices_by_the_end_of_their_names() -> None:
    charts = {each["title"]: each for each in quota_bars(kwhatif.queue(snapshot=[CLUSTER])) or []}
    memory, devices = (charts[f"cohort research: {name} in a100"] for name in ("memory", "nvidia.com/gpu"))
    assert (memory["unit"], devices["unit"]) == ("Gi", "gpu")
    assert memory["lines"][0]["values"] == [0.0, 96.0]


def test_what_has_no_amount_has_no_bar() -> None:
    assert quota_bars(kwhatif.queue(snapshot=there(*queues(cluster_queue("a", "0"))))) is None
    assert quota_bars(kwhatif.queue(snapshot=there(*queues(cluster_queue("a", 2**63 - 1))))) is None


def test_a_page_has_the_bars_and_the_queue() -> None:
    page = html_page(kwhatif.queue(snapshot=[CLUSTER]))
    assert "cohort research: nvidia.com/gpu in a100" in page
    assert "vision/job-ablation" in page
