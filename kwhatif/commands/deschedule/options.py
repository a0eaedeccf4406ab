"""Options of ``kwhatif deschedule``, and of ``diff`` and ``explain`` where they are about the descheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.simulation.flag import Flag

DeschedulerPolicy = str | Mapping[str, Any]
"""A file, plain values, or nothing for the policy that the snapshot has."""

Metrics = Annotated[
    Sequence[str],
    Flag("--metrics", metavar="FILE", help="With --deschedule: what was measured (repeatable)."),
]


INTERVAL = 300.0
"""Seconds from one cycle to the next, as the chart and the documentation have it (``deschedulingInterval``)."""

SCHEDULER_POLICY = Flag(
    "--scheduler-policy",
    type=str | None,
    metavar="FILE",
    help="The configuration of the scheduler that places what is evicted; see --policy of 'place'.",
)


@dataclass(frozen=True)
class DescheduleOptions:
    """By which policy the descheduler evicts, and how far it is followed."""

    descheduler_policy: Annotated[
        DeschedulerPolicy,
        Flag(
            "--policy",
            type=str,
            metavar="FILE",
            help="The DeschedulerPolicy (descheduler/v1alpha2), a ConfigMap with one, or values of the descheduler's "
            "Helm chart; '-' for stdin. Default: the cluster's own if the snapshot has it.",
        ),
    ] = ""
    cycles: Annotated[
        int,
        Flag(
            "--cycles",
            metavar="N",
            least=1,
            shows_default=True,
            help="Follow so many cycles; the next one is looked at, too.",
        ),
    ] = 1
    until_quiet: Annotated[
        bool, Flag("--until-quiet", help="Follow cycles until one evicts nobody, or what happened begins anew.")
    ] = False
    interval_seconds: Annotated[
        float,
        Flag(
            "--interval",
            metavar="DURATION",
            duration=True,
            shows_default=True,
            help="The time from one cycle to the next.",
        ),
    ] = INTERVAL
    metrics: Annotated[
        Sequence[str],
        Flag(
            "--metrics",
            metavar="FILE",
            help="What was measured: NodeMetrics and PodMetrics of metrics.k8s.io, or Prometheus' answer to the query "
            "of the policy (repeatable).",
        ),
    ] = ()
    dry_run: Annotated[
        bool, Flag("--dry-run", help="Ask no disruption budgets, as the descheduler's own --dry-run does not.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class ComparePoliciesOptions:
    """What ``kwhatif diff`` compares of the descheduler."""

    deschedule: Annotated[
        Sequence[DeschedulerPolicy],
        Flag("--deschedule", metavar="FILE", help="A policy of the descheduler; given twice, one for each side."),
    ] = ()
    metrics: Metrics = ()


@dataclass(frozen=True, kw_only=True)
class ExplainDeschedulingOptions:
    """What ``kwhatif explain`` takes to say what the descheduler makes of pods."""

    deschedule: Annotated[
        DeschedulerPolicy,
        Flag(
            "--deschedule",
            type=str,
            metavar="FILE",
            help="Why does the descheduler, by this policy, evict the pod, or not?",
        ),
    ] = ""
    metrics: Metrics = ()
