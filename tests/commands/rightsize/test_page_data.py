"""What the page of ``rightsize`` draws: points of requests and use, and what is saved step by step."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwhatif
from kwhatif.commands.page import html_page, page_data
from kwhatif.commands.rightsize.text import sizing_data

HOME = Path(__file__).parents[3] / "samples" / "usage" / "saves-40"


@pytest.mark.long
def test_the_page_has_points_and_steps_in_cores_and_bytes() -> None:
    result = kwhatif.rightsize(
        snapshot=str(HOME / "cluster.json"),
        usage=HOME / "usage.json",
        autoscale=str(HOME / "groups.yaml"),
        steps=True,
    )
    found = sizing_data(result)
    assert found["points"][0] == ["Deployment/shop/billing main", "cpu", 0.8, 0.356, 0.324, 10]
    assert found["points"][1][:4] == ["Deployment/shop/billing main", "memory", 2 * 2**30, 1177 * 2**20]
    assert sum(step[1] for step in found["steps"]) == 4
    assert page_data(result)["sizing"] == found
    assert "function sizingPart()" in html_page(result)


def test_a_page_without_usage_has_none() -> None:
    result = kwhatif.place(with_pending=True, snapshot=str(HOME / "cluster.json"))
    assert page_data(result)["sizing"] is None
