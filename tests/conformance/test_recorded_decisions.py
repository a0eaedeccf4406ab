"""Decisions recorded from a real kube-scheduler 1.36, replayed: every field of every attempt has to agree.

The files hold one scenario a line in the format of ``docs/conformance.md``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.whatif.conformance import answer
from kwhatif.whatif.conformance_compare import Tally
from kwhatif.whatif.scenario_files import read_scenarios

HERE = Path(__file__).parent
FAMILIES = (
    *("images", "mixed", "nodeaffinity", "podaffinity", "ports", "preemption", "profiles", "resources"),
    *("sampling", "topologyspread", "volumes"),
)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_agrees_with_the_recording(family: str) -> None:
    path = str(HERE / f"1.36-{family}.jsonl.gz")
    tally = Tally(path, show=3)
    for where, scenario in read_scenarios(path):
        tally.add(scenario.name, scenario.expected, answer(scenario, source=where))
    found = tally.result()
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios >= 10


def test_every_recording_is_replayed() -> None:
    assert sorted(path.name for path in HERE.glob("*.gz")) == [f"1.36-{family}.jsonl.gz" for family in FAMILIES]
