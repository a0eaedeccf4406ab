"""Pod shapes: what scheduling can see of a pod, stored once for all pods that look alike; with compiled affinity terms
and the selectors that services and controllers imply.

Two pods have the same shape when no plugin can tell them apart: same namespace, labels, controller, spec and resize
status. Shapes that differ in nothing but labels are of one template. Both are numbered, so that questions about many
pods are answered by indexing with their shapes' numbers. Upstream: kube-scheduler/framework/types.go (AffinityTerm) and
pkg/scheduler/framework/plugins/helper/spread.go (DefaultSelector, GetPodServices).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
import numpy as np

from kwhatif.api.core import Pod, PodAffinity, PodAffinityTerm, PodSpec, ReplicationController, Service, Volume
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import OwnerReference
from kwhatif.api.selectors import RequiredNodeAffinity, Requirement, Selector, SelectorError
from kwhatif.api.times import nanoseconds_of
from kwhatif.api.workloads_and_storage import ReplicaSet, StatefulSet
from kwhatif.cluster.labels import SelectorIndex


class AffinityTerm(msgspec.Struct, frozen=True, eq=False):
    """A term with its selectors compiled; ``weight`` is 0 for required terms, ``number`` its place in its index.

    Terms of one index are the same object where they are equal, so they are compared by identity.
    """

    number: int
    selector: Selector
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int = 0


class TermIndex:
    """The distinct terms of one kind that pods have, by the pods they are about."""

    def __init__(self) -> None:
        self._terms: dict[Hashable, AffinityTerm] = {}
        self._index: SelectorIndex[AffinityTerm] = SelectorIndex()

    def fork(self) -> TermIndex:
        """An independent copy; the terms are shared."""
        twin = TermIndex()
        twin._terms, twin._index = dict(self._terms), self._index.fork()
        return twin

    def required_terms(self, side: PodAffinity | None, namespace: str) -> tuple[AffinityTerm, ...]:
        """The required terms of a pod in the namespace. Raises SelectorError."""
        terms = side.required_during_scheduling_ignored_during_execution if side else None
        return tuple(self._term(term, namespace, 0) for term in terms or ())

    def preferred_terms(self, side: PodAffinity | None, namespace: str) -> tuple[AffinityTerm, ...]:
        """Its preferred terms. Raises SelectorError."""
        terms = side.preferred_during_scheduling_ignored_during_execution if side else None
        return tuple(self._term(term.pod_affinity_term, namespace, term.weight) for term in terms or ())

    def about(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> tuple[AffinityTerm, ...]:
        """The terms that are about a pod in this namespace with these labels, as they were met."""
        if not self._terms:
            return ()
        terms = [
            term
            for term in self._index.selecting(namespace, labels)
            if namespace in term.namespaces or term.namespace_selector.matches(namespace_labels)
        ]
        return tuple(sorted(terms, key=lambda term: term.number))

    def _term(self, api_term: PodAffinityTerm, namespace: str, weight: int) -> AffinityTerm:
        selector, of_namespaces = (
            Selector.from_label_selector(api_term.label_selector),
            Selector.from_label_selector(api_term.namespace_selector),
        )
        names = frozenset(api_term.namespaces or ())
        if not names and api_term.namespace_selector is None:
            names = frozenset((namespace,))
        key = (selector, api_term.topology_key, names, of_namespaces, weight)
        term = self._terms.get(key)
        if term is None:
            term = self._terms[key] = AffinityTerm(len(self._terms), *key)
            self._index.add(selector, names if of_namespaces.nothing else None, term)
        return term


NEVER_STARTED = np.iinfo(np.int64).max
"""Start time of a pod that has none: upstream takes the present moment, later than any recorded one."""

HostPort = tuple[str, str, int]
"""(host IP, protocol, port), with 0.0.0.0 and TCP filled in."""


class PodShape(msgspec.Struct, eq=False, gc=False):
    """What scheduling can see of a pod.

    All but ``index`` and ``labels`` are the same for all shapes of one ``template``. Requests are by resource name,
    millicores for cpu, units for all else: ``requests`` are what must fit, ``score_requests`` what the pod adds to its
    node (resizes counted). ``fit_score_requests`` are what NodeResourcesFit scores with: defaults for containers that
    ask for nothing, and neither resizes nor pod-level requests, since upstream leaves those switches of its scorer
    off. ``drift`` is what ``requests`` grow by with every further sum (see ``pod_requests.overhead_drift``).
    """

    index: int
    template: int
    labels: Mapping[str, str]
    namespace: str
    controller: OwnerReference | None
    terminating: bool
    spec: PodSpec
    priority: int
    requests: dict[str, int]
    score_requests: dict[str, int]
    fit_score_requests: dict[str, int]
    drift: dict[str, int]
    ports: tuple[HostPort, ...]
    node_affinity: RequiredNodeAffinity
    affinity: tuple[AffinityTerm, ...]
    anti_affinity: tuple[AffinityTerm, ...]
    preferred_affinity: tuple[AffinityTerm, ...]
    preferred_anti_affinity: tuple[AffinityTerm, ...]

    @property
    def terms(self) -> tuple[AffinityTerm, ...]:
        """All its affinity terms."""
        return (*self.affinity, *self.anti_affinity, *self.preferred_affinity, *self.preferred_anti_affinity)

    @property
    def has_volumes(self) -> bool:
        """Whether it has volumes of which more than the name is known; no plugin reads others."""
        return any(map(is_read, self.spec.volumes or ()))


class PodInfo(msgspec.Struct, eq=False, gc=False):
    """A pod and its shape. ``start`` is its start time in nanoseconds since 1970, or ``NEVER_STARTED``."""

    pod: Pod
    shape: PodShape
    key: str
    uid: str
    start: int
    nominated: str = ""

    @property
    def priority(self) -> int:
        return self.shape.priority


@dataclass(frozen=True, slots=True)
class Selection:
    """Pods by labels and namespace, None for any; ``staying``: without those on their way out."""

    selector: Selector
    namespaces: frozenset[str] | None
    staying: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.selector, self.namespaces, self.staying)))

    def __hash__(self) -> int:
        return self._hash  # asked for each of thousands of terms, and of all of them together

    def admits(self, shape: PodShape) -> bool:
        """Whether pods of this shape are among them."""
        if (self.namespaces is not None and shape.namespace not in self.namespaces) or (
            self.staying and shape.terminating
        ):
            return False
        return self.selector.matches(shape.labels)


def is_read(volume: Volume) -> bool:
    """Whether more than the volume's name is known."""
    return volume != Volume(name=volume.name)


