"""In which format an answer is printed, how much of it, and which reports are written besides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NoReturn

from kwhatif.cli.options import Everything, Tables
from kwhatif.cli.output import (
    ReportFiles,
    Reports,
    finish,
    is_mapped,
    render_result,
    reports_of,
    write_result_reports,
)
from kwhatif.simulation.flag import Flag

if TYPE_CHECKING:
    from kwhatif.render.blocks import Block
    from kwhatif.results.base import Result


@dataclass(frozen=True)
class AnswerOptions:
    """The options of every answer that is tables. Raises UsageError for a report that cannot be made."""

    report: ReportFiles = None
    everything: Everything = False
    output: Annotated[
        str, Flag("--output", short="-o", type=Tables, shows_default=True, help="The format to print.")
    ] = Tables.table

    def __post_init__(self) -> None:
        # What is wrong with them is said before anything is asked, which may take long.
        reports_of(self.report)

    @property
    def reports(self) -> Reports:
        return reports_of(self.report)

    @property
    def is_mapped(self) -> bool:
        """Whether the answer has to come with a map of the cluster."""
        return is_mapped(self.reports)

    @property
    def is_whole(self) -> bool:
        """Whether all rows are printed."""
        return self.everything

    def finish(self, result: Result, blocks: Callable[[bool], list[Block]]) -> NoReturn:
        """Write the reports, print the answer and end with its exit code.

        ``blocks`` makes the parts of the answer: all rows of it, or those that a screen has room for.
        """
        write_result_reports(self.reports, result, lambda: blocks(True))
        finish(self.render(result, blocks), result.exit_code, result.notes)

    def render(self, result: Result, blocks: Callable[[bool], list[Block]]) -> str:
        """What is printed."""
        return render_result(result, self.output, lambda: blocks(self.is_whole), everything=self.is_whole)
