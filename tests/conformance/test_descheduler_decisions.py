"""Decisions recorded from the real descheduler 0.35, replayed: every field of every cycle has to agree.

The files hold one scenario a line in the format of ``docs/contributing/conformance.md``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.commands.conformance.compare import Tally
from kwhatif.commands.conformance.scenario_files import read_scenarios, replay_scenario

HERE = Path(__file__).parent / "descheduler"
FAMILIES = (
    *("affinity", "duplicates", "evictor", "failed", "highnode"),
    *("lifetime", "lownode", "mixed", "spread"),
)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_agrees_with_the_recording(family: str) -> None:
    path = str(HERE / f"0.35-{family}.jsonl.gz")
    tally = Tally(path, show=5)
    for where, scenario in read_scenarios(path):
        tally.add(scenario.name, scenario.expected, replay_scenario(scenario, source=where), pods=0)
    found = tally.result()
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios == 12
