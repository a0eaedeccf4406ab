"""What is known of a cluster whose requests are to follow usage, before anybody asks what comes of it."""

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
