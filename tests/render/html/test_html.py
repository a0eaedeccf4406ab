"""Pages: nothing in them is markup or script that a cluster brought along, and what they hold is what was answered."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwhatif.commands.page import APP, html_page, page_data
from kwhatif.render.escape import clean
from kwhatif.render.html.drawings import front_coded, json_in_page, packed_column
from kwhatif.results.base import VERSION_IS_GUESSED, ClusterMap, Fidelity, Gap, MappedNode, MappedPod
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import Placement, PlaceResult, Score, TimelineEntry, Victim
from tests.commands.gate.formats.gate_results import ANY, HOSTILE, hostile_result
from tests.render.html.html_reading import Page, column

PACKAGE = Path(__file__).parents[3] / "kwhatif" / "render" / "html" / "app"


def hostile_map(text: str) -> ClusterMap:
    node = MappedNode(node=text, pool=text, zone=text, room=(1000, 5), closed=text, taints=(text,), there=(True, True))
    pods = (MappedPod(pod=text, asks=0, at=(-1, 0)), MappedPod(pod=f"{text}2", asks=0, at=(0, -1)))
    return ClusterMap(states=("before", "after"), resources=(text, "pods"), nodes=(node,), asks=((1, 1),), pods=pods)


def hostile_placement(text: str) -> PlaceResult:
    """A result in which everything that a cluster has a say in is one text."""
    victim = Victim(pod=text, node=text, priority=0, owner=text, budgets=(text,), replacement=text, lands_on=text)
    placement = Placement(
        pod=text,
        outcome="unschedulable",
        node=text,
        message=text,
        victims=(victim,),
        scores=(Score(plugin=text, weight=1, raw=1, normalized=1, weighted=1),),
        tied=(text,),
        origin=text,
    )
    result = PlaceResult(
        outcome=Outcome(good=False, verdict=text),
        nodes=1,
        placements=(placement,),
        fidelity=Fidelity(rules="1.36", cluster=text, source=text, gaps=(Gap(what=text, effect=text, pods=(text,)),)),
        timeline=(TimelineEntry(time=0.5, pod=text, what="queued", why=text, node=text),),
    )
    return result.with_context(cluster_map=hostile_map(text), notes=(text,))


# --- hostile names


@pytest.mark.long
@given(ANY)
def test_a_text_of_a_cluster_is_in_the_data_and_nowhere_else(text: str) -> None:
    page = Page(html_page(hostile_placement(text)))
    assert page.around == Page(html_page(hostile_placement("tame"))).around
    assert page.content.isascii()
    assert not set(page.content) & set("<>&")
    (node,) = column(page.data["map"]["nodes"]["name"])
    assert node == clean(text)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_finding_is_text_whatever_it_says(text: str) -> None:
    page = Page(html_page(hostile_result(text)))
    assert page.around == Page(html_page(hostile_result("tame"))).around
    assert page.data["findings"][0]["message"] == clean(text)


@pytest.mark.long
@given(st.recursive(ANY | st.integers() | st.booleans() | st.none(), lambda each: st.lists(each), max_leaves=8))
def test_json_in_a_page_is_json_without_a_sign_that_markup_has(value: Any) -> None:
    told = json_in_page({"a": value})
    assert not set(told) & set("<>&\u2028\u2029\n")
    assert json.loads(told) == {"a": _cleaned(value)}


def _cleaned(value: Any) -> Any:
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    return clean(value) if isinstance(value, str) else value


# --- the page itself


def test_a_page_runs_its_own_scripts_alone_and_loads_nothing() -> None:
    page = Page(html_page(hostile_placement("x")))
    (policy,) = (a["content"] or "" for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    told = dict(part.split(" ", 1) for part in policy.split("; "))
    sums = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in page.scripts}
    (style,) = page.styles
    assert told["default-src"] == told["base-uri"] == told["form-action"] == "'none'"
    assert set(told["script-src"].split()) == sums
    assert told["style-src"] == f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"
    assert set(told) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    assert not {name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "style"}
    assert {a[name] for _, a in page.tags for name in ("src", "href") if name in a} == {"#main"}


def test_our_own_script_makes_no_markup_and_asks_nobody() -> None:
    text = "".join((PACKAGE / f"{name}.js").read_text(encoding="utf-8") for name in (*APP, "start"))
    assert {path.stem for path in PACKAGE.glob("*.js")} == {*APP, "start"}
    markup, others = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", r"fetch\(|XMLHttp|https?:|import\("
    assert not re.search(rf"{markup}|{others}|\beval\b|Function\(", text)


def test_the_charts_are_what_was_made_of_the_registry_s_packages() -> None:
    about = json.loads((PACKAGE / "vendor" / "echarts.json").read_text())
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (PACKAGE / "vendor").iterdir()}
    assert about["sha256"] == {name: found for name, found in there.items() if name != "echarts.json"}
    script = (PACKAGE / "vendor" / "echarts.min.js").read_text(encoding="utf-8")
    assert f'"{about["packages"]["echarts"]["version"]}"' in script
    assert not re.search(r"\beval\b|\bFunction\(", script)


def test_everything_that_pages_draw_is_among_the_charts() -> None:
    built = json.loads((PACKAGE / "vendor" / "echarts.json").read_text())["built"]
    ours = "".join((PACKAGE / f"{name}.js").read_text(encoding="utf-8") for name in APP)
    series = re.findall(
        r"type: '(bar|line|lines|sankey|scatter|treemap|\w*(?:pie|map|plot|gauge|graph|tree|custom))'", ours
    )
    assert {f"{each.capitalize()}Chart" for each in series} == set(built["charts"])
    others = "visualMap|markLine|markPoint|markArea|toolbox|timeline|graphic|brush|polar|radar|geo|calendar|dataset"
    parts = set(re.findall(rf"\b(aria|dataZoom|grid|legend|tooltip|{others}): [\[{{\w]", ours))
    assert {f"{each[0].upper()}{each[1:]}" for each in parts} == {
        each.removesuffix("Component").removesuffix("Slider") for each in built["components"]
    }
    assert set(re.findall(r"dataZoom: .*?type: '(\w+)'", ours)) == {"slider"}


def test_the_same_result_is_the_same_page() -> None:
    assert html_page(hostile_placement("x")) == html_page(hostile_placement("x"))


# --- packing


@given(st.lists(ANY | st.sampled_from(["web-7d9-aa", "web-7d9-ab", "web-7d9-ba"]), max_size=20))
def test_names_are_read_back_as_they_were(texts: list[str]) -> None:
    assert column(json.loads(json_in_page(front_coded(texts)))) == list(map(clean, texts))


@given(st.lists(st.sampled_from(["a", "b", "n0", "n1", "<none>", "", "\n"]), min_size=1, max_size=40), st.booleans())
def test_a_column_is_read_back_as_it_was(texts: list[str], known: bool) -> None:
    names = ["n0", "n1"] if known else []
    packed = packed_column(texts, {name: place for place, name in enumerate(names)})
    assert column(json.loads(json_in_page(packed)), names) == list(map(clean, texts))


def test_a_page_names_the_version_that_was_guessed_once() -> None:
    guessed = f"{VERSION_IS_GUESSED}: taken to be 1.36"
    result = hostile_placement("shop").with_context(notes=(guessed, "2 pods wait"))
    result = replace(result, fidelity=replace(result.fidelity, guessed_from="v1.36.1"))
    assert page_data(result)["notes"] == ["2 pods wait"]
    known = replace(result, fidelity=Fidelity(rules="1.36"))
    assert page_data(known)["notes"] == [guessed, "2 pods wait"]
