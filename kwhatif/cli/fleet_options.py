"""Options of commands that ask of many worlds: by whom, and where the rows are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kwhatif.cli.options import option
from kwhatif.errors import UsageError

if TYPE_CHECKING:
    from kwhatif.fleet.executors import Executor
    from kwhatif.fleet.rows_file import RowsFile

Workers = Annotated[
    int | None,
    option(
        "--workers",
        metavar="N",
        min=1,
        help="Ask with so many processes, or so many workers of --on. Default: as many as there are.",
    ),
]
On = Annotated[
    str | None,
    option(
        "--on",
        metavar="dask://HOST:PORT|ray|ray://HOST:PORT",
        help="Ask on the machines of a Dask or Ray cluster, with kwhatif[dask] or kwhatif[ray]. Default: on this one.",
    ),
]
Out = Annotated[
    str | None,
    option(
        "--out", metavar="FILE", help="Write every row as it comes: .jsonl, or with kwhatif[parquet] .parquet, by name."
    ),
]
Resume = Annotated[
    bool, option("--resume", help="With --out: go on with the rows that are there, from a run that was cut off.")
]


@dataclass(frozen=True)
class FleetFlags:
    """Who asks of the worlds, and where the rows are kept."""

    workers: Workers = None
    on: On = None
    out: Out = None
    resume: Resume = False

    @property
    def executor(self) -> Executor:
        """Raises UsageError for words that name none."""
        from kwhatif.fleet.executor_selection import executor_of

        return executor_of(self.on, self.workers)

    @property
    def rows(self) -> RowsFile | None:
        """The file for the rows, if one is wanted. Raises UsageError."""
        from kwhatif.fleet.rows_file import RowsFile

        if self.out is None:
            if self.resume:
                raise UsageError("--resume is about --out: without it no rows are kept")
            return None
        return RowsFile(self.out, resume=self.resume)
