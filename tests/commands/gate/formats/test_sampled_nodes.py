"""How many nodes are feasible is a number where all were looked at, and a bound where some were not."""

from __future__ import annotations

import pytest

from kwhatif.commands.place.text import _format_feasible
from kwhatif.results.place import Placement


@pytest.mark.parametrize(
    ("feasible", "evaluated", "text"),
    [
        pytest.param(420, 421, ">=420/1000", id="the scheduler stopped when it had enough"),
        pytest.param(420, 1000, "420/1000", id="all nodes were looked at"),
        pytest.param(1, 1, "1/1000", id="only the node that the pod names was looked at"),
        pytest.param(0, 1000, "0/1000", id="none is"),
    ],
)
def test_a_sample_is_told_as_a_bound(feasible: int, evaluated: int, text: str) -> None:
    placement = Placement(pod="a/b", origin="", outcome="placed", feasible=feasible, evaluated=evaluated)
    assert _format_feasible(placement, 1000) == text
