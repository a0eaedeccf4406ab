"""Usage, advice and changed workloads of a cluster, before any simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kwhatif.commands.rightsize.advice import Advice, AdviceSet
from kwhatif.commands.rightsize.horizontal import Scaling
from kwhatif.simulation.edits.new_resources import NewResources
from kwhatif.usage.read import UsageInputs


@dataclass(frozen=True)
class Findings:
    """Usage, advice, and what changes by it: advice and new resources by workload, and replicas that follow."""

    read: UsageInputs
    advised: AdviceSet
    changes: Mapping[str, Sequence[Advice]]
    new: NewResources
    scalings: Sequence[Scaling]
