"""Reports in a real browser: every view is opened, clicked, searched and printed, and what is hostile stays text.

After each test its page must have said nothing on the console and asked nobody for anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kwhatif.commands.page import html_page
from kwhatif.render.escape import clean
from kwhatif.results.base import Result
from tests.browser.conftest import Open
from tests.browser.views import COMMANDS, large, made
from tests.commands.gate.formats.gate_results import HOSTILE, hostile_result
from tests.render.html.test_html import hostile_placement

OUTLINES = {
    "place": ["The cluster", "Where pods go", "Pods", "Victims", "What it is based on"],
    "pending": ["The cluster", "Why", "Pods", "Why pods are pending", "What it is based on"],
    "timeline": ["The cluster", "Where pods go", "Over time", "Timeline", "Outcome", "Victims", "What it is based on"],
    "gang": ["The cluster", "Pods", "Groups", "Domains of groups that do not run", "What it is based on"],
    "explain": ["The cluster", "Why", "What it is based on"],
    "diff": ["The cluster", "From A to B", "What is compared", "Moved", "Why they moved", "Cluster afterwards"],
    "drain": ["The cluster", "Where pods go", "Nodes to drain", "Evictions", "Budgets", "Other nodes"],
    "capacity": ["The cluster", "What limits it", "Why no other fits", "Left over", "Nodes", "What it is based on"],
    "autoscale": ["The cluster", "Karpenter", "New nodes", "Requirements", "Why not", "Nodes", "What it is based on"],
    "gate": ["Findings", "The cluster", "Where pods go", "What changes", "Pods", "Rules", "What it is based on"],
    "pools": ["The cluster", "What is compared", "Machines", "Pods", "What it is based on"],
    "consolidation": ["The cluster", "Node n1", "Pods move", "Node n4", "What it is based on"],
    "outage": [
        "The cluster",
        "Worst first",
        "Effect on workloads",
        "Pending",
        "Assumed",
        "What it is based on",
    ],
    "chances": ["The cluster", "Chances", "Zones", "Nodes", "What is random", "What it is based on"],
    "sweep": ["The cluster", "What was tried", "Policies", "Effect of settings", "What it is based on"],
    "backtest": ["Charts", "Decisions", "Disagreements", "What it is based on"],
    "day": ["Charts", "The day", "Waiting for a node", "Changes by workload", "Based on"],
    "rightsize": ["The cluster", "Requests and use", "How requests are derived", "Before and after", "Requests"],
    "upgrade": ["The cluster", "Where pods go", "The pool over time", "Ready replicas", "Nodes", "Timeline"],
    "deschedule": ["The cluster", "Where pods go", "Evicted", "Moves forever", "Plugins", "What it is based on"],
    "info": ["The cluster", "The snapshot", "Nodes: 6", "Resources", "Pods: 39", "Pending", "Priorities", "Missing"],
}
"""The parts of each report; some have more between them."""

STRUCTURE = """() => ({
  parts: [...document.querySelectorAll('main > section > h2')].map((each) => each.textContent),
  unnamed: [...document.querySelectorAll('section, input, select, button, [role=region], [role=img]')].filter(
    (each) => !(each.getAttribute('aria-label') || each.getAttribute('aria-labelledby') || each.labels?.length
      || each.textContent.trim())).length,
  headless: [...document.querySelectorAll('table')].filter((each) => !each.tHead || !each.caption).length,
  foreign: document.querySelectorAll('main [onclick], main script, main img, main a[href^=http]').length,
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  lines: new Set([...document.querySelectorAll('nav a')].map((each) => each.offsetTop)).size,
  charts: document.querySelectorAll('.chart').length,
})"""

DRAWN = """() => [...document.querySelectorAll('.chart')].every((box) => [...box.querySelectorAll('canvas')].some(
  (each) => {
    const copy = new OffscreenCanvas(each.width, each.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(each, 0, 0);
    return new Set(copy.getImageData(0, 0, each.width, each.height).data).size > 8;
  }))"""
"""Whether every chart has something on one of its canvases."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The report of a command, made once."""
    known: dict[str, Path] = {}

    def of(command: str) -> Path:
        if command not in known:
            known[command] = made(command, tmp_path_factory.mktemp(command))
        return known[command]

    return of


@pytest.mark.parametrize("command", COMMANDS)
def test_every_report_has_its_parts_and_everything_in_it_a_name(opened: Open, report: Any, command: str) -> None:
    """On screens of two widths, light and dark."""
    page = opened(report(command)).page
    for width, scheme in ((1280, "light"), (390, "light"), (390, "dark"), (1280, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(DRAWN)
        found = page.evaluate(STRUCTURE)
        assert [part for part in found["parts"] if part in OUTLINES[command]] == OUTLINES[command]
        assert (found["unnamed"], found["headless"], found["foreign"]) == (0, 0, 0)
        assert found["charts"]
        assert found["wide"] <= 0, "the page is as wide as the window"
        assert found["lines"] == 1, "the navigation is one line"
        assert page.locator("main h1").count() == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_every_report_is_printed_with_all_its_parts(opened: Open, report: Any, command: str) -> None:
    page = opened(report(command)).page
    page.emulate_media(media="print")
    pdf = page.pdf(format="A4", print_background=True)
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") >= 1
    assert page.locator("main").is_visible()
    assert not page.locator("#find").is_visible()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_button_link_and_choice_does_something_harmless(opened: Open, report: Any, command: str) -> None:
    """Each is clicked; at the end the report is still there."""
    page = opened(report(command)).page
    for selector in ("main summary", "main thead button", "main .link", "main select", "nav a"):
        for place in range(min(page.locator(selector).count(), 12)):
            target = page.locator(selector).nth(place)
            if selector == "main select":
                for option in target.locator("option").all():
                    target.select_option(option.get_attribute("value"))
            elif target.is_visible():
                target.evaluate("each => each.click()")
            if page.locator("#panel").is_visible():
                assert page.locator("#panel h2").inner_text()
                page.keyboard.press("Escape")
                assert not page.locator("#panel").is_visible()
    assert page.locator("main > section").count() > 2


# --- what can be asked of a report


def test_a_pod_is_found_by_typing_and_opened_by_keys(opened: Open, report: Any) -> None:
    page = opened(report("place")).page
    page.keyboard.press("/")
    page.keyboard.type("hotfix")
    assert page.locator("#found li").all_inner_texts() == ["podshop/payments-hotfix"]
    page.keyboard.press("ArrowDown")
    assert page.locator("#found li[aria-selected=true]").count() == 1
    page.keyboard.press("Enter")
    panel = page.locator("#panel")
    assert panel.locator("h2").inner_text() == "shop/payments-hotfix"
    told = dict(zip(panel.locator("dt").all_inner_texts(), panel.locator("dd").all_inner_texts(), strict=True))
    assert told["Before"] == "no node"
    assert told["After"] == "general-b-1"
    assert told["Asks for"] == "cpu 1500m, memory 2Gi"
    assert page.evaluate("document.activeElement.id") == "panel"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "find"


def test_a_node_tells_what_is_asked_of_it_before_and_after(opened: Open, report: Any) -> None:
    page = opened(report("place")).page
    page.get_by_role("button", name="general-a-1").first.click()
    rows = page.locator("#panel table").first.locator("tbody tr").all()
    cpu = [cell.inner_text() for row in rows for cell in row.locator("th, td").all()][:5]
    assert cpu == ["cpu", "3920m", "75%", "89%", "420m"]


def test_the_map_goes_from_before_to_after_and_from_resource_to_resource(opened: Open, report: Any) -> None:
    page = opened(report("place")).page
    said = page.locator("main > section").nth(1).locator("p.quiet").first
    assert said.inner_text() == (
        "6 nodes. cpu asked for afterwards: 15.8 of 31.5 cores (50%). A tile is as large as the cpu of its node."
    )
    pixels = "document.querySelector('.map canvas').toDataURL()"
    after = page.evaluate(pixels)
    page.get_by_label("Before").focus()
    page.keyboard.press("ArrowLeft")
    assert "cpu asked for before: 14.9 of 31.5 cores (47%)." in said.inner_text()
    before = page.evaluate(pixels)
    page.get_by_label("Filled by").select_option(label="memory")
    assert "memory asked for before" in said.inner_text()
    assert len({after, before, page.evaluate(pixels)}) == 3


def test_the_map_is_walked_through_with_arrow_keys(opened: Open, report: Any) -> None:
    page = opened(report("place")).page
    page.locator(".map").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#said").inner_text().startswith("general-a-1")
    page.keyboard.press("Enter")
    assert page.locator("#panel h2").inner_text() == "general-a-1"


def test_a_tile_of_the_map_opens_its_node(opened: Open, report: Any) -> None:
    page = opened(report("place")).page
    box = page.locator(".map").bounding_box()
    page.mouse.click(box["x"] + 40, box["y"] + box["height"] / 3)
    assert page.locator("#panel h2").inner_text() == "general-a-1"


def test_a_table_is_sorted_and_filtered(opened: Open, report: Any) -> None:
    page = opened(report("gate")).page
    rules = page.locator("section", has=page.locator("h2", has_text="Rules"))
    count = rules.locator("tbody tr").count()
    rules.get_by_role("searchbox").fill("headroom")
    assert 0 < rules.locator("tbody tr").count() < count
    rules.get_by_role("searchbox").fill("")
    rules.get_by_role("button", name="Rule", exact=True).click()
    names = rules.locator("tbody th").all_inner_texts()
    assert names == sorted(names)
    assert rules.locator("th[aria-sort=ascending]").inner_text() == "Rule"


# --- hostile names


def test_hostile_names_are_text(opened: Open, tmp_path: Path) -> None:
    """All of them in one page, each in every place where a name can be."""
    results = [*map(hostile_placement, HOSTILE)]
    merged = replace(results[0], placements=tuple(each.placements[0] for each in results))
    maps = [each.cluster_map for each in results if each.cluster_map is not None]
    pods = [replace(pod, at=tuple(n if at >= 0 else -1 for at in pod.at)) for n, m in enumerate(maps) for pod in m.pods]
    merged = merged.with_context(
        cluster_map=replace(maps[0], nodes=tuple(each.nodes[0] for each in maps), pods=tuple(pods))
    )
    _are_text(opened, merged, tmp_path)


def test_hostile_findings_are_text(opened: Open, tmp_path: Path) -> None:
    results = [*map(hostile_result, HOSTILE)]
    findings = tuple(finding for each in results for finding in each.findings)
    _are_text(opened, replace(results[0], findings=findings), tmp_path)


def _are_text(opened: Open, result: Result, directory: Path) -> None:
    path = directory / "hostile.html"
    path.write_text(html_page(result), encoding="utf-8")
    page = opened(path).page
    page.evaluate("() => document.querySelectorAll('main .link').forEach((each) => each.click())")
    elements = set(page.evaluate("[...document.querySelectorAll('main *, #panel *')].map((each) => each.localName)"))
    assert not elements & {"script", "img", "iframe", "object", "embed", "svg", "form", "b", "link", "style"}
    shown = page.evaluate("document.body.textContent")
    assert [text for text in HOSTILE if clean(text).strip() not in shown] == []


# --- size


def test_a_large_cluster_is_a_small_file_that_stays_smooth(opened: Open, tmp_path: Path) -> None:
    """What takes long is not measured here (benchmarks/report.py does), but what would make it slow."""
    path = tmp_path / "large.html"
    path.write_text(html_page(large()), encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    page = opened(path).page
    assert page.evaluate("document.querySelectorAll('*').length") < 3_000
    page.locator("summary", has_text="Every node").click()
    table = page.locator("details .scroll.tall")
    table.evaluate("each => { each.scrollTop = each.scrollHeight }")
    page.wait_for_function(
        "() => document.querySelector('details tbody tr:last-child').getAttribute('aria-rowindex') === '5001'"
    )
    page.get_by_label("Find a node or pod").fill("service-69")
    assert 1 < page.locator("#found li").count() <= 41
    assert page.evaluate("document.querySelectorAll('*').length") < 3_000
