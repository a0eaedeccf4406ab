"""What holds of every gate, whatever the change and whatever the rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.commands.gate.rule import in_tree
from kwhatif.results.gate import GateResult
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import HOSTNAME, Json, node
from tests.commands.gate.judging import annotated, judged, new, snapshot_of, workload
from tests.simulation.edits.editing import of

pytestmark = pytest.mark.usefixtures("cluster_size")

BADNESS = {"pass": 0, "warn": 1, "fail": 2}

levels = st.sampled_from(["error", "warn", "off"])
rules = st.dictionaries(st.sampled_from(sorted(in_tree())), levels.map(lambda level: {"level": level}), min_size=1)


@st.composite
def workloads(draw: st.DrawFn) -> list[Json]:
    """A few deployments, some too large, some pinned, some exempted."""
    made = []
    for name in draw(st.lists(st.sampled_from(["web", "cart", "search"]), unique=True, max_size=3)):
        pod: Json = {"nodeSelector": {HOSTNAME: "n1"}} if draw(st.booleans()) else {}
        cpu = draw(st.sampled_from(["100m", "1", "3", "9"]))
        body = new("Deployment", name, draw(st.integers(1, 4)), cpu=cpu, pod=pod)
        text = draw(st.sampled_from(["", "single-node: why not", "pinned", "nonsense: x"]))
        made.append(annotated(body, text) if text else body)
    return made


def cluster() -> Snapshot:
    pods = [of("ReplicaSet", "web-x", f"web-x-{n}", f"n{n}", cpu="1") for n in (1, 2)]
    whole = [workload("Deployment", "web", 2, cpu="1"), workload("ReplicaSet", "web-x", 2, owner="web", cpu="1")]
    return snapshot_of([node("n1", zone="a"), node("n2", zone="b"), node("n3", zone="b")], pods, whole=whole)


def ask(head: list[Json], base: list[Json] | None, chosen: dict[str, Any], **more: Any) -> GateResult:
    return judged(cluster(), *head, base=base, rules=chosen, **more)


@pytest.mark.long
@given(head=workloads(), base=st.none() | workloads(), chosen=rules, data=st.data())
def test_removing_a_rule_never_makes_a_gate_worse(
    head: list[Json], base: list[Json] | None, chosen: dict[str, Any], data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(sorted(chosen)))
    whole, rest = ask(head, base, chosen), ask(head, base, {k: v for k, v in chosen.items() if k != gone})
    assert BADNESS[rest.verdict] <= BADNESS[whole.verdict]
    assert list(rest.findings) == [finding for finding in whole.findings if finding.rule != gone]


@pytest.mark.long
@given(same=workloads(), chosen=rules, exemptions=st.booleans())
def test_an_empty_change_passes_and_says_that_there_is_nothing_to_judge(
    same: list[Json], chosen: dict[str, Any], exemptions: bool
) -> None:
    result = ask(same, same, chosen, exemptions=exemptions)
    assert (result.verdict, result.findings, result.placements) == ("pass", (), ())
    assert result.note.startswith("nothing to judge")
    assert all(change.what == "unchanged" for change in result.changes)


@pytest.mark.long
@given(head=workloads(), chosen=rules)
def test_the_verdict_follows_from_the_findings_and_the_counts_agree(head: list[Json], chosen: dict[str, Any]) -> None:
    result = ask(head, None, chosen)
    expected = "fail" if result.errors else "warn" if result.findings else "pass"
    assert (result.verdict, result.exit_code) == (expected, int(expected == "fail"))
    assert sum(rule.findings for rule in result.rules) == len(result.findings)
    for rule in result.rules:
        mine = [finding for finding in result.findings if finding.rule == rule.rule]
        assert len(mine) == rule.findings
        assert all(finding.level == rule.level for finding in mine)
    fingerprints = [finding.fingerprint for finding in result.findings]
    assert len(set(fingerprints)) == len(fingerprints)


@pytest.mark.long
@given(head=workloads(), chosen=rules)
def test_exemptions_only_ever_take_findings_away(head: list[Json], chosen: dict[str, Any]) -> None:
    granted, refused = ask(head, None, chosen), ask(head, None, chosen, exemptions=False)
    kept = {finding.fingerprint for finding in granted.findings if finding.rule != "exemptions"}
    away = {exemption.finding.fingerprint for exemption in granted.exemptions}
    assert kept | away == {finding.fingerprint for finding in refused.findings}
    assert not kept & away
