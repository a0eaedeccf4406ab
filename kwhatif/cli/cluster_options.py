"""Which cluster a question is about, files or the live one: the options for it, and what counts without any."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kwhatif import bounds
from kwhatif.cli.output import program
from kwhatif.commands.connection_options import ConnectionOptions, Timeout
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag, InputFile
from kwhatif.simulation.inputs import LiveSource
from kwhatif.simulation.scenario_options import Now

if TYPE_CHECKING:
    from kwhatif.simulation.inputs import Source
    from kwhatif.simulation.repository_policy import ReadPolicy

VARIABLE = "KWHATIF_SNAPSHOT"
KUBECTL = "kubectl whatif"


@dataclass(frozen=True)
class _SnapshotFlags:
    snapshot: Annotated[
        Sequence[str],
        Flag(
            "--snapshot",
            metavar="FILE",
            file="cluster",
            help="The cluster: a snapshot, what kubectl prints, another tool's dump, or a moment of a recording "
            "(FILE@TIME, FILE@+2h, FILE@end); '-' reads stdin (repeatable). "
            "Default: KWHATIF_SNAPSHOT, else 'snapshot' of .kwhatif.yaml, else --live as 'kubectl whatif'.",
        ),
    ] = ()
    now: Now = None
    live: Annotated[
        bool,
        Flag("--live", help="Use the cluster that kubectl uses; --context implies it."),
    ] = False
    max_age: Annotated[
        float,
        Flag(
            "--max-age",
            metavar="DURATION",
            duration=True,
            shows_default=True,
            help="Read the live cluster again if the last reading is older.",
        ),
    ] = 60.0
    server: Annotated[
        str,
        Flag(
            "--server",
            metavar="URL",
            variable="KWHATIF_SERVER",
            help="Ask the 'kwhatif serve' at this URL; files are sent to it.",
        ),
    ] = ""
    server_token: Annotated[str, InputFile("--server-token", "The file with the bearer token for --server.")] = ""


@dataclass(frozen=True)
class ClusterFlags(ConnectionOptions, _SnapshotFlags):
    """Which cluster: ``--snapshot``, ``--live``, or neither."""

    timeout: Timeout = bounds.DUMP_SECONDS

    def find_source(self, read_rules: Callable[[], ReadPolicy]) -> tuple[Source, str | None]:
        """The cluster, or nothing if none is named; and the version of Kubernetes that the rules file says it has.

        Raises UsageError for options that do not go together, InputError for a rules file that cannot be read.
        """
        connecting = self._connecting()
        if self.snapshot and (self.live or connecting):
            raise UsageError(f"{connecting or '--live'}: the cluster is that of a file, or the live one")
        if self.snapshot:
            return self.snapshot, None
        if self.live or connecting:
            return self._live(), None
        variable = os.environ.get(VARIABLE, "")
        paths = [variable] if os.path.exists(variable) else variable.split()
        if paths:
            return paths, None
        rules = read_rules()
        if rules.cluster:
            return rules.cluster, rules.policy.kubernetes_version
        return (self._live() if program() == KUBECTL else ()), None

    def _live(self) -> LiveSource:
        return LiveSource(self.connection(self.timeout), self.max_age)

    def is_named(self) -> bool:
        """Whether an option says which."""
        return bool(self.snapshot or self.live or self._connecting())

    def _connecting(self) -> str:
        """An option that is given and only means something for a live cluster."""
        given = {"--kubeconfig": self.kubeconfig, "--context": self.context, "--as": self.as_user}
        return next((name for name, value in given.items() if value is not None), "")
