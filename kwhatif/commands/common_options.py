"""Options that several commands have: single ones as the annotation of a field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from kwhatif.errors import UsageError
from kwhatif.simulation.command import REPORTS, Output
from kwhatif.simulation.flag import Argument, Duration, Flag, InputFile, OutputFile
from kwhatif.simulation.inputs import Files

if TYPE_CHECKING:
    from kwhatif.fleet.executors import Executor
    from kwhatif.fleet.rows_file import RowsFile

EXPLANATION = Output(("text", "table", "wide", *REPORTS[1:]))
"""How answers of ``explain`` are printed, and those that --explain asks for in place of others."""

CLUSTER = "--snapshot samples/cluster"
"""The cluster of most examples."""

MANIFESTS = "samples/manifests"

_MANIFESTS = Argument(
    metavar="FILE", file="manifests", repeats=True, help="Manifests: files, directories, or '-' for stdin."
)
ManifestFiles = Annotated[Files, _MANIFESTS]
RequiredManifests = Annotated[Files, replace(_MANIFESTS, required=True)]
ManifestsBefore = Annotated[
    Files,
    Flag(
        "--filename",
        short="-f",
        metavar="FILE",
        file="manifests",
        help="Manifests whose pods are placed before: files, directories, or '-' for stdin (repeatable).",
    ),
]
Explained = Annotated[
    Sequence[str],
    Flag(
        "--explain",
        metavar="POD",
        completion="pod",
        shell=True,
        help="Explain this pod in the state in which it was tried: NAME, NAMESPACE/NAME or KIND/NAME (repeatable).",
    ),
]
WrittenSnapshot = Annotated[
    str,
    Flag(
        "--write-snapshot",
        metavar="OUT",
        file="out",
        help="Write the cluster afterwards, to ask further; packed if it ends in .gz or .zst.",
    ),
]


def refuse_standard_output(write_snapshot: str) -> None:
    """Raise UsageError where the cluster afterwards is to go where the answer goes."""
    if write_snapshot == "-":
        raise UsageError("--write-snapshot -: standard output is for the answer; name a file")


SNAPSHOT_OUTPUT = OutputFile(
    "--output", "Where to write: .json, .json.gz or .json.zst, by name; '-' is standard output.", short="-o"
)
Seed = Annotated[
    int | None,
    Flag(
        "--seed",
        metavar="N",
        help="Draw by this seed which of equal nodes is taken. Default: the first by name until 1.34; since then the "
        "one that a single worker takes.",
    ),
]
QuestionTimeLimit = Annotated[float, Duration("--time-limit", shows_default=True, help="How long a question may take.")]
QuestionMemoryLimit = Annotated[
    int,
    Flag("--memory-limit", metavar="MIB", least=16, shows_default=True, help="How much memory a question may take."),
]
Replay = Annotated[
    Sequence[str],
    Flag(
        "--replay",
        metavar="pending|namespace=NAME|all",
        help="Schedule the snapshot's pending pods, too; or take pods of a namespace, or all, "
        "off their nodes and schedule them again, in the order they started (repeatable).",
    ),
]
PricesFile = Annotated[str, InputFile("--prices", "An InstanceTypes catalogue, or a table of instance types' prices.")]


@dataclass(frozen=True)
class FleetOptions:
    """Who asks of many worlds, and where the rows are kept."""

    workers: Annotated[
        int | None,
        Flag(
            "--workers",
            metavar="N",
            least=1,
            help="Number of processes, or of workers of --on. Default: one a processor.",
        ),
    ] = None
    on: Annotated[
        str | None,
        Flag(
            "--on",
            metavar="dask://HOST:PORT|ray|ray://HOST:PORT",
            help="Ask on the machines of a Dask or Ray cluster, with kwhatif[dask] or kwhatif[ray]. Default: on this "
            "one.",
        ),
    ] = None
    out: Annotated[
        str | None,
        OutputFile("--out", "Write each row at once: .jsonl, or with kwhatif[parquet] .parquet, by name."),
    ] = None
    resume: Annotated[bool, Flag("--resume", help="With --out: continue with the rows of an interrupted run.")] = False

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
                raise UsageError("--resume needs --out: without it no rows are kept")
            return None
        return RowsFile(self.out, resume=self.resume)
