"""Which services select a pod, and which selector they and its controller imply.

Upstream: pkg/scheduler/framework/plugins/helper/spread.go (DefaultSelector, GetPodServices).
"""

from __future__ import annotations

from contextlib import suppress

from kwhatif.api.core import ReplicationController, Service
from kwhatif.api.kinds import Objects
from kwhatif.api.others import ReplicaSet, StatefulSet
from kwhatif.api.selectors import Requirement, Selector, SelectorError
from kwhatif.cluster.labels import SelectorIndex
from kwhatif.cluster.shapes import PodShape

_EVERYBODY = Selector()


class Owners:
    """The services and controllers of a cluster, by the pods that are theirs."""

    KINDS = frozenset(kind.__name__ for kind in (Service, ReplicationController, ReplicaSet, StatefulSet))

    def __init__(self, objects: Objects) -> None:
        self._services: SelectorIndex[tuple[int, Service]] = SelectorIndex()
        for number, service in enumerate(objects.of(Service)):
            if service.spec.selector is not None:
                self._services.add(Selector.of_labels(service.spec.selector), [service.namespace], (number, service))
        self._replication = {(c.namespace, c.name): c for c in objects.of(ReplicationController)}
        workloads: list[ReplicaSet | StatefulSet] = [*objects.of(ReplicaSet), *objects.of(StatefulSet)]
        self._workloads = {(type(w).__name__, w.namespace, w.name): w for w in workloads}

    def services(self, shape: PodShape) -> list[Service]:
        """The services that select a pod, in the order given."""
        found = self._services.selecting(shape.namespace, shape.labels)
        return [service for _, service in sorted(found, key=lambda item: item[0])]

    def default_selector(self, shape: PodShape) -> Selector:
        """Labels of all services that select the pod, and the selector of its controller, together.

        A controller's selector that cannot be parsed adds nothing.
        """
        labels: dict[str, str] = {}
        for service in self.services(shape):
            labels |= service.spec.selector or {}
        owner = shape.controller
        more: tuple[Requirement, ...] = ()
        if owner is None:
            pass
        elif (owner.api_version, owner.kind) == ("v1", "ReplicationController"):
            controller = self._replication.get((shape.namespace, owner.name or ""))
            labels |= (controller.spec.selector if controller else None) or {}
        elif owner.api_version == "apps/v1":
            workload = self._workloads.get((owner.kind or "", shape.namespace, owner.name or ""))
            with suppress(SelectorError):
                more = Selector.of(workload.spec.selector).requirements if workload else ()
        return Selector.of_labels(labels).also(more) if labels or more else _EVERYBODY
