"""``live()``: the live cluster for the Python API, as ``--live`` on the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kwhatif.bounds import DUMP_SECONDS
from kwhatif.commands.functions import Path

if TYPE_CHECKING:
    from kwhatif.simulation.inputs import LiveSource


def live(
    *,
    context: str | None = None,
    kubeconfig: Path | None = None,
    as_user: str | None = None,
    as_groups: Sequence[str] = (),
    insecure_skip_tls_verify: bool = False,
    request_timeout: float = 60.0,
    timeout: float = DUMP_SECONDS,
    max_age: float = 60.0,
) -> LiveSource:
    """The cluster that kubectl would talk to, in place of a snapshot: ``place(..., snapshot=live())``.

    It is read when a question is asked, into memory, and kept for the next ones until that is ``max_age`` seconds old
    (0: read anew for each, and keep nothing). The other options are kubectl's; ``timeout`` is for reading all of it,
    in seconds. A question raises ClusterError where it cannot be read.
    """
    from kwhatif.errors import UsageError
    from kwhatif.simulation.inputs import LiveSource
    from kwhatif.snapshot.live.live_cluster import Connection

    if as_groups and as_user is None:
        raise UsageError("as_groups needs as_user: a group cannot be impersonated alone")
    connection = Connection(
        kubeconfig=None if kubeconfig is None else os.fspath(kubeconfig),
        context=context,
        user=as_user,
        groups=tuple(as_groups),
        insecure=insecure_skip_tls_verify,
        timeout=request_timeout,
        limit=timeout,
    )
    return LiveSource(connection, max_age)
