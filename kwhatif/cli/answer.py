"""In which format an answer is printed, how much of it, and which reports are written besides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from kwhatif.cli.output import (
    HTML,
    Reports,
    all_gaps_are_shown,
    finish,
    is_mapped,
    page,
    render_result,
    reports_of,
    screen,
    write_reports,
)
from kwhatif.commands.parameters import Parameter
from kwhatif.commands.view import Look, View, view_of
from kwhatif.errors import UsageError
from kwhatif.results.base import Result, notes_beside
from kwhatif.simulation.command import Command, Output
from kwhatif.simulation.flag import Flag


@dataclass(frozen=True)
class Answer:
    """What the options about the answer say: the format ``output``, all rows (``everything``), and reports."""

    output: str
    everything: bool
    reports: Reports

    @staticmethod
    def options(prints: Output) -> Iterator[Parameter]:
        """The options of an answer that is printed in this way."""
        if prints.reports:
            flag = Flag("--report", metavar="FORMAT=FILE", help=prints.describe_reports())
            yield Parameter("report", Sequence[str], (), flag, own=False)
        if prints.rows:
            yield Parameter("everything", bool, False, Flag(prints.rows, help=prints.rows_help), own=False)
        if prints.formats:
            flag = Flag(
                "--output",
                short="-o",
                choices=prints.formats,
                shows_default=True,
                variable=prints.variable,
                help=prints.help,
            )
            yield Parameter("output", str, prints.formats[0], flag, own=False)

    @classmethod
    def from_words(cls, prints: Output, words: dict[str, Any]) -> Answer:
        """The options as typer has read them, which are taken out. Raises UsageError for a report that is none."""
        reports = reports_of(words.pop("report", None) if prints.reports else None, prints.reports)
        everything = bool(words.pop("everything", False)) if prints.rows else False
        output = str(words["output"]) if prints.formats else "table"
        return cls(output, everything, reports)

    @property
    def is_mapped(self) -> bool:
        """Whether the answer has to come with a map of the cluster."""
        return is_mapped(self.reports)

    def check(self, chosen: Command[Any]) -> None:
        """Raise UsageError for a format in which the question is not answered."""
        prints = chosen.prints
        if prints.formats and self.output not in prints.formats:
            raise UsageError(f"-o {self.output} is not for {chosen.asked_by}: {_in_words(prints.formats)} are")
        for name, _ in self.reports:
            if name not in prints.reports:
                raise UsageError(f"--report {name}=FILE is not for {chosen.asked_by}: {_in_words(prints.reports)} are")

    def finish(self, result: Result) -> NoReturn:
        """Write the reports, print the answer and end with its exit code."""
        view = view_of(result)
        write_reports(self.reports, lambda name: page(result) if name == HTML else self._render(view, result, name))
        whole = self.everything or (view.wide_is_whole and self.output == "wide")
        look = Look(self.output, whole, all_gaps_are_shown(), screen())
        text = _draw(view, result, look)
        finish(text, result.exit_code, notes_beside(text, view.notes(result, look)))

    @staticmethod
    def _render(view: View, result: Result, name: str) -> str:
        return _draw(view, result, Look(name, gaps=all_gaps_are_shown()))


def _draw(view: View, result: Result, look: Look) -> str:
    if look.output in view.formats:
        made = view.formats[look.output](result, look)
        if isinstance(made, str):
            return made
        return render_result(result, look.output, lambda: made, everything=look.everything)
    return render_result(result, look.output, lambda: view.blocks(result, look), everything=look.everything)


def _in_words(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
