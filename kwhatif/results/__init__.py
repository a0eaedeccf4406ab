"""Results as values: Python numbers and strings only, so that any renderer can print them.

Every result knows its exit code, and turns into plain data with ``msgspec.to_builtins``.
"""

from __future__ import annotations

from kwhatif.results.capacity import CapacityResult, LeftOver, NodeCapacity, QuotaRoom, ReasonCount
from kwhatif.results.conformance import ConformanceResult, Difference, FileAgreement
from kwhatif.results.diff import Away, ClusterUse, DecisionDiff, NodeScores, PodChange, Rule, Side, Skew, Use
from kwhatif.results.drain import BudgetUse, DrainedNode, DrainedPod, DrainResult, Remaining
from kwhatif.results.expand import ChangeRecord, ExpandedPod, ExpandResult
from kwhatif.results.explain import Blocker, Comparison, Eviction, ExplainResult, Fix, NodeReport, PodReport
from kwhatif.results.place import (
    AllocatedDevice,
    ClaimDevices,
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
from kwhatif.results.snapshot_check import CheckResult, Finding
from kwhatif.results.snapshot_diff import DiffResult, FieldChange, ObjectChange, Replaced
from kwhatif.results.snapshot_info import (
    ClassUse,
    DeviceUse,
    InfoResult,
    Missing,
    NodeGroup,
    NodeUse,
    PendingReason,
    ResourceUse,
)
from kwhatif.results.snapshot_trim import KindCount, TrimmedPod, TrimResult
from kwhatif.results.values import API_VERSION, Fidelity, Gap, Value

__all__ = [
    "API_VERSION",
    "AllocatedDevice",
    "Away",
    "Blocker",
    "BudgetUse",
    "CapacityResult",
    "ChangeRecord",
    "CheckResult",
    "ClaimDevices",
    "ClassUse",
    "ClusterUse",
    "Comparison",
    "ConformanceResult",
    "DecisionDiff",
    "DeviceUse",
    "DiffResult",
    "Difference",
    "DrainResult",
    "DrainedNode",
    "DrainedPod",
    "EventRecord",
    "Eviction",
    "ExpandResult",
    "ExpandedPod",
    "ExplainResult",
    "FailedCreate",
    "Fidelity",
    "FieldChange",
    "FileAgreement",
    "Finding",
    "Fix",
    "Gap",
    "InfoResult",
    "KindCount",
    "LeftOver",
    "Missing",
    "NodeCapacity",
    "NodeGroup",
    "NodeReport",
    "NodeScores",
    "NodeUse",
    "ObjectChange",
    "PendingReason",
    "PlaceResult",
    "Placement",
    "PodChange",
    "PodReport",
    "QuotaRoom",
    "ReasonCount",
    "Refusal",
    "RefusedField",
    "Remaining",
    "Replaced",
    "ResourceUse",
    "RolloutPlan",
    "RolloutStep",
    "Rule",
    "Score",
    "Side",
    "Skew",
    "TimelineEntry",
    "TrimResult",
    "TrimmedPod",
    "Use",
    "Value",
    "Victim",
]
