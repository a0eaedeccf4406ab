"""Which selector the services and controllers of a pod imply.

Upstream: pkg/scheduler/framework/plugins/helper/spread.go (DefaultSelector).
"""

from __future__ import annotations

from contextlib import suppress

from kwhatif.api.core import ReplicationController, Service
from kwhatif.api.kinds import Objects
from kwhatif.api.others import ReplicaSet, StatefulSet
from kwhatif.api.selectors import Requirement, Selector, SelectorError
from kwhatif.cluster.shapes import PodShape

__all__ = ["default_selector"]


def default_selector(shape: PodShape, objects: Objects) -> Selector:
    """Labels of all services that select the pod, and the selector of its controller, together.

    A controller's selector that cannot be parsed adds nothing.
    """
    labels: dict[str, str] = {}
    for service in objects.of(Service):
        wanted = service.spec.selector
        if service.namespace != shape.namespace or wanted is None:
            continue
        if all(shape.labels.get(key) == value for key, value in wanted.items()):
            labels |= wanted
    owner = shape.controller
    more: tuple[Requirement, ...] = ()
    if owner is not None:
        if (owner.api_version, owner.kind) == ("v1", "ReplicationController"):
            for controller in objects.of(ReplicationController):
                if (controller.namespace, controller.name) == (shape.namespace, owner.name):
                    labels |= controller.spec.selector or {}
        elif owner.api_version == "apps/v1" and owner.kind in ("ReplicaSet", "StatefulSet"):
            workloads: list[ReplicaSet] | list[StatefulSet] = (
                objects.of(ReplicaSet) if owner.kind == "ReplicaSet" else objects.of(StatefulSet)
            )
            for workload in workloads:
                if (workload.namespace, workload.name) == (shape.namespace, owner.name):
                    with suppress(SelectorError):
                        more = Selector.of(workload.spec.selector).requirements
    return Selector.of_labels(labels).also(more)
