"""Agreement with recordings as a table, a row a file."""

from __future__ import annotations

from kwhatif.commands.conformance.result import ConformanceResult, FileAgreement
from kwhatif.commands.view import View
from kwhatif.render.blocks import NONE, Block, Grouping, Verdict, build_table, format_part, table


def conformance_blocks(result: ConformanceResult) -> list[Block]:
    """The files, and some of the differences."""
    headers = ("file", "scenarios", "agreeing", "share", "pods", "differing")
    differences = [difference for file in result.files for difference in file.differences]
    rows = [(d.scenario, d.pod or NONE, d.field, d.text) for d in differences]
    compared, agreeing = (sum(getattr(file, what) for file in result.files) for what in ("compared", "agreeing"))
    return [
        Verdict(_summary(agreeing, compared), not result.exit_code),
        table(headers, tuple(map(_row, result.files)), Grouping("file")),
        *build_table(
            "DIFFERENCES, the first of each scenario",
            ("scenario", "pod", "field", "difference"),
            rows,
            Grouping("difference"),
        ),
    ]


def _summary(agreeing: int, compared: int) -> str:
    if not compared:
        return "Nothing to compare: no scenario has expected answers."
    lead = "Agrees" if agreeing == compared else "Differs"
    agree = "agrees" if agreeing == 1 else "agree"
    return f"{lead}: {format_part(agreeing, compared, 'scenario')} {agree} in every field."


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


VIEW = View(lambda result, look: conformance_blocks(result))
