"""The data of a page about rightsizing: a point for each container, and the savings of each step."""

from __future__ import annotations

import re
from typing import Any

from kwhatif.commands.rightsize.result import RightsizeResult

_QUANTITY = re.compile(r"(-?[0-9.]+)(m|[kKMGTPE]i?)?")
_SUFFIXES = {"": 1.0, "m": 1e-3}
_SUFFIXES |= {letter: 1000.0**power for power, letter in enumerate("kMGTPE", 1)}
_SUFFIXES |= {f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", 1)}


def sizing_data(result: RightsizeResult) -> dict[str, Any]:
    """Cores and bytes: what containers ask for, would, and used at their peak; and the steps, as they add up."""
    return {
        "points": [
            [
                f"{each.workload} {each.container}",
                each.resource,
                _number(each.request),
                _number(each.advised),
                _number(each.peak),
                each.pods,
            ]
            for each in result.workloads
        ],
        "steps": [[step.workload or f"all others ({step.workloads})", step.nodes, step.cost] for step in result.steps],
    }


def _number(quantity: str | None) -> float | None:
    """A quantity as Kubernetes writes it, as a number of cores or bytes."""
    found = _QUANTITY.fullmatch(quantity or "")
    return None if found is None else float(found[1]) * _SUFFIXES[found[2] or ""]
