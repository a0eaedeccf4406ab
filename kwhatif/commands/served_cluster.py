"""What ``serve`` and ``mcp`` are told of the cluster that they answer about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.errors import UsageError
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import Task
from kwhatif.simulation.flag import InputFile
from kwhatif.simulation.inputs import LiveSource


@dataclass(frozen=True, kw_only=True)
class ServesCluster(Task[Printed]):
    """The cluster may also be that of a recording, or be followed."""

    recording: Annotated[
        str,
        InputFile("--recording", help="The cluster of a recording, at its end or at FILE@TIME."),
    ] = ""

    @property
    def needs_cluster(self) -> bool:  # type: ignore[override]
        return not self.recording

    def wants_cluster(self, *, is_named: bool) -> bool:
        if self.recording and is_named:
            raise UsageError("--recording: the cluster is that of a recording, or another one")
        return not self.recording

    def cluster_of(self, options: Any) -> tuple[Sequence[str], Any]:
        """The files of the cluster, or the connection to the one that is followed."""
        if self.recording:
            return [self.recording], None
        source = options.snapshot
        return ((), source.connection) if isinstance(source, LiveSource) else (source, None)
