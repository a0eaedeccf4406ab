"""What the map of a page is given about failures and chances; tests/browser opens such pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run
from tests.render.html.html_reading import Page, column

CLUSTER = "--snapshot ../samples/cluster"


@pytest.mark.long
def test_a_page_has_the_cluster_and_who_goes_where_in_each_failure(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    run(*f"outage {CLUSTER} --each zones --report html={path}".split())
    data = Page(path.read_text("utf-8")).data
    assert len(column(data["map"]["nodes"]["name"])) == 6
    (failure,) = (each for each in data["failures"] if each["name"] == "eu-west-1b")
    assert column(failure["nodes"]) == ["general-b-1", "gpu-b-1"]
    assert failure["words"] == "4 of 8 pods find no node, 4 workloads down"
    assert set(column(failure["to"])) == {"general-a-1", "general-c-1"}
    assert len(column(failure["pods"])) == 4


def test_a_page_has_the_cluster_and_how_likely_each_node_is(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    run(*f"chances ../samples/manifests/web.yaml {CLUSTER} --trials 4 --workers 1 --report html={path}".split())
    data = Page(path.read_text("utf-8")).data
    assert data["map"]["states"] == ["now"]
    chances = {each["workload"]: dict(each["nodes"]) for each in data["chances"]}
    assert chances["Pod shop/newsletter"] == {"general-a-1": 1.0}
