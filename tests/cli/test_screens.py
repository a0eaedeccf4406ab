"""What a terminal shows, to the letter, at 80, 120 and 200 columns, and in colour.

Each file in tests/golden/screens says by its first lines which command it belongs to. It has the screen of 80 columns,
and those of the other widths where they differ from the one before.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from kwhatif.commands.gate import page as gate_page
from kwhatif.render import tables
from kwhatif.render.blocks import Table, flatten_blocks
from kwhatif.render.screen import Screen
from tests.cli.running import TESTS, Ran, run

SCREENS = TESTS / "golden" / "screens"
WIDTHS = (80, 120, 200)
HEAD = re.compile(r"# flags: (.*)\n# exit: (\d)\n")
MARK = "# --- {} columns"
STYLE = re.compile("\x1b\\[([\\d;]*)m")
FRACTION = re.compile(r"[\d.]+\w*/[\d.]+\w*")
AMOUNT = re.compile(r"-?<?\d[\d,]*(?:\.\d+)?(m|[KMGTPE]i|)(?=[ /]|$)")
STYLES = {"1;31": "red", "1;33": "yellow", "1;32": "green", "1": "bold", "0": "/"}

CASES = [pytest.param(path, id=path.stem) for path in sorted(SCREENS.glob("*.txt"))]


@dataclass
class Shown:
    """A command's answer on a terminal of 80 columns, and how it is drawn on another one."""

    ran: Ran
    drawn: Callable[[Screen], str]
    tables: list[Table]

    def at(self, width: int, *, colour: bool = True) -> str:
        return self.drawn(Screen(width, colour))


@functools.cache
def shown(flags: str) -> Shown:
    """Run once; other terminals are shown the same answer."""
    found: list[tuple[Callable[..., str], Any, dict[str, Any]]] = []
    with _spied(tables, "text_of", found), _spied(gate_page, "gate_table", found):
        ran = run(*shlex.split(flags), terminal=True)
    assert ran.code in (0, 1), ran.err
    if not found:
        return Shown(ran, lambda screen: ran.out, [])
    draw, told, options = found[-1]
    every = [block for block in flatten_blocks(told) if isinstance(block, Table)] if isinstance(told, list) else []
    return Shown(ran, lambda screen: draw(told, screen, **options), every)


@contextmanager
def _spied(module: Any, name: str, found: list[Any]) -> Iterator[None]:
    real = getattr(module, name)

    def spy(told: Any, screen: Screen, **options: Any) -> str:
        found.append((real, told, options))
        drawn: str = real(told, screen, **options)
        return drawn

    with mock.patch.object(module, name, spy):
        yield


def flags_of(path: Path) -> str:
    head = HEAD.match(path.read_text())
    assert head is not None, f"{path.name} lacks its '# flags:' and '# exit:' lines"
    return head[1]


def visible(text: str) -> str:
    """``{red}FAIL{/}`` for what a terminal shows in red."""
    return STYLE.sub(lambda found: f"{{{STYLES[found[1]]}}}", text)


@pytest.mark.parametrize("path", CASES)
def test_the_screen_is_the_golden_one_with_and_without_colour_and_columns_have_one_unit(
    path: Path, update_golden: bool
) -> None:
    answer = shown(flags_of(path))
    screens = {width: answer.at(width) for width in WIDTHS}
    assert screens[80] == answer.ran.out
    text = f"# flags: {flags_of(path)}\n# exit: {answer.ran.code}\n"
    for before, width in zip((0, *WIDTHS), WIDTHS, strict=False):
        assert answer.at(width, colour=False) == STYLE.sub("", screens[width])
        if screens.get(before) != screens[width]:
            text += f"{MARK.format(width)}\n{visible(screens[width])}"
    if update_golden:
        path.write_text(text)
    assert path.read_text() == text
    for table in answer.tables:
        assert {key: units for key, units in units_of(table).items() if len(units) > 1} == {}


def units_of(table: Table) -> dict[str, set[str]]:
    """Below which header, or beside the name of which resource, what units stand; of nothing there is none."""
    units: dict[str, set[str]] = {}
    of_resource = table.headers[0] in ("resource", "")
    for row in table.rows:
        for header, cell in zip(table.headers, row, strict=True):
            for part in cell.split("/") if FRACTION.fullmatch(cell) else [cell]:
                amount = AMOUNT.match(part)
                if amount is not None and part != "0" and header != "nodes":
                    units.setdefault(row[0] if of_resource else header, set()).add(amount[1])
    return units


@pytest.mark.parametrize("path", CASES)
def test_a_screen_has_its_verdict_first_and_last_fits_the_terminal_and_is_no_longer_than_sixty_lines(
    path: Path,
) -> None:
    screens = re.split(MARK.format(r"(\d+)") + "\n", re.sub(r"\{[a-z/]+\}", "", path.read_text()))[1:]
    for width, screen in zip(map(int, screens[::2]), screens[1::2], strict=True):
        lines = screen.splitlines()
        if path.stem.startswith("document") and width == WIDTHS[0]:
            # A file to go on with, not a report.
            continue
        # Commands are copied, so no line of theirs is broken.
        told = [line for line in lines if not line.lstrip().startswith("kwhatif ")]
        assert max(map(len, told)) <= width
        # What a report that is as short as can be leaves out may take two lines more.
        assert len(lines) <= tables.MOST_LINES + 2 * ("Columns without room" in screen)
        if len(lines) > tables.SCREEN_LINES:
            verdict = lines[: lines.index("")]
            assert lines[-len(verdict) :] == verdict or lines[-1] == verdict[0]
