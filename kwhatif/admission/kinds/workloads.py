"""Pods, what makes them, and their claims."""

from __future__ import annotations

from kwhatif.admission.defaulting.workload_defaults import FILLERS
from kwhatif.admission.kinds.strategy import Strategy
from kwhatif.admission.validation.validate_metadata import check_metadata
from kwhatif.admission.validation.validate_workload import CHECKERS

__all__ = ["STRATEGIES"]

STRATEGIES = {
    kind: Strategy(defaults=defaults, check=CHECKERS.get(kind, check_metadata)) for kind, defaults in FILLERS.items()
}
