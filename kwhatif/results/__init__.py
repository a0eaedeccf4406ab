"""Results as values: Python numbers and strings only, so that any renderer can print them.

Every result knows its exit code, and turns into plain data with ``msgspec.to_builtins``.
"""

from __future__ import annotations

from kwhatif.results.conformance import ConformanceResult, Difference, FileAgreement
from kwhatif.results.expand import ChangeRecord, ExpandedPod, ExpandResult
from kwhatif.results.explain import Blocker, Comparison, Eviction, ExplainResult, Fix, NodeReport, PodReport
from kwhatif.results.place import (
    EventRecord,
    FailedCreate,
    Placement,
    PlaceResult,
    Refusal,
    RefusedField,
    RolloutPlan,
    RolloutStep,
    Score,
    TimelineEntry,
    Victim,
)
from kwhatif.results.values import API_VERSION, Fidelity, Gap, Value

__all__ = [
    "API_VERSION",
    "Blocker",
    "ChangeRecord",
    "Comparison",
    "ConformanceResult",
    "Difference",
    "EventRecord",
    "Eviction",
    "ExpandResult",
    "ExpandedPod",
    "ExplainResult",
    "FailedCreate",
    "Fidelity",
    "FileAgreement",
    "Fix",
    "Gap",
    "NodeReport",
    "PlaceResult",
    "Placement",
    "PodReport",
    "Refusal",
    "RefusedField",
    "RolloutPlan",
    "RolloutStep",
    "Score",
    "TimelineEntry",
    "Value",
    "Victim",
]
