"""Options of ``kwhatif deschedule``, and of ``diff`` and ``explain`` where they are about the descheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.simulation.flag import InputFile

DeschedulerPolicy = str | Mapping[str, Any]
"""A file, plain values, or nothing for the policy that the snapshot has."""

Metrics = Annotated[Sequence[str], InputFile("--metrics", "With --deschedule: measurements (repeatable).")]


INTERVAL = 300.0
"""Seconds from one cycle to the next, as the chart and the documentation have it (``deschedulingInterval``)."""


@dataclass(frozen=True, kw_only=True)
class ComparePoliciesOptions:
    """What ``kwhatif diff`` compares of the descheduler."""

    deschedule: Annotated[
        Sequence[DeschedulerPolicy],
        InputFile("--deschedule", "A policy of the descheduler; given twice, one for each side."),
    ] = ()
    metrics: Metrics = ()


@dataclass(frozen=True, kw_only=True)
class ExplainDeschedulingOptions:
    """What ``kwhatif explain`` takes to say what the descheduler makes of pods."""

    deschedule: Annotated[
        DeschedulerPolicy,
        InputFile("--deschedule", "Why does the descheduler, by this policy, evict the pod, or not?", type=str),
    ] = ""
    metrics: Metrics = ()
