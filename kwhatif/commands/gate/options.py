"""Options of ``kwhatif gate`` only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from kwhatif.commands.common_options import Seed
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Files


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """What is judged, and by which rules.

    ``base`` are the manifests as they were; None: everything is judged. ``levels`` of rules are written ``NAME=LEVEL``.
    """

    base: Annotated[
        Files | None,
        Flag(
            "--base",
            type=list[str] | None,
            metavar="DIR|FILE",
            help="Manifests as they were, or a revision of git: only differences are judged. Default: everything is "
            "(repeatable).",
        ),
    ] = None
    config: Annotated[
        str | None,
        Flag(
            "--config",
            metavar="FILE",
            variable="KWHATIF_CONFIG",
            help="The rules: a GatePolicy. Default: .kwhatif.yaml here or above, up to the top of the repository.",
        ),
    ] = None
    levels: Annotated[
        Sequence[str],
        Flag(
            "--rule",
            metavar="NAME=LEVEL",
            variable="KWHATIF_RULE",
            help="Set a rule's level to error, warn or off, whatever the file says (repeatable).",
        ),
    ] = ()
    exemptions: Annotated[
        bool,
        Flag(
            "--no-exemptions",
            negated=True,
            variable="KWHATIF_NO_EXEMPTIONS",
            help="Ignore annotations that exempt workloads from rules.",
        ),
    ] = True
    recursive: Annotated[bool, Flag("--recursive/--no-recursive", short="-R", help="Descend into subdirectories.")] = (
        True
    )
    with_pending: Annotated[
        bool, Flag("--with-pending", help="The snapshot's own pending pods compete for room, too.")
    ] = False
    seed: Seed = None
