"""least-waste: the smallest share of idle cpu and memory.

Upstream: cluster-autoscaler/expander/waste/waste.go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kwhatif.autoscaling.cluster_autoscaler.expanders.option import ExpanderContext, Option, least


def least_waste(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    return least(options, lambda option: waste(option, choice))


def waste(option: Option, choice: ExpanderContext) -> float:
    """The idle shares of cpu and of memory, added up: 0 to 2."""
    return sum(_idle(option, choice, name) for name in ("cpu", "memory"))


def _idle(option: Option, choice: ExpanderContext, name: str) -> float:
    whole = choice.capacity(option, name) * option.nodes
    return float(whole - choice.sum_requests(option, name)) / whole if whole else math.inf
