"""Options for reading a live cluster: which one, who asks, and what of it; named as kubectl names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kwhatif import bounds
from kwhatif.commands.snapshot.redacted_files import check_apart
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Flag, OutputFile

if TYPE_CHECKING:
    from kwhatif.snapshot.live.dump import DumpOptions
    from kwhatif.snapshot.live.live_cluster import Connection

Timeout = Annotated[
    float,
    Flag(
        "--timeout",
        metavar="SECONDS",
        least=0.1,
        shows_default=True,
        help="How long reading the cluster may take.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
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

    def connection(self, limit: float = bounds.DUMP_SECONDS) -> Connection:
        """How it is reached; all of it is read within ``limit`` seconds. Raises UsageError."""
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
            limit=limit,
        )


_PART = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"


@dataclass(frozen=True, kw_only=True)
class LiveOptions(ConnectionOptions):
    """Which cluster, who asks, what is read of it, and whether names are replaced."""

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

    redact: Annotated[bool, Flag("--redact", help="Replace all names by pseudonyms, as 'snapshot redact' does.")] = (
        False
    )
    translation: Annotated[
        str | None, OutputFile("--translation", "With --redact: which pseudonym stands for what. Keep it private.")
    ] = None

    def check_redaction(self, output: str) -> None:
        """Raise UsageError if one of --redact and --translation is missing, or both would write one file."""
        if self.redact != (self.translation is not None):
            raise UsageError(
                "--redact and --translation go together: the names that are replaced are kept in that file"
            )
        if self.translation is not None:
            check_apart(self.translation, output)

    def build_settings(self, retries: int = 0, *, usage: bool = False) -> DumpOptions:
        """How to read it. Raises UsageError."""
        from kwhatif.snapshot.live.dump import DumpOptions

        named = self.scheduler_config
        if named is not None and not re.fullmatch(f"{_PART}/{_PART}", named):
            raise UsageError(f"--scheduler-config: expected NAMESPACE/NAME, found {named!r}")
        return DumpOptions(self.chunk_size, retries, self.keep_templates, named, usage)
