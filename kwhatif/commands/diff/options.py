"""Options of ``kwhatif diff`` only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.commands.common_options import Replay
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Files


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """``snapshot_b`` is a cluster as ``Inputs`` have it; of the ``policy`` there are one or two."""

    snapshot_b: Annotated[
        Any,
        Flag(
            "--against-snapshot",
            type=list[str] | None,
            file="cluster",
            metavar="FILE",
            help="Another cluster, for side B; --snapshot is that of side A then (repeatable).",
        ),
    ] = ()
    policy: Annotated[
        Sequence[Any],
        Flag(
            "--policy",
            metavar="FILE[@VERSION]",
            file="in",
            help="A KubeSchedulerConfiguration, or 'default', and the Kubernetes "
            "whose rules hold, as in default@1.31; given twice, one for each side; once, against the default.",
        ),
    ] = ()
    old: Annotated[
        Files,
        Flag(
            "--old",
            metavar="DIR|FILE",
            file="manifests",
            help="Manifests of side A alone (repeatable).",
        ),
    ] = ()
    new: Annotated[
        Files,
        Flag(
            "--new",
            metavar="DIR|FILE",
            file="manifests",
            help="Manifests of side B alone (repeatable).",
        ),
    ] = ()
    replay: Replay = ()
