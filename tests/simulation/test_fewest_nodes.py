"""The fewest nodes that do: what is tried, and what is left out."""

from __future__ import annotations

import pytest

from kwhatif.simulation.fewest_nodes import try_fewest

ROWS = {
    "the least is enough": (2, 9, 2, [2], 2),
    "even the most is too few": (1, 4, 5, [1, 4], None),
    "few more than the least are": (30, 900, 33, [30, 900, 31, 33, 32], 33),
    "halves are left out": (1, 100, 37, [1, 100, 2, 4, 8, 16, 32, 64, 48, 40, 36, 38, 37], 37),
    "one number alone": (3, 3, 4, [3], None),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_fewest_nodes_are_found_by_halves(name: str) -> None:
    least, most, needed, tried, fewest = ROWS[name]
    attempts = []

    def attempt(count: int) -> int | None:
        attempts.append(count)
        return count if count >= needed else None

    assert try_fewest(least, most, attempt) == fewest
    assert attempts == tried


def test_fewer_than_the_least_are_tried_where_pods_evict_others() -> None:
    assert try_fewest(4, 9, lambda count: count if count >= 2 else None, evicting=True) == 2
