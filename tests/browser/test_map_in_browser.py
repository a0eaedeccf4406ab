"""The map of a page: how large tiles are, which have a border, and where pods go that are made again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kwhatif.commands.page import html_page
from kwhatif.results.base import Result
from tests.browser.conftest import Open
from tests.browser.views import CLUSTER, comparison_of_many_nodes, drain_of_two_nodes, made
from tests.cli.running import run

TILES = """() => {
  const data = echarts.getInstanceByDom(document.querySelector('.map')).getModel().getSeriesByIndex(0).getData();
  const tiles = {};
  data.each((at) => {
    const { width, height } = data.getItemLayout(at);
    const { name, place, itemStyle, label } = data.getRawDataItem(at);
    const text = label ? label.formatter : '';
    if (place !== undefined) tiles[name] = { area: width * height, border: itemStyle.borderColor, text };
  });
  return tiles;
}"""


def page_of(opened: Open, result: Result, directory: Path) -> Any:
    path = directory / "report.html"
    path.write_text(html_page(result), encoding="utf-8")
    return opened(path).page


def rows_of(page: Any, part: str) -> list[list[str]]:
    """The rows of the first table in a part of the page."""
    section = page.locator("section", has=page.locator("h2", has_text=part)).first
    rows = section.locator("table").first.locator("tbody tr").all()
    return [row.locator("th, td").all_text_contents() for row in rows]


def test_a_tile_is_as_large_as_its_node(opened: Open, tmp_path: Path) -> None:
    tiles = page_of(opened, drain_of_two_nodes(), tmp_path).evaluate(TILES)
    assert tiles["n2"]["area"] / tiles["n0"]["area"] == pytest.approx(48 / 8, rel=0.05)


def test_tiles_lose_what_all_names_of_nodes_have_in_common(opened: Open, tmp_path: Path) -> None:
    result = drain_of_two_nodes()
    assert result.cluster_map is not None
    nodes = tuple(
        msgspec.structs.replace(node, node=f"ip-10-1-0-{n}.eu-west-1.compute.internal")
        for n, node in enumerate(result.cluster_map.nodes)
    )
    cluster_map = msgspec.structs.replace(result.cluster_map, nodes=nodes)
    tiles = page_of(opened, result.with_context(cluster_map=cluster_map), tmp_path).evaluate(TILES)
    assert {tile["text"].split("\n")[0].split(" ")[-1] for tile in tiles.values()} == {"…0…", "…1…", "…2…"}


def test_on_a_narrow_screen_the_map_is_wider_and_can_be_panned(opened: Open, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(html_page(drain_of_two_nodes()), encoding="utf-8")
    page = opened(path, width=390, has_touch=True).page
    page.locator(".pannable").scroll_into_view_if_needed()
    box = page.locator(".pannable").bounding_box()
    client = page.context.new_cdp_session(page)
    finger = [{"x": box["x"] + 250 - 15 * step, "y": box["y"] + 100} for step in range(11)]
    for kind, points in (("touchStart", finger[:1]), *(("touchMove", [each]) for each in finger), ("touchEnd", [])):
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    page.wait_for_function("document.querySelector('.pannable').scrollLeft > 50")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_pod_that_is_evicted_twice_ends_where_its_last_replacement_does(opened: Open, tmp_path: Path) -> None:
    page = page_of(opened, drain_of_two_nodes(), tmp_path)
    assert rows_of(page, "Where pods go") == [["z · p", "z · p", "1"]]


def test_of_a_comparison_those_nodes_have_a_border_that_differ_most(opened: Open, tmp_path: Path) -> None:
    """All twelve differ, as every pod has gone to the next one; where replicas have swapped nothing is different."""
    page = page_of(opened, comparison_of_many_nodes(), tmp_path)
    mark = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--mark').trim()")
    marked = {name for name, tile in page.evaluate(TILES).items() if tile["border"] == mark}
    assert {"n3", "n4", "n7", "n8"} <= marked
    assert len(marked) == 5
    states = {row[0]: row[3] for row in rows_of(page, "The cluster")}
    assert states == {f"n{n}": "+ 1 pod more in B, − 1 pod less in B" for n in range(12)} | dict.fromkeys(
        ("n12", "n13"), "open"
    )


def test_the_header_of_every_page_is_one_line_on_a_screen(opened: Open, tmp_path: Path) -> None:
    for command in ("drain", "outage"):
        page = opened(made(command, tmp_path), width=1400).page
        header = page.locator("header.top").bounding_box()
        assert header["height"] < 64
        assert page.locator("nav").evaluate("each => each.scrollWidth - each.clientWidth") <= 0


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made("outage", tmp_path_factory.mktemp("outage"))


def test_the_map_of_an_outage_has_the_cluster_after_each_failure(opened: Open, outage: Path) -> None:
    page = opened(outage).page
    chosen = page.get_by_label("After the failure of")
    said = page.locator("main > section").nth(1).locator("p.quiet").first
    worst = chosen.locator("option:checked").inner_text()
    assert worst == "zone eu-west-1b: 4 of 8 pods find no node, 4 workloads down"
    assert said.inner_text().startswith("4 nodes. cpu asked for on those left by the failure of zone eu-west-1b: 11.9")
    chosen.select_option(label="no failure")
    assert said.inner_text().startswith("6 nodes. cpu asked for: 14.9 of 31.5 cores (47%).")


def test_the_map_after_a_failure_agrees_with_the_result(opened: Open, tmp_path: Path) -> None:
    """What is asked of the nodes that are left, which all take pods here, is what JSON says of every failure."""
    path = tmp_path / "report.html"
    ran = run(*f"outage {CLUSTER} --uncordon general-a-2 -o json --report html={path}".split())
    page = opened(path).page
    said = page.locator("main > section").nth(1).locator("p.quiet").first
    failures = json.loads(ran.out)["failures"]
    assert len(failures) == 11
    for number, failure in enumerate(failures):
        page.get_by_label("After the failure of").select_option(value=str(number))
        (left,) = (each for each in failure["headroom"] if each["resource"] == "cpu")
        found = re.search(r"([\d.]+) of ([\d.]+) cores", said.inner_text())
        assert found is not None
        assert float(found[1]) == pytest.approx(left["requested"] / 1000, abs=0.051), failure["name"]
        assert float(found[2]) == pytest.approx(left["allocatable"] / 1000, abs=0.051), failure["name"]


def test_the_map_of_chances_is_filled_by_them(opened: Open, tmp_path: Path) -> None:
    page = opened(made("chances", tmp_path)).page
    filled = page.get_by_label("Filled by", exact=True)
    filled.select_option(label="chance of Pod shop/newsletter")
    chances = page.evaluate(LABELS)
    assert chances["general-a-1"] == "general-a-1\n100%"
    assert chances["general-b-1"] == "general-b-1\n0%"
    assert "cpu" in filled.locator("option").all_inner_texts()


LABELS = """() => {
  const data = echarts.getInstanceByDom(document.querySelector('.map')).getModel().getSeriesByIndex(0).getData();
  const labels = {};
  data.each((at) => {
    const { name, place, label } = data.getRawDataItem(at);
    if (place !== undefined) labels[name] = label.formatter;
  });
  return labels;
}"""


def test_a_gang_that_does_not_fit_is_seen_on_its_domains(opened: Open, tmp_path: Path) -> None:
    page = opened(made("gang", tmp_path)).page
    said = page.locator("main > section").nth(1).locator("p.flag.bad")
    assert said.inner_text() == "✗ gang ml/pretrain: 8 of 12 find a node, needs 12: none run"
    bad = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--bad').trim()")
    assert page.evaluate(POOLS) == [
        [f"{rack} · 4 · ✗ {fit} of 12 fit", bad] for rack, fit in (("rack-1", 5), ("rack-2", 8), ("rack-3", 4))
    ]


POOLS = """() => {
  const [{ data }] = echarts.getInstanceByDom(document.querySelector('.map')).getOption().series;
  return data.flatMap(({ children }) => children.map(({ name, itemStyle }) => [name, itemStyle.borderColor]));
}"""
