"""Nodes that autoscalers take away: which go together, and the cluster without them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from msgspec import structs

from kwhatif.api.core import Node, Pod
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.node_provisioning import NodeClaim
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroups, is_of_daemon_set
from kwhatif.autoscaling.cluster_autoscaler.static_autoscaler import StaticAutoscaler
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.golang.parsing import SECOND
from kwhatif.simulation.autoscalers.node_groups_document import ConfiguredGroups
from kwhatif.simulation.placement.afterwards import store_volumes
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot


def unneeded_wait(world: AutoscalingContext) -> int:
    """The seconds for which nodes have to be unneeded before any of them is removed."""
    return max((group.settings.scale_down_unneeded_time for group in world.groups), default=0) // SECOND + 1


def removed_together(world: AutoscalingContext, wait: int) -> set[str]:
    """The nodes that go in one loop, once all that are unneeded have been so for ``wait`` seconds."""
    autoscaler = StaticAutoscaler()
    autoscaler.loop(world, up=False, down=True)
    later = replace(world, now=world.now + wait * SECOND)
    found = autoscaler.loop(later, up=False, down=True).scale_down
    return {name for part in found.deleted or () for name in part}


def without_nodes(known: ConfiguredGroups, going: Collection[str]) -> ConfiguredGroups:
    """The groups once these nodes are gone."""
    groups = [
        replace(
            group,
            target=group.target - len(set(going).intersection(group.nodes)),
            nodes=tuple(name for name in group.nodes if name not in going),
        )
        for group in known.groups
    ]
    return replace(known, groups=NodeGroups(groups))


def bound_pods(session: Session) -> list[Pod]:
    """The pods that run, with their nodes."""
    names = session.cluster.columns.names
    return [
        structs.replace(info.pod, spec=structs.replace(info.pod.spec, node_name=names[row]))
        for info, row in session.cluster.pods()
    ]


def movable_pods(cluster: Cluster, going: Collection[str]) -> Iterator[PodInfo]:
    """The pods of these nodes that are recreated elsewhere when their nodes go."""
    names = cluster.columns.names
    return (info for info, row in cluster.pods() if names[row] in going and is_movable(info))


def is_movable(info: PodInfo) -> bool:
    """Whether the pod is recreated elsewhere when its node goes."""
    return not info.pod.is_mirror and not is_of_daemon_set(info.pod)


def snapshot_without_nodes(session: Session, going: Collection[str]) -> Snapshot:
    """The snapshot of a session's cluster as it is, without these nodes, their machines and all that is on them."""
    cluster, snapshot = session.cluster, session.snapshot.copy()
    nodes, objects = cluster.columns.given, snapshot.objects
    objects.put(Node, [node for node in nodes if node.name not in going])
    objects.put(Pod, [pod for pod in bound_pods(session) if pod.spec.node_name not in going])
    store_volumes(objects, cluster.storage)
    objects.put_if_any(ResourceClaim, cluster.devices.claims.values())
    gone = {node.spec.provider_id for node in nodes if node.name in going}
    claims = [claim for claim in objects.list_all(NodeClaim) if claim.status.provider_id not in gone]
    objects.put_if_any(NodeClaim, claims)
    return snapshot
