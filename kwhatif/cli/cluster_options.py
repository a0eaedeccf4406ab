"""Which cluster a question is about, files or the live one: the options for it, and what counts without any."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kwhatif import bounds
from kwhatif.cli.output import program
from kwhatif.cli.progress_line import ReadProgress
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import NO_CLUSTER, LiveSource
from kwhatif.simulation.scenario_options import Now

if TYPE_CHECKING:
    from kwhatif.simulation.inputs import Notes, Source
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.live.dump import DumpOptions
    from kwhatif.snapshot.live.live_cluster import Connection

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
        Flag("--live", help="The cluster is the one that kubectl would talk to; so it is with --context."),
    ] = False
    max_age: Annotated[
        float,
        Flag(
            "--max-age",
            metavar="TIME",
            duration=True,
            shows_default=True,
            help="Ask the live cluster anew if what is known of it is older.",
        ),
    ] = 60.0


@dataclass(frozen=True)
class ConnectionFlags:
    """Which cluster, and who asks; named as kubectl names them."""

    kubeconfig: Annotated[
        str | None,
        Flag(
            "--kubeconfig",
            metavar="FILE",
            help="Default: $KUBECONFIG, ~/.kube/config, or the service account of the pod this runs in.",
        ),
    ] = None
    context: Annotated[str | None, Flag("--context", metavar="NAME", help="The context of the kubeconfig.")] = None
    as_user: Annotated[str | None, Flag("--as", metavar="USER", help="Impersonate this user.")] = None
    as_group: Annotated[
        Sequence[str], Flag("--as-group", metavar="GROUP", help="Impersonate this group, with --as (repeatable).")
    ] = ()
    insecure_skip_tls_verify: Annotated[
        bool, Flag("--insecure-skip-tls-verify", help="Do not verify the server's certificate.")
    ] = False
    request_timeout: Annotated[
        float,
        Flag(
            "--request-timeout",
            metavar="SECONDS",
            least=0.1,
            shows_default=True,
            help="How long to wait for a whole answer.",
        ),
    ] = 60.0
    timeout: Annotated[
        float,
        Flag(
            "--timeout",
            metavar="SECONDS",
            least=0.1,
            shows_default=True,
            help="How long reading the cluster may take.",
        ),
    ] = bounds.DUMP_SECONDS

    def connection(self) -> Connection:
        from kwhatif.snapshot.live.live_cluster import Connection

        if self.as_group and self.as_user is None:
            raise UsageError("--as-group needs --as: a group cannot be impersonated alone")
        return Connection(
            kubeconfig=self.kubeconfig,
            context=self.context,
            user=self.as_user,
            groups=tuple(self.as_group or ()),
            insecure=self.insecure_skip_tls_verify,
            timeout=self.request_timeout,
            limit=self.timeout,
        )


_PART = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"


@dataclass(frozen=True)
class DumpFlags(ConnectionFlags):
    """Which cluster, who asks, and what is read of it."""

    scheduler_config: Annotated[
        str | None,
        Flag(
            "--scheduler-config",
            metavar="NAMESPACE/NAME",
            help="The ConfigMap that holds the scheduler's configuration; no other is read.",
        ),
    ] = None
    keep_templates: Annotated[
        bool,
        Flag("--keep-templates", help="Keep pod templates whole, with env, commands, probes and annotations."),
    ] = False
    chunk_size: Annotated[
        int,
        Flag(
            "--chunk-size",
            metavar="N",
            least=1,
            shows_default=True,
            help="How many objects to ask for at a time.",
        ),
    ] = 500

    def build_settings(self, retries: int = 0) -> DumpOptions:
        """How to read it. Raises UsageError."""
        from kwhatif.snapshot.live.dump import DumpOptions

        named = self.scheduler_config
        if named is not None and not re.fullmatch(f"{_PART}/{_PART}", named):
            raise UsageError(f"--scheduler-config: expected NAMESPACE/NAME, found {named!r}")
        return DumpOptions(self.chunk_size, retries, self.keep_templates, named)


@dataclass(frozen=True)
class ClusterFlags(ConnectionFlags, _SnapshotFlags):
    """Which cluster: ``--snapshot``, ``--live``, or neither."""

    def find_source(self, named: Callable[[], Sequence[str] | None] | None = None) -> Source:
        """The cluster, or nothing if none is named. ``named`` is what the rules file says, by default the nearest.

        Raises UsageError for options that do not go together, InputError for a rules file that cannot be read.
        """
        connecting = self._connecting()
        if self.snapshot and (self.live or connecting):
            raise UsageError(f"{connecting or '--live'}: the cluster is that of a file, or the live one")
        if self.snapshot:
            return self.snapshot
        if self.live or connecting:
            return self._asking()
        variable = os.environ.get(VARIABLE, "")
        found = [variable] if os.path.exists(variable) else variable.split()
        return found or (named or _of_rules_file)() or (self._asking() if program() == KUBECTL else ())

    def require_source(self) -> Source:
        """The cluster. Raises UsageError if none is named, too."""
        source = self.find_source()
        if not source:
            raise UsageError(NO_CLUSTER)
        return source

    def is_named(self) -> bool:
        """Whether an option says which."""
        return bool(self.snapshot or self.live or self._connecting())

    def _asking(self) -> _LiveReader:
        return _LiveReader(self.connection(), self.max_age)

    def _connecting(self) -> str:
        """An option that is given and only means something for a live cluster."""
        given = {"--kubeconfig": self.kubeconfig, "--context": self.context, "--as": self.as_user}
        return next((name for name, value in given.items() if value is not None), "")


def _of_rules_file() -> Sequence[str]:
    from kwhatif.simulation.repository_policy import find_policy, read_policy

    path = find_policy(os.curdir)
    return read_policy(path).policy.snapshot or () if path else ()


@dataclass(frozen=True)
class _LiveReader:
    """A live cluster that is read when its turn comes, with a line on the terminal about how far that is."""

    connection: Connection
    max_age: float

    def __call__(self, notes: Notes) -> Snapshot:
        watching = ReadProgress()
        try:
            return LiveSource(self.connection, self.max_age, watching.progress, watching.tell)(notes)
        finally:
            watching.end()
