"""``--report html=FILE``: what the pages of the samples hold, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwhatif.commands.place.question import Place
from kwhatif.simulation.inputs import Inputs
from kwhatif.simulation.pipeline import ask
from kwhatif.simulation.scenario import Scenario
from tests.browser.views import COMMANDS, made
from tests.cli.running import TESTS, run
from tests.render.html.html_reading import Page, column

MANIFESTS = [str(TESTS / "../samples/manifests" / name) for name in ("urgent.yaml", "web.yaml")]
PLACE = COMMANDS["place"].split()


def page_of(command: str, directory: Path) -> Any:
    return Page(made(command, directory).read_text(encoding="utf-8")).data


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "states"),
    [
        ("place", ["before", "after"]),
        ("timeline", ["before", "after"]),
        ("explain", ["before", "after"]),
        ("diff", ["A", "B"]),
        ("drain", ["before", "after"]),
        ("capacity", ["before", "after"]),
        ("gate", ["before", "after"]),
        ("info", ["now"]),
    ],
)
def test_a_report_has_the_cluster_in_the_states_that_are_asked_about(
    tmp_path: Path, command: str, states: list[str]
) -> None:
    data = page_of(command, tmp_path)
    assert data["map"]["states"] == states
    nodes = column(data["map"]["nodes"]["name"])
    assert nodes
    assert {len(at) for at in data["map"]["pods"]["at"]} == {len(column(data["map"]["pods"]["name"]))}
    assert max(max(at) for at in data["map"]["pods"]["at"]) < len(nodes)


def test_the_map_says_who_was_where_and_who_had_to_go(tmp_path: Path) -> None:
    data = page_of("place", tmp_path)
    nodes, pods = column(data["map"]["nodes"]["name"]), column(data["map"]["pods"]["name"])
    before, after = (
        {pod: nodes[place] if place >= 0 else "" for pod, place in zip(pods, at, strict=True)}
        for at in data["map"]["pods"]["at"]
    )
    assert (before["shop/payments-hotfix"], after["shop/payments-hotfix"]) == ("", "general-b-1")
    assert (before["batch/thumbnails-7-zt2bn"], after["batch/thumbnails-7-zt2bn"]) == ("general-b-1", "")
    assert "batch/thumbnails-7-zt2bn" in column(data["pods"]["victims"]["pod"])
    assert data["pods"]["scores"]["shop/web-canary-1"]["node"] == nodes.index("general-a-1")


def test_the_map_adds_up_to_what_the_answer_says_of_the_pools() -> None:
    result = ask(Place(), Scenario(Inputs([str(TESTS / "../samples/cluster")], MANIFESTS, with_map=True)))
    found = result.cluster_map
    assert found is not None
    for pool in result.totals.pools:
        mine = {place for place, node in enumerate(found.nodes) if node.pool == pool.pool}
        for told in pool.resources:
            at = found.resources.index(told.resource)
            assert told.allocatable == sum(found.nodes[place].room[at] for place in mine)
            assert told.requested == sum(found.asks[pod.asks][at] for pod in found.pods if pod.at[-1] in mine)


def test_nobody_looks_at_the_cluster_where_no_page_is_asked_for() -> None:
    result = ask(Place(), Scenario(Inputs([str(TESTS / "../samples/cluster")], MANIFESTS)))
    assert result.cluster_map is None


@pytest.mark.long
def test_a_report_changes_nothing_of_what_is_printed(tmp_path: Path) -> None:
    plain, reported = (
        run(*PLACE),
        run(*PLACE, "--report", f"html={tmp_path / 'a'}", "--report", f"json={tmp_path / 'b'}"),
    )
    assert (reported.code, reported.out) == (plain.code, plain.out)
    assert (tmp_path / "b").read_text() == run(*PLACE, "-o", "json").out


@pytest.mark.long
def test_findings_stand_beside_the_lines_they_are_about(tmp_path: Path) -> None:
    findings = page_of("gate", tmp_path)["findings"]
    told = {tuple(map(tuple, finding["lines"][:2])) for finding in findings if finding["about"] == "Job lab/training"}
    assert told == {((1, "apiVersion: batch/v1"), (2, "kind: Job"))}


def test_an_explanation_of_a_run_has_a_report_too(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    ran = run(*PLACE, "--explain", "shop/debug", "--report", f"html={path}")
    assert ran.code == 0
    (matrix,) = Page(path.read_text(encoding="utf-8")).data["matrices"]
    assert matrix["pod"] == "shop/debug"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--report", "pdf=a"], "--report pdf=a: expected FORMAT=FILE with a format out of html, json, yaml, markdown"),
        (["--report", "html"], "--report html: expected FORMAT=FILE with a format out of html, json, yaml, markdown"),
        (["--report", "html=a", "--report", "json=a"], "--report json=a: another report is to be written there"),
        (["--report", "html=-"], "'-' is no file to write to: standard output is for the answer"),
        (["--report", "html=no/such/place"], "no/such/place: cannot be written: No such file or directory"),
    ],
)
def test_reports_that_cannot_be(words: list[str], problem: str) -> None:
    ran = run(*PLACE, *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[-1] == f"kwhatif: {problem}"
