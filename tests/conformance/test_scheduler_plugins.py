"""Decisions recorded from the plugins of scheduler-plugins, run by the framework of 1.35: every field has to agree."""

from __future__ import annotations

import pytest

from tests.conformance.test_recorded_decisions import agreement

pytestmark = pytest.mark.long

FAMILIES = (
    *("allocatable", "capacity", "coscheduling", "mixed", "network", "nodemetadata", "nrt", "others", "trimaran"),
)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_agrees_with_the_recording_of_a_family_of_plugins(family: str) -> None:
    found = agreement(f"1.35-schedplugins-{family}", "1.35")
    assert found.differences == ()
    assert found.agreeing == found.compared == found.scenarios == 12
