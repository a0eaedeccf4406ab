"""The tables of docs/reference/kubernetes-versions.md, made from the code's.

``python -m tests.versions_page`` writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from kwhatif.versions import SUPPORTED_MINORS, VersionRule, rows
from kwhatif.versions.gates import stage_of
from kwhatif.versions.minors import number_of

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[1] / "docs/reference/kubernetes-versions.md"


def page(text: str) -> str:
    """The page with its tables and the minors it names as they should be; the rest stays as it is."""
    oldest, newest = SUPPORTED_MINORS[0], SUPPORTED_MINORS[-1]
    text = re.sub(r"from 1\.\d+ to 1\.\d+", f"from {oldest} to {newest}", text, count=1)
    text = re.sub(r"(?<=The newest minor is `)[0-9.]+", newest, text)
    return _between(_between(text, "gates", _gates()), "behaviour", _behaviour())


def _between(text: str, name: str, lines: Iterator[str]) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{chr(10).join(lines)}\n{end}{after}"


def _gates() -> Iterator[str]:
    yield f"| gate | whose | what it does here | {' | '.join(SUPPORTED_MINORS)} |"
    yield f"| --- | --- | --- | {' | '.join('---' for _ in SUPPORTED_MINORS)} |"
    gates = [row for row in rows().values() if row.gate and any(map(_may_be_set(row.gate), SUPPORTED_MINORS))]
    for row in sorted(gates, key=lambda row: row.gate.lower()):
        cells = " | ".join(_default(row.gate, minor) for minor in SUPPORTED_MINORS)
        yield f"| {row.gate} | {', '.join(row.whose)} | {row.what} | {cells} |"


def _may_be_set(gate: str) -> Callable[[str], bool]:
    return lambda minor: (stage := stage_of(gate, minor)) is not None and stage.ripeness != "gone"


def _default(gate: str, minor: str) -> str:
    stage = stage_of(gate, minor)
    if stage is None:
        return ""
    word = "on" if stage.on else "off"
    if stage.ripeness == "gone":
        return f"({word})"
    return f"{word}, locked" if stage.locked else word


def _behaviour() -> Iterator[str]:
    yield "| when | whose | what holds then | upstream |"
    yield "| --- | --- | --- | --- |"
    for row in sorted((row for row in rows().values() if not row.gate and _changed(row)), key=_order):
        yield f"| {_when(row)} | {', '.join(row.whose)} | {row.what} | {_sources(row)} |"


def _changed(row: VersionRule) -> bool:
    """Whether supported minors differ in it; others are of the legacy minor alone."""
    later = {number_of(minor) for minor in SUPPORTED_MINORS[1:]}
    return any(minor and number_of(minor) in later for minor in (row.since, row.until))


def _order(row: VersionRule) -> tuple[str, str]:
    return row.since or row.until, row.what


def _when(row: VersionRule) -> str:
    if row.since and row.until:
        return f"from {row.since}, before {row.until}"
    return f"from {row.since}" if row.since else f"before {row.until}"


def _sources(row: VersionRule) -> str:
    return ", ".join(f"`{source}`" for source in row.source.split(", "))


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
