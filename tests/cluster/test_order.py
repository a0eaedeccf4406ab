from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwhatif.cluster.columns import scheduler_order, zone_key_of
from tests.builders import REGION, ZONE, node

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"


@pytest.mark.parametrize(
    ("zones", "order"),
    [
        pytest.param([], [], id="no nodes"),
        pytest.param(["x", "x", "x"], [0, 1, 2], id="one zone keeps the order in which nodes joined"),
        pytest.param(["x", "x", "y", "y"], [0, 2, 1, 3], id="two zones take turns"),
        pytest.param(["y", "x", "x"], [0, 1, 2], id="the zone that was there first begins"),
        pytest.param(["x", "x", "x", "y"], [0, 3, 1, 2], id="a zone that has run out is passed over"),
        pytest.param([None, "x", None, "x"], [0, 1, 2, 3], id="no zone is a zone of its own"),
        pytest.param(["x", "y", "z", "z", "y", "x"], [0, 1, 2, 5, 4, 3], id="three zones take turns"),
    ],
)
def test_zones_take_turns(zones: list[str | None], order: list[int]) -> None:
    assert scheduler_order([node(f"n{i}", zone=zone) for i, zone in enumerate(zones)]) == order


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, ("", ""), id="neither region nor zone"),
        pytest.param({ZONE: "a"}, ("", "a"), id="a zone alone"),
        pytest.param({REGION: "r", ZONE: "a"}, ("r", "a"), id="both"),
        pytest.param({ZONE: "new", BETA_ZONE: "old"}, ("", "old"), id="the deprecated label wins"),
        pytest.param({BETA_REGION: "r"}, ("r", ""), id="a deprecated region"),
        pytest.param({ZONE: "new", BETA_ZONE: ""}, ("", ""), id="even when it is empty"),
    ],
)
def test_the_zone_of_a_node(labels: dict[str, str], expected: tuple[str, str]) -> None:
    assert zone_key_of(node("n", labels=labels)) == expected


def test_zones_of_one_name_in_two_regions_are_two() -> None:
    places = [("r1", "a"), ("r1", "a"), ("r2", "a")]
    nodes = [node(f"n{i}", zone=zone, labels={REGION: region}) for i, (region, zone) in enumerate(places)]
    assert scheduler_order(nodes) == [0, 2, 1]


@given(st.lists(st.sampled_from(["x", "y", "z", None]), max_size=12))
def test_every_node_is_listed_once_and_no_zone_gets_ahead(zones: list[str | None]) -> None:
    order = scheduler_order([node(f"n{i}", zone=zone) for i, zone in enumerate(zones)])
    assert sorted(order) == list(range(len(zones)))
    turns: dict[str | None, int] = defaultdict(int)
    turn_of = []
    for index in order:
        turn_of.append(turns[zones[index]])
        turns[zones[index]] += 1
    assert turn_of == sorted(turn_of)
    for zone in set(zones):
        members = [index for index in order if zones[index] == zone]
        assert members == sorted(members)