def start_time(text: str | None) -> int:
    """Nanoseconds since 1970 of an RFC 3339 time, or ``NEVER_STARTED``. Raises ValueError."""
    if not text:
        return int(NEVER_STARTED)
    return nanoseconds_of(text)


_EVERYBODY = Selector()


class Owners:
    """The services and controllers of a cluster, by the pods that they select."""

    KINDS = frozenset(kind.__name__ for kind in (Service, ReplicationController, ReplicaSet, StatefulSet))

    def __init__(self, objects: Objects) -> None:
        self._services: SelectorIndex[tuple[int, Service]] = SelectorIndex()
        for number, service in enumerate(objects.list_all(Service)):
            if service.spec.selector is not None:
                self._services.add(Selector.from_labels(service.spec.selector), [service.namespace], (number, service))
        self._replication = {(c.namespace, c.name): c for c in objects.list_all(ReplicationController)}
        workloads: list[ReplicaSet | StatefulSet] = [*objects.list_all(ReplicaSet), *objects.list_all(StatefulSet)]
        self._workloads = {(type(w).__name__, w.namespace, w.name): w for w in workloads}

    def services(self, shape: PodShape) -> list[Service]:
        """The services that select a pod, in the order given."""
        numbered = self._services.selecting(shape.namespace, shape.labels)
        return [service for _, service in sorted(numbered, key=lambda item: item[0])]

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
                more = Selector.from_label_selector(workload.spec.selector).requirements if workload else ()
        return Selector.from_labels(labels).with_requirements(more) if labels or more else _EVERYBODY
