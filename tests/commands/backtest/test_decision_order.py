"""The order in which bindings were decided, from the one in which they were written."""

from __future__ import annotations

import pytest

from kwhatif.commands.backtest.decisions import Arrival, Decision, order_bindings


@pytest.mark.parametrize(
    ("written", "arrivals", "decided"),
    [
        pytest.param("ab", {"a": (1, 0), "b": (2, 0)}, ["a 9", "b 10"], id="written in turn"),
        pytest.param("ba", {"a": (1, 0), "b": (2, 0)}, ["a 9", "b 9 a"], id="a later pod overtook an earlier one"),
        pytest.param("ba", {"a": (1, 5), "b": (2, 0)}, ["a 9", "b 9 a"], id="one of lower priority that came later"),
        pytest.param("ba", {"a": (1, 0), "b": (2, 5)}, ["b 9", "a 10"], id="a higher priority went first"),
        pytest.param("ba", {"b": (2, 0)}, ["b 9", "a 10"], id="one was refused before"),
        pytest.param(
            "cba",
            {"a": (1, 0), "b": (2, 0), "c": (3, 0)},
            ["a 9", "b 9 a", "c 9 ab"],
            id="three in the reverse order",
        ),
        pytest.param(
            "acb",
            {"a": (1, 0), "b": (2, 0), "c": (3, 0)},
            ["a 9", "b 10", "c 10 b"],
            id="what was written before is in the state",
        ),
    ],
)
def test_bindings_are_decided_in_the_order_of_the_queue(
    written: str, arrivals: dict[str, tuple[int, int]], decided: list[str]
) -> None:
    bindings = [Decision(uid, uid, 0.0, 0, 10 + place, 0) for place, uid in enumerate(written)]
    ordered = order_bindings(bindings, {uid: Arrival(*arrival) for uid, arrival in arrivals.items()})
    assert [f"{each.uid} {each.around} {''.join(sorted(each.known))}".strip() for each in ordered] == decided
