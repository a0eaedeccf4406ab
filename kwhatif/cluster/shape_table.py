"""The table of pod shapes met so far, numbered, with their properties as arrays."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from kwhatif.api.core import Affinity, Condition, ContainerStatus, Pod, PodResourceClaim, PodSpec, PodStatus
from kwhatif.api.meta import OwnerReference
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.selectors import RequiredNodeAffinity
from kwhatif.cluster.columns import ResourceAxis
from kwhatif.cluster.labels import GrowingColumn, LabelColumns
from kwhatif.cluster.pod_requests import (
    NON_ZERO,
    amounts,
    non_zero_requests,
    overhead_drift,
    pod_requests,
    rounded_requests,
)
from kwhatif.cluster.shapes import AffinityTerm, HostPort, PodInfo, PodShape, Selection, TermIndex, is_read, start_time
from kwhatif.cluster.types import AnyArray, BoolArray, Int64Array, IntpArray
from kwhatif.cluster.unbound_spec import unbound_spec
from kwhatif.versions import Features

COUNT, FIRST_REQUEST = 2, 3
"""Columns of ``sums``: after those of ``non_zero`` the number of pods, then the requests."""
_LAST_SHAPES = 8
"""The most shapes with a pod's labels that the pod is compared with."""


class ShapeTable:
    """All shapes met so far, numbered, and what is known of them as arrays.

    ``requests`` int64[T, R] and ``non_zero`` int64[T, 2] are what a pod of the shape adds to its node;
    ``priorities`` int64[T]. ``templates`` has the first shape of each template; ``affinity``, ``anti_affinity`` and so
    on are the distinct terms that shapes have.
    """

    def __init__(self, features: Features) -> None:
        self.features = features
        self.resources = ResourceAxis()
        self.shapes: list[PodShape] = []
        self.templates: list[PodShape] = []
        self.affinity, self.anti_affinity = TermIndex(), TermIndex()
        self.preferred_affinity, self.preferred_anti_affinity = TermIndex(), TermIndex()
        self._examples: list[Pod] = []
        self._holders: dict[AffinityTerm, list[int]] = {}
        self._alike: dict[tuple[str, ...], tuple[PodShape, ...]] = {}
        self._template_of: dict[bytes, PodShape] = {}
        self._by_labels: dict[tuple[int, frozenset[tuple[str, str]]], PodShape] = {}
        self._labels = LabelColumns()
        self._namespaces, self._going = GrowingColumn(), GrowingColumn()
        self._last_selected: tuple[Selection | None, tuple[int, int], BoolArray] = (None, (0, 0), np.zeros(0, np.bool_))
        self._template_numbers: IntpArray = np.zeros(16, np.intp)
        self._last_added: tuple[PodShape | None, int, Int64Array] = None, -1, np.zeros(0, np.int64)
        self._sums = np.zeros((16, FIRST_REQUEST + 8), np.int64)
        self._priorities = np.zeros(16, np.int64)
        self._encoder = msgspec.msgpack.Encoder(enc_hook=plain_quantity)

    def fork(self) -> ShapeTable:
        """An independent copy; the shapes are shared."""
        twin = copy.copy(self)
        twin.resources = self.resources.fork()
        twin.shapes, twin.templates, twin._examples = self.shapes[:], self.templates[:], self._examples[:]
        twin.affinity, twin.anti_affinity = self.affinity.fork(), self.anti_affinity.fork()
        twin.preferred_affinity = self.preferred_affinity.fork()
        twin.preferred_anti_affinity = self.preferred_anti_affinity.fork()
        twin._holders = {term: held[:] for term, held in self._holders.items()}
        twin._alike, twin._template_of = dict(self._alike), dict(self._template_of)
        twin._by_labels, twin._labels = dict(self._by_labels), self._labels.fork()
        twin._namespaces, twin._going = self._namespaces.fork(), self._going.fork()
        twin._template_numbers, twin._priorities = self._template_numbers.copy(), self._priorities.copy()
        twin._sums, twin._last_added = self._sums.copy(), (None, -1, np.zeros(0, np.int64))
        return twin

    @property
    def sums(self) -> Int64Array:
        """int64[T, 3 + R]: all that a pod of each shape adds to its node: ``non_zero``, 1 pod, ``requests``."""
        width = FIRST_REQUEST + self.resources.size
        if width > self._sums.shape[1]:
            self._sums = widen_columns(self._sums, 2 * width)
        return self._sums[: len(self.shapes), :width]

    @property
    def requests(self) -> Int64Array:
        return self.sums[:, FIRST_REQUEST:]

    @property
    def non_zero(self) -> Int64Array:
        return self._sums[: len(self.shapes), :COUNT]

    def added_by(self, shape: PodShape) -> Int64Array:
        """int64[3 + R]: the row of ``sums`` of one shape."""
        last, width, row = self._last_added
        if last is not shape or width != self.resources.size:
            row = self.sums[shape.index]
            self._last_added = shape, self.resources.size, row
        return row

    @property
    def priorities(self) -> Int64Array:
        return self._priorities[: len(self.shapes)]

    def __len__(self) -> int:
        return len(self.shapes)

    def info(self, pod: Pod, *, bound: bool = False) -> PodInfo:
        """Wrap a pod; of a ``bound`` one, where it runs is no part of its shape.

        Raises SelectorError for an affinity term that upstream cannot parse.
        """
        meta, status = pod.metadata, pod.status
        if bound and pod.spec.node_name:
            pod = msgspec.structs.replace(pod, spec=unbound_spec(pod))
        key = f"{meta.namespace or 'default'}/{meta.name}"
        return PodInfo(
            pod,
            self._shape(pod),
            key,
            meta.uid or key,
            start_time(status.start_time),
            status.nominated_node_name or "",
        )

    def terminating(self, info: PodInfo, *, preempted: bool = True) -> PodInfo:
        """The pod once it is terminating, ``preempted`` or deleted by others."""
        meta = msgspec.structs.replace(info.pod.metadata, deletion_timestamp="now")
        if not preempted:
            return self.info(msgspec.structs.replace(info.pod, metadata=meta))
        condition = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
        status = msgspec.structs.replace(info.pod.status, conditions=[*(info.pod.status.conditions or ()), condition])
        return self.info(msgspec.structs.replace(info.pod, metadata=meta, status=status))

    def select_shapes(self, selection: Selection, first: int = 0) -> BoolArray:
        """bool[T - first]: which shapes, from the one numbered ``first`` on, a selection admits. Not to be changed.

        All terms that a pod insists on are one selection, and each of them asks for it.
        """
        last, of, mask = self._last_selected
        if last is selection and of == (first, len(self)):
            return mask
        mask = self._labels.matching(selection.selector, first)
        if selection.namespaces is not None:
            mask &= self._namespaces.among(selection.namespaces, first)
        if selection.staying:
            mask &= ~self._going.present(first)
        self._last_selected = (selection, (first, len(self)), mask)
        return mask

    def template_numbers(self, first: int = 0) -> IntpArray:
        """intp[T - first]: the template of each shape from the one numbered ``first`` on."""
        return self._template_numbers[first : len(self.shapes)]

    def holders(self, term: AffinityTerm) -> list[int]:
        """The templates that have an affinity term, as often as they have it."""
        return self._holders.get(term, [])

    def example(self, shape: PodShape) -> Pod:
        """Some pod of a shape."""
        return self._examples[shape.index]

    def drift_shape(self, info: PodInfo, sums: int) -> PodShape:
        """The shape of a pod whose requests have been added up ``sums`` times since it had ``info``'s."""
        spec = info.pod.spec
        assert spec.resources is not None
        requests = dict(spec.resources.requests or {})
        for name in info.shape.drift:
            for _ in range(sums):
                requests[name] += (spec.overhead or {})[name]
        resources = msgspec.structs.replace(spec.resources, requests=requests)
        info.pod = msgspec.structs.replace(info.pod, spec=msgspec.structs.replace(spec, resources=resources))
        return self._shape(info.pod)

    def _shape(self, pod: Pod) -> PodShape:
        labels = pod.metadata.labels
        key = (*labels, *labels.values()) if labels else ()
        last = self._alike.get(key, ())
        for place, shape in enumerate(last):
            if _surely_alike(pod, self._examples[shape.index]):
                if place:
                    self._alike[key] = shape, *last[:place], *last[place + 1 :]
                return shape
        shape = self._find_shape(pod)
        if not any(volume.ephemeral for volume in pod.spec.volumes or ()):
            self._alike[key] = shape, *last[: _LAST_SHAPES - 1]
        return shape

    def _find_shape(self, pod: Pod) -> PodShape:
        meta, status, spec = pod.metadata, pod.status, pod.spec
        controller = pod.controller
        # Claims of ephemeral volumes are named after the pod, so such pods are alike only to themselves.
        own = (meta.name, meta.uid) if any(v.ephemeral for v in spec.volumes or ()) else None
        resizes = _resize_state(status.container_statuses), _resize_state(status.init_container_statuses)
        resized = None
        if any(resizes) or status.resources:
            resized = (*resizes, status.resources, status.conditions, status.resize)
        key = self._encoder.encode(
            (
                meta.namespace,
                controller,
                meta.deletion_timestamp is not None,
                _without_made_up_names(spec),
                resized,
                status.allocated_resources,
                own,
            )
        )
        labels = meta.labels or {}
        template = self._template_of.get(key)
        if template is None:
            template = self._template_of[key] = self._template(pod, controller)
        look = (template.template, frozenset(labels.items()))
        shape = self._by_labels.get(look)
        if shape is None:
            alike = msgspec.structs.replace(template, index=len(self.shapes), labels=labels)
            shape = self._by_labels[look] = self._add(alike, template, pod)
        return shape

    def _template(self, pod: Pod, controller: OwnerReference | None) -> PodShape:
        """A new template, whose first shape is about to be added."""
        spec, features, namespace = pod.spec, self.features, pod.metadata.namespace or "default"
        affinity = spec.affinity or Affinity()
        near, far = affinity.pod_affinity, affinity.pod_anti_affinity
        whole = features.fit_scores_whole_pods
        rounded = rounded_requests(spec) if features.requests_add_up_as_integers else None
        template = PodShape(
            index=len(self.shapes),
            template=len(self.templates),
            labels=pod.metadata.labels or {},
            namespace=namespace,
            controller=controller,
            terminating=pod.metadata.deletion_timestamp is not None,
            spec=spec,
            priority=spec.priority or 0,
            requests=amounts(pod_requests(pod, features, with_status=False)) if rounded is None else rounded,
            score_requests=amounts(pod_requests(pod, features, with_status=True)) if rounded is None else rounded,
            fit_score_requests=amounts(
                pod_requests(pod, features, with_status=whole, pod_level=whole, missing=NON_ZERO)
            )
            if rounded is None
            else rounded_requests(spec, missing=NON_ZERO, overhead=not features.fit_scores_without_overhead),
            drift=overhead_drift(pod, features),
            ports=_host_ports(spec, features),
            node_affinity=RequiredNodeAffinity.from_pod_spec(spec),
            affinity=self.affinity.required_terms(near, namespace),
            anti_affinity=self.anti_affinity.required_terms(far, namespace),
            preferred_affinity=self.preferred_affinity.preferred_terms(near, namespace),
            preferred_anti_affinity=self.preferred_anti_affinity.preferred_terms(far, namespace),
        )
        self.resources.add((*template.score_requests, *template.requests))
        self.templates.append(template)
        for term in template.terms:
            self._holders.setdefault(term, []).append(template.template)
        return template

    def _add(self, shape: PodShape, template: PodShape, pod: Pod) -> PodShape:
        index = shape.index
        self.shapes.append(shape)
        self._examples.append(pod)
        self._labels.append(shape.labels)
        self._namespaces.append(shape.namespace)
        self._going.append("" if shape.terminating else None)
        if index >= len(self._priorities):
            self._template_numbers = _double(self._template_numbers)
            self._sums = _double(self._sums)
            self._priorities = _double(self._priorities)
        self._template_numbers[index] = shape.template
        if index == template.index:
            amounts_of = shape.score_requests
            self.requests[index, self.resources.columns(amounts_of)] = list(amounts_of.values())
            self.non_zero[index] = non_zero_requests(pod, self.features)
            self._sums[index, COUNT] = 1
            self._priorities[index] = shape.priority
        else:
            for matrix in (self._sums, self._priorities):
                matrix[index] = matrix[template.index]
        return shape


