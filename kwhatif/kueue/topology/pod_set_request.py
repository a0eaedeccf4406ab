"""What one pod set wants of the topology of its flavor.

Upstream: TASPodSetRequests in pkg/cache/scheduler/tas_flavor_snapshot.go.
"""

from __future__ import annotations

import msgspec

from kwhatif.api.kueue import WorkloadPodSet
from kwhatif.kueue.amounts import Requests
from kwhatif.kueue.pod_amounts import CountedPodSet


class PodSetTopologyRequest(msgspec.Struct, frozen=True):
    """``implied`` where the ClusterQueue has only flavors with a topology."""

    counted: CountedPodSet
    count: int
    flavor: str
    implied: bool

    @property
    def pod_set(self) -> WorkloadPodSet:
        return self.counted.pod_set

    @property
    def requests(self) -> Requests:
        """Those of one pod."""
        return self.counted.requests

    @property
    def group(self) -> str | None:
        """Pod sets of one group are placed together: a leader and its workers."""
        request = self.pod_set.topology_request
        return None if request is None else request.pod_set_group_name

    @property
    def is_required(self) -> bool:
        request = self.pod_set.topology_request
        return request is not None and request.required is not None

    @property
    def is_for_slices_only(self) -> bool:
        request = self.pod_set.topology_request
        if request is None or request.required is not None or request.preferred is not None:
            return False
        return bool(request.slice_constraints)

    @property
    def is_unconstrained(self) -> bool:
        request = self.pod_set.topology_request
        return (request is not None and bool(request.unconstrained)) or self.implied or self.is_for_slices_only


TopologyRequests = dict[str, list[PodSetTopologyRequest]]
"""By flavor, in the order of the pod sets."""
