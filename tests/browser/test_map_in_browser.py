"""The map of a page: how large tiles are, which have a border, and where pods go that are made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwhatif.commands.page import html_page
from kwhatif.results.base import Result
from tests.browser.conftest import Open
from tests.browser.views import compared, drained_twice, made

TILES = """() => {
  const data = echarts.getInstanceByDom(document.querySelector('.map')).getModel().getSeriesByIndex(0).getData();
  const tiles = {};
  data.each((at) => {
    const { width, height } = data.getItemLayout(at);
    const { name, place, itemStyle } = data.getRawDataItem(at);
    if (place !== undefined) tiles[name] = { area: width * height, border: itemStyle.borderColor };
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
    tiles = page_of(opened, drained_twice(), tmp_path).evaluate(TILES)
    assert tiles["n2"]["area"] / tiles["n0"]["area"] == pytest.approx(48 / 8, rel=0.05)


def test_a_pod_that_is_evicted_twice_ends_where_its_last_replacement_does(opened: Open, tmp_path: Path) -> None:
    page = page_of(opened, drained_twice(), tmp_path)
    assert rows_of(page, "Where pods go") == [["z · p", "z · p", "1"]]


def test_of_a_comparison_those_nodes_have_a_border_that_differ_most(opened: Open, tmp_path: Path) -> None:
    """All twelve differ, as every pod has gone to the next one; where replicas have swapped nothing is different."""
    page = page_of(opened, compared(), tmp_path)
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
