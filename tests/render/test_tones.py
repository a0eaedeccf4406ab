"""What a terminal shows beside the verdict: failures and warnings in colour, and which columns have no room."""

from __future__ import annotations

import pytest

from kwhatif.render.blocks import Column, Grouping, table
from kwhatif.render.screen import Screen
from kwhatif.render.tables import text_of

HEADERS = ("pod [pod]", "node [node, fails <none>]", "score [warns 0$]")
ROWS = [("web-1", "node-1", "5"), ("web-2", "<none>", "-"), ("web-3", "node-2", "0")]


def test_cells_that_say_a_failure_or_a_warning_have_their_colour() -> None:
    text = text_of([table(HEADERS, ROWS)], Screen(80, colour=True))
    assert "web-2  \x1b[1;31m<none>\x1b[0m" in text
    assert "node-2  \x1b[1;33m0\x1b[0m" in text
    assert text.count("\x1b[1;3") == 2


def test_colours_move_no_column() -> None:
    coloured = text_of([table(HEADERS, ROWS)], Screen(80, colour=True))
    plain = text_of([table(HEADERS, ROWS)], Screen(80))
    for code in ("\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == plain
    assert "\x1b" not in text_of([table(HEADERS, ROWS)])


@pytest.mark.parametrize(
    ("spelled", "column"),
    [
        ("node [node, fails <none>]", Column("node", node=True, fails="<none>")),
        ("forced [drop 1, fails (?!<)]", Column("forced", drop_order=1, fails="(?!<)")),
        ("outlook [same, fails no , warns waits]", Column("outlook", same=True, fails="no ", warns="waits")),
    ],
)
def test_a_column_says_which_cells_fail(spelled: str, column: Column) -> None:
    assert Column.read(spelled) == column


def test_a_column_without_room_is_named() -> None:
    long = "x" * 40
    text = text_of([table(("pod", "reason", "owner [drop 1]"), [("web", long, long)])], Screen(80))
    assert text.endswith("Columns without room: owner; --all -o wide shows them.\n")
    assert "Columns without" not in text_of([table(("pod", "reason", "owner [drop 1]"), [("web", long, long)])])


def test_a_column_that_only_hidden_rows_fill_is_named() -> None:
    """As the zones of a table of effects, of which the first rows are about a pool."""
    rows = [(f"Deployment {chr(97 + n)}", "lost" if n < 9 else "<none>", "" if n < 9 else "down") for n in range(40)]
    columns = ("workload", Column("pool m7i", same=True), Column("zone b", same=True))
    text = text_of([table(columns, rows, Grouping("workload"))], Screen(80), everything=False)
    assert ("ZONE B" in text) != ("Columns without room: zone b" in text)


def test_the_node_of_a_replacement_loses_what_all_names_end_in() -> None:
    names = [f"ip-10-0-1-{n}.eu-west-1.compute.internal" for n in range(3)]
    rows = [(f"web-{n}", names[n], f"→ {names[n - 1]}") for n in range(3)]
    text = text_of([table(("pod", "node [node]", "replacement [node]"), rows)], Screen(120))
    assert "→ ip-10-0-1-0…" in text
    assert text.count(".eu-west-1.compute.internal") == 1
