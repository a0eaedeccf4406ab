"""Worlds for an autoscaler to look at, in few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Condition, Node, Pod
from kwhatif.api.meta import Resource
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import flags_of, group_settings
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import AutoscalingContext, NodeGroup, NodeGroups
from kwhatif.autoscaling.cluster_autoscaler.node_readiness import moment
from tests.builders import cluster_of, node, scheduler_for

NOW = "2026-03-02T12:00:00Z"
READY = Condition(type="Ready", status="True", last_transition_time="2026-02-20T08:00:00Z")
UNSCHEDULABLE = Condition(type="PodScheduled", status="False", reason="Unschedulable")


def ready(found: Node) -> Node:
    """A node that has been ready for days, all of whose capacity is for pods."""
    status = msgspec.structs.replace(found.status, capacity=found.status.allocatable, conditions=[READY])
    return msgspec.structs.replace(found, status=status)


def ready_node(name: str, **more: Any) -> Node:
    return ready(node(name, **more))


def waiting(found: Pod, **annotations: str) -> Pod:
    """A pod that the scheduler found no node for, an hour ago."""
    meta = msgspec.structs.replace(
        found.metadata, creation_timestamp="2026-03-02T11:00:00Z", annotations=annotations or None
    )
    status = msgspec.structs.replace(found.status, conditions=[UNSCHEDULABLE])
    return msgspec.structs.replace(found, metadata=meta, status=status)


def group(
    name: str,
    nodes: Iterable[Node] = (),
    *,
    least: int = 0,
    most: int = 10,
    template: Node | None = None,
    options: Mapping[str, Any] | None = None,
    **more: Any,
) -> NodeGroup:
    """A group of these nodes; its ``options`` are flags of its own."""
    names = tuple(each.name for each in nodes)
    settings = group_settings(options or {}, flags_of({}))
    return NodeGroup(name, least, most, len(names), names, template, settings=settings, **more)


def world(
    nodes: Sequence[Node],
    groups: Sequence[NodeGroup],
    *,
    running: Iterable[Pod] = (),
    pending: Iterable[Pod] = (),
    objects: Iterable[Resource] = (),
    flags: Mapping[str, Any] | None = None,
    **more: Any,
) -> AutoscalingContext:
    """What the autoscaler sees; options of groups that say nothing are those of the ``flags``."""
    cluster = cluster_of(nodes, running, objects)
    known = flags_of(flags or {})
    plain = group_settings({}, flags_of({}))
    ours = [replace(each, settings=group_settings({}, known)) if each.settings == plain else each for each in groups]
    return AutoscalingContext(
        now=moment(NOW),
        cluster=cluster,
        pending=[waiting(pod) for pod in pending],
        groups=NodeGroups(ours),
        flags=known,
        framework=scheduler_for(cluster).framework.filters_only(),
        **more,
    )
