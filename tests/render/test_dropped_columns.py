"""Which columns a terminal does without."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kwhatif.render.blocks import Column, build_table
from kwhatif.render.screen import Screen
from kwhatif.render.tables import text_of

CELLS = st.lists(st.text("ab ", min_size=1, max_size=90), min_size=4, max_size=4)


@given(st.lists(CELLS, min_size=1, max_size=4), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_a_wider_terminal_shows_all_columns_of_a_narrower_one(rows: list[list[str]], spare: list[int]) -> None:
    headers = [Column("first"), *(Column(name, drop_order=each) for name, each in zip("xyz", spare, strict=True))]
    blocks = list(build_table("", headers, rows))
    shown = [set(text_of(blocks, Screen(width)).split("\n\n")[-1]) & set("XYZ") for width in (60, 80, 120, 200, 400)]
    for narrow, wide in pairwise(shown):
        assert narrow <= wide


def test_the_lines_of_a_folded_header_stay_together_where_columns_go_on_below() -> None:
    headers = ("rank", "nodes", "total", "NodeResourcesFit [name]", "NodeResourcesBalancedAllocation [name]")
    rows = [("1", f"ip-10-1-160-{n}.eu-central-1.compute.internal", "602", "21/21/21", "81/81/81") for n in range(2)]
    head = text_of([build_table("", headers, rows)[1]], Screen(60)).splitlines()[:5]
    assert [line.split() for line in head] == [
        ["RANK", "NODES", "TOTAL"],
        ["Node"],
        ["Node", "Resources"],
        ["Resources", "Balanced"],
        ["Fit", "Allocation"],
    ]
