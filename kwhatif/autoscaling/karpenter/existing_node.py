"""A node that is there, or is on its way: whether a pod can be added to it.

Upstream: pkg/controllers/provisioning/scheduling/existingnode.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.autoscaling.karpenter.exact_amounts import fit, less, total
from kwhatif.autoscaling.karpenter.known_labels import HOSTNAME
from kwhatif.autoscaling.karpenter.requirement import Requirement
from kwhatif.autoscaling.karpenter.requirements import Requirements, both, incompatible
from kwhatif.autoscaling.karpenter.state import StateNode
from kwhatif.autoscaling.karpenter.taints import untolerated
from kwhatif.autoscaling.karpenter.topology import Topology
from kwhatif.autoscaling.karpenter.volume_topology import Used
from kwhatif.autoscaling.karpenter.wants import Wants


class ExistingNode:
    """What is left of a node in this round. Room for daemon pods that should still come is kept."""

    def __init__(self, node: StateNode, topology: Topology, daemons: Iterable[Wants]) -> None:
        self.state = node
        self.pods: list[Wants] = []
        self._topology = topology
        expected = total([*(wants.requests for wants in daemons), {"pods": 0}])
        missing = {
            name: max(amount, 0)
            for name, amount in total([expected, {n: -a for n, a in node.daemon_requests.items()}]).items()
        }
        self._left = less(node.available, missing)
        host = Requirement.of(HOSTNAME, "In", (node.hostname,))
        self._requirements = both(node.requirements, host)
        self._ports = node.ports.copy()
        self._volumes = node.volumes.copy()
        # What a shape of pods was refused for lack of room, labels or tolerations, it always will be.
        self._never: set[int] = set()
        topology.register_host(node.hostname)

    def add(self, wants: Wants, places: Sequence[Requirements], volumes: Used) -> bool:
        """Take the pod if it can be taken."""
        if not self._may(wants):
            return False
        if self._volumes.excess(volumes) or self._ports.clash(wants.key, wants.ports):
            return False
        asked = both(self._requirements, *wants.requirements.values())
        for place in places or (None,):
            found = self._suiting(wants, asked, place)
            if found is not None:
                self._take(wants, found, volumes)
                return True
        return False

    def never_takes(self, wants: Wants) -> bool:
        """Whether pods of this shape were refused for good."""
        return wants.shape in self._never

    def _may(self, wants: Wants) -> bool:
        if wants.shape in self._never:
            return False
        if (
            not fit(wants.requests, self._left)
            or untolerated(self.state.taints, wants.tolerations)
            or incompatible(self._requirements, wants.requirements)
        ):
            self._never.add(wants.shape)
            return False
        return True

    def _suiting(self, wants: Wants, asked: Requirements, place: Requirements | None) -> Requirements | None:
        if place is not None:
            if incompatible(asked, place):
                return None
            asked = both(asked, *place.values())
        narrowed, complaint = self._topology.narrowed(wants, self.state.taints, asked)
        if complaint or incompatible(asked, narrowed):
            return None
        return both(asked, *narrowed.values())

    def _take(self, wants: Wants, requirements: Requirements, volumes: Used) -> None:
        self.pods.append(wants)
        self._left = less(self._left, wants.requests)
        self._requirements = requirements
        self._topology.record(wants, self.state.taints, requirements)
        self._ports.take(wants.key, wants.ports)
        self._volumes.add(volumes)
