"""Options of ``kwhatif upgrade`` only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from kwhatif.commands.common_options import PricesFile
from kwhatif.simulation.flag import Flag, parse_duration
from kwhatif.upgrading.replacement_plan import AfterTimeout, DeletePolicy
from kwhatif.upgrading.strategies import STRATEGIES

READY_AFTER = 30.0
"""Seconds that a pod takes to become ready, by default."""


def _parse_readiness(texts: Sequence[str]) -> dict[str, float]:
    """Workload -> seconds; the workload ``""`` is all others. Raises ValueError."""
    named = [text.rpartition("=") for text in texts]
    return {"": READY_AFTER} | {name: parse_duration(length) for name, _, length in named}


@dataclass(frozen=True)
class UpgradeOptions:
    """Which nodes are replaced, and what is other than the strategy has it; numbers of nodes may be shares of the pool.

    Labels, taints and sizes of new nodes are written as kubectl has them: ``KEY=VALUE`` or ``KEY-``,
    ``KEY[=VALUE]:EFFECT``, ``RESOURCE=AMOUNT``. ``ready_after_seconds`` are those of all workloads, or of each.
    """

    pool: Annotated[
        str, Flag("--pool", metavar="SELECTOR", help="The nodes: a label selector such as 'pool=batch', or a name.")
    ]
    strategy: Annotated[
        str,
        Flag(
            "--strategy",
            choices=tuple(STRATEGIES),
            shows_default=True,
            help="Who replaces the nodes, with the defaults of its documents.",
        ),
    ] = "surge"
    surge: Annotated[
        int | str | None,
        Flag(
            "--surge",
            type=str | None,
            metavar="N|N%",
            help="So many nodes more than the pool has, meanwhile.",
        ),
    ] = None
    unavailable: Annotated[
        int | str | None,
        Flag(
            "--unavailable",
            type=str | None,
            metavar="N|N%",
            help="So many nodes of the pool may be missing, meanwhile.",
        ),
    ] = None
    parallel: Annotated[
        int | None, Flag("--parallel", metavar="N", least=1, help="Drain at most so many nodes at the same time.")
    ] = None
    drain_timeout_seconds: Annotated[
        float | None,
        Flag(
            "--drain-timeout",
            metavar="DURATION",
            duration=True,
            help="How long a drain may take. Default: the strategy's.",
        ),
    ] = None
    after_timeout: Annotated[
        AfterTimeout | None,
        Flag("--after-timeout", help="Whether a drain that takes longer is forced, or the upgrade fails."),
    ] = None
    delete_policy: Annotated[
        DeletePolicy | None,
        Flag("--delete-policy", help="Of 'capi': which nodes go first, after those that are not ready."),
    ] = None
    node_soak_seconds: Annotated[
        float | None,
        Flag(
            "--node-soak", metavar="DURATION", duration=True, help="How long an empty node stays before it is deleted."
        ),
    ] = None
    pool_soak_seconds: Annotated[
        float | None,
        Flag(
            "--pool-soak", metavar="DURATION", duration=True, help="How long the old pool stays after it was drained."
        ),
    ] = None
    grace_seconds: Annotated[
        float | None,
        Flag(
            "--grace", metavar="DURATION", duration=True, help="A grace period for all pods. Default: each pod's own."
        ),
    ] = None
    ready_after_seconds: Annotated[
        float | Mapping[str, float],
        Flag(
            "--ready-after",
            type=list[str] | None,
            parse=_parse_readiness,
            metavar="[NAME=]DURATION",
            help="How long a pod takes to become ready, of all workloads or of one (repeatable). Default: 30s.",
        ),
    ] = READY_AFTER
    within_seconds: Annotated[
        float | None, Flag("--within", metavar="DURATION", duration=True, help="How long all of it may take.")
    ] = None
    prices: PricesFile = ""
    new_version: Annotated[
        str, Flag("--new-version", metavar="VERSION", help="The kubelet's version on new nodes, such as v1.35.2.")
    ] = ""
    new_labels: Annotated[
        Sequence[str],
        Flag("--new-label", metavar="KEY=VALUE|KEY-", help="A label of new nodes, or one less (repeatable)."),
    ] = ()
    new_taints: Annotated[
        Sequence[str],
        Flag("--new-taint", metavar="KEY[=VALUE]:EFFECT", help="A further taint of new nodes (repeatable)."),
    ] = ()
    new_sizes: Annotated[
        Sequence[str],
        Flag("--new-size", metavar="RESOURCE=AMOUNT", help="What new nodes have instead (repeatable)."),
    ] = ()