def _surely_alike(one: Pod, other: Pod) -> bool:
    """Whether two pods with the same labels and without ephemeral volumes have one shape; False where that is not sure.

    It is faster than to find out which shape a pod has, and pods often look like one of the last.
    """
    meta, other_meta = one.metadata, other.metadata
    return (
        meta.namespace == other_meta.namespace
        and meta.owner_references == other_meta.owner_references
        and (meta.deletion_timestamp is None) is (other_meta.deletion_timestamp is None)
        and one.spec == other.spec
        and (one.status == other.status or (_is_never_resized(one.status) and _is_never_resized(other.status)))
    )


def _is_never_resized(status: PodStatus) -> bool:
    """Whether nothing of the status is a part of the shape."""
    return not (
        status.container_statuses
        or status.init_container_statuses
        or status.resources
        or status.allocated_resources is not None
    )


def _resize_state(statuses: Sequence[ContainerStatus] | None) -> list[tuple[Any, ...]]:
    """The parts of container statuses that a resize changes; restarts and states are ignored."""
    return [
        (status.name, status.resources, status.allocated_resources)
        for status in statuses or ()
        if status.resources is not None or status.allocated_resources is not None
    ]


def _without_made_up_names(spec: PodSpec) -> PodSpec:
    """The spec without names that are generated for each pod.

    Those of device claims only DynamicResources reads, from the pod itself. Most volumes, such as
    ``kube-api-access-x7k2p``, consist of a name only, which no plugin reads.
    """
    if spec.resource_claims:
        spec = msgspec.structs.replace(spec, resource_claims=[PodResourceClaim() for _ in spec.resource_claims])
    volumes = [volume for volume in spec.volumes or () if is_read(volume)]
    if len(volumes) < len(spec.volumes or ()):
        spec = msgspec.structs.replace(spec, volumes=volumes or None)
    return spec


def _host_ports(spec: PodSpec, features: Features) -> tuple[HostPort, ...]:
    """Host ports held for the pod's whole life: containers and sidecars (upstream: util.GetHostPorts)."""
    initial = (spec.init_containers or ()) if features.sidecar_ports_count else ()
    sidecars = [c for c in initial if c.restart_policy == "Always"]
    return tuple(
        (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *(spec.containers or ()))
        for port in container.ports or ()
        if port.host_port and port.host_port > 0
    )


def _double(array: AnyArray) -> AnyArray:
    return np.concatenate([array, np.zeros_like(array)])


def widen_columns(matrix: Int64Array, width: int) -> Int64Array:
    """The matrix int64[n, m] with columns of zeros added: int64[n, width]."""
    wider = np.zeros((len(matrix), width), np.int64)
    wider[:, : matrix.shape[1]] = matrix
    return wider
