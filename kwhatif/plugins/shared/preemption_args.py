"""Validation of the arguments that bound how many nodes preemption tries.

Upstream: ValidateDefaultPreemptionArgs in scheduler/apis/config/validation/validation_pluginargs.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kwhatif.golang.field_validation import Path


def preemption_problems(path: Path, args: Any) -> Iterator[str]:
    """Every reason to refuse them, in upstream's words."""
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    of_percentage, of_absolute = path.child("minCandidateNodesPercentage"), path.child("minCandidateNodesAbsolute")
    if not 0 <= percentage <= 100:
        yield of_percentage.invalid(percentage, "not in valid range [0, 100]")
    if absolute < 0:
        yield of_absolute.invalid(absolute, "not in valid range [0, inf)")
    if percentage == absolute == 0:
        yield of_percentage.invalid(0, "cannot be zero at the same time as minCandidateNodesAbsolute")
        yield of_absolute.invalid(0, "cannot be zero at the same time as minCandidateNodesPercentage")
