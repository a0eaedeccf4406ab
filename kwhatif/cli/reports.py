"""``--report FORMAT=FILE``: the answer once more, in files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Annotated

from kwhatif.cli.options import option
from kwhatif.cli.output import new_file, rendered
from kwhatif.errors import UsageError
from kwhatif.progress import begun

if TYPE_CHECKING:
    from kwhatif.report.blocks import Block
    from kwhatif.results.parts import Result

HTML = "html"
FORMATS = (HTML, "json", "yaml", "markdown")
"""Those that every command knows; html is a page to look at."""

ReportFiles = Annotated[
    list[str] | None,
    option(
        "--report",
        metavar="FORMAT=FILE",
        help="Also write a report to a file: html (one page to look at, offline), json, yaml or markdown (repeatable).",
    ),
]

Reports = Sequence[tuple[str, str]]
"""Format and file of each."""


def reports_of(given: Sequence[str] | None, formats: Collection[str] = FORMATS) -> Reports:
    """The reports asked for. Raises UsageError."""
    reports: list[tuple[str, str]] = []
    for text in given or ():
        name, equals, path = text.partition("=")
        if name not in formats or not equals or not path:
            raise UsageError(f"--report {text}: expected FORMAT=FILE with a format out of {', '.join(formats)}")
        if path in [other for _, other in reports]:
            raise UsageError(f"--report {text}: another report is to be written there")
        reports.append((name, path))
    return reports


def is_mapped(reports: Reports) -> bool:
    """Whether the answer has to come with a map of the cluster."""
    return any(name == HTML for name, _ in reports)


def written(reports: Reports, result: Result, blocks: Callable[[], list[Block]]) -> None:
    """Write an answer's reports. Raises UsageError for a file that cannot be written."""

    def text(name: str) -> str:
        return page(result) if name == HTML else rendered(result, name, blocks, everything=True)

    write_reports(reports, text)


def page(result: Result) -> str:
    from kwhatif.report.html.page import html_page

    begun("Writing the page")
    return html_page(result)


def write_reports(reports: Reports, text: Callable[[str], str]) -> None:
    """Write a text of each format. All of them are made before any is written."""
    texts = [(path, text(name)) for name, path in reports]
    for path, content in texts:
        with new_file(path) as file:
            file.write(content.encode("utf-8", "backslashreplace"))
