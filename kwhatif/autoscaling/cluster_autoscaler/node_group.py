"""Node groups: what the cloud says of a set of nodes that are alike.

Upstream: cluster-autoscaler/cloudprovider/cloud_provider.go (NodeGroup).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kwhatif.api.core import Node, Pod
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import GroupSettings


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """``target`` is the size asked of the cloud; ``template`` the node that it would make, None if it cannot tell, and
    ``template_pods`` the pods that it puts there.

    ``failed_scale_up`` and ``requested_scale_up`` are moments: of a scale-up that failed, and of the one that the nodes
    missing to the target are waited for. ``price`` is that of a node by the hour, where it is known.
    """

    name: str
    least: int
    most: int
    target: int
    nodes: tuple[str, ...] = ()
    template: Node | None = None
    template_pods: tuple[Pod, ...] = ()
    settings: GroupSettings = field(default_factory=GroupSettings)
    failed_scale_up: int | None = None
    requested_scale_up: int | None = None
    price: float | None = None

    @property
    def room(self) -> int:
        """How many more nodes it may have."""
        return max(self.most - self.target, 0)


class NodeGroups:
    """The groups in the cloud's order."""

    def __init__(self, groups: Sequence[NodeGroup]) -> None:
        self._groups = {group.name: group for group in groups}
        self._of_node = {node: group for group in groups for node in group.nodes}

    def __iter__(self) -> Iterator[NodeGroup]:
        return iter(self._groups.values())

    def __getitem__(self, name: str) -> NodeGroup:
        return self._groups[name]

    def of(self, node: str) -> NodeGroup | None:
        """The group of a node; None for one that nobody scales."""
        return self._of_node.get(node)
