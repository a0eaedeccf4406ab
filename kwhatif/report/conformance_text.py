"""How far recorded decisions agree, a row a file."""

from __future__ import annotations

from kwhatif.report.blocks import NONE, Block, Table, titled
from kwhatif.results.conformance import ConformanceResult, FileAgreement


def conformance_blocks(result: ConformanceResult) -> list[Block]:
    """The files, and some of the differences."""
    headers = ("file", "scenarios", "agreeing", "share", "pods", "differing")
    differences = [difference for file in result.files for difference in file.differences]
    rows = [(d.scenario, d.pod or NONE, d.field, d.text) for d in differences]
    return [
        Table(headers, tuple(map(_row, result.files))),
        *titled("DIFFERENCES, the first of each scenario", ("scenario", "pod", "field", "difference"), rows),
    ]


def _row(file: FileAgreement) -> tuple[str, ...]:
    share = "-"
    if file.compared:
        # Rounded down: 100% is said only of a file that agrees in everything.
        share = f"{1000 * file.agreeing // file.compared / 10:.1f}%"
    fields = ", ".join(f"{field} {number}" for field, number in file.differing.items())
    return (
        file.file,
        str(file.scenarios) if file.compared == file.scenarios else f"{file.scenarios} ({file.compared} compared)",
        str(file.agreeing) if file.compared else "-",
        share,
        str(file.pods),
        fields or NONE,
    )
