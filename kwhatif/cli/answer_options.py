"""In which format an answer is printed, how much of it, and which reports are written besides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, NoReturn

from kwhatif.cli.options import Everything, Tables
from kwhatif.cli.output import (
    FORMATS,
    HTML,
    ReportFiles,
    Reports,
    finish,
    is_mapped,
    page,
    render_result,
    reports_of,
    write_reports,
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

    report_formats: ClassVar[Collection[str]] = FORMATS

    def __post_init__(self) -> None:
        # What is wrong with them is said before anything is asked, which may take long.
        reports_of(self.report, self.report_formats)

    @property
    def reports(self) -> Reports:
        return reports_of(self.report, self.report_formats)

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
        write_reports(self.reports, lambda name: self.render_report(result, name, blocks))
        finish(self.render(result, blocks), result.exit_code, self.list_notes(result))

    def render(self, result: Result, blocks: Callable[[bool], list[Block]]) -> str:
        """What is printed."""
        return render_result(result, self.output, lambda: blocks(self.is_whole), everything=self.is_whole)

    def render_report(self, result: Result, name: str, blocks: Callable[[bool], list[Block]]) -> str:
        """A report in one of the formats."""
        if name == HTML:
            return page(result)
        return render_result(result, name, lambda: blocks(True), everything=True)

    def list_notes(self, result: Result) -> Iterable[str]:
        """What is said beside the answer."""
        return result.notes
