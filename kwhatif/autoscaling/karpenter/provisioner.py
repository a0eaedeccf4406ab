"""One round of Karpenter: for all pods that found no node, or for what a simulation makes of a cluster.

Upstream: pkg/controllers/provisioning/provisioner.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif.api.core import Pod
from kwhatif.autoscaling.karpenter.karpenter_world import KarpenterWorld
from kwhatif.autoscaling.karpenter.scheduler import Round, Scheduler
from kwhatif.autoscaling.karpenter.state import StateNode


@dataclass(frozen=True)
class Provisioning:
    """A round, and the pods that it is not for."""

    round: Round
    ignored: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_pending: Sequence[str] = ()


def provision(world: KarpenterWorld) -> Provisioning:
    """One round for all pending pods, and for those whose nodes are going."""
    pods = [*world.waiting, *world.leaving]
    found = simulated(world, world.staying, pods, strict=True) if pods else Round()
    return Provisioning(found, world.refused, world.not_asked)


def simulated(world: KarpenterWorld, nodes: Sequence[StateNode], pods: Sequence[Pod], *, strict: bool) -> Round:
    """A round on these nodes. Without a NodePool that takes part nothing happens at all."""
    return Scheduler(world, nodes, pods, strict=strict).solve() if world.offers else Round()
