"""All shapes of pods met so far, numbered, and what is known of them as arrays."""

from __future__ import annotations

import msgspec
import numpy as np

from kwhatif.api.core import Affinity, Condition, Pod, PodAffinity, PodResourceClaim, PodSpec
from kwhatif.api.meta import OwnerReference
from kwhatif.api.quantity import plain_quantity
from kwhatif.api.selectors import RequiredNodeAffinity
from kwhatif.cluster.axis import ResourceAxis
from kwhatif.cluster.requests import (
    NON_ZERO,
    amounts,
    non_zero_requests,
    overhead_drift,
    pod_requests,
    rounded_requests,
)
from kwhatif.cluster.shapes import AffinityTerm, HostPort, PodInfo, PodShape, is_read, start_time
from kwhatif.cluster.types import Int64Array
from kwhatif.versions import Features

__all__ = ["ShapeTable"]


class ShapeTable:
    """All shapes met so far, ``affine`` those with pod affinity terms, and their numbers as arrays.

    ``requests`` int64[T, R] and ``non_zero`` int64[T, 2] are what a pod of the shape adds to its node;
    ``priorities`` int64[T].
    """

    def __init__(self, features: Features) -> None:
        self.features = features
        self.resources = ResourceAxis()
        self.shapes: list[PodShape] = []
        self.affine: list[PodShape] = []
        self._examples: list[Pod] = []
        self._by_key: dict[bytes, PodShape] = {}
        self._requests = np.zeros((16, 8), np.int64)
        self._non_zero = np.zeros((16, 2), np.int64)
        self._priorities = np.zeros(16, np.int64)
        self._encoder = msgspec.msgpack.Encoder(enc_hook=plain_quantity)

    @property
    def requests(self) -> Int64Array:
        if len(self.resources) > self._requests.shape[1]:
            wider = np.zeros((len(self._requests), 2 * len(self.resources)), np.int64)
            wider[:, : self._requests.shape[1]] = self._requests
            self._requests = wider
        return self._requests[: len(self.shapes), : len(self.resources)]

    @property
    def non_zero(self) -> Int64Array:
        return self._non_zero[: len(self.shapes)]

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
            pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=None))
        key = f"{meta.namespace or 'default'}/{meta.name}"
        return PodInfo(
            pod,
            self._shape(pod),
            key,
            meta.uid or key,
            start_time(status.start_time),
            status.nominated_node_name or "",
        )

    def terminating(self, info: PodInfo) -> PodInfo:
        """The pod after it was told to go."""
        meta = msgspec.structs.replace(info.pod.metadata, deletion_timestamp="now")
        condition = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
        status = msgspec.structs.replace(info.pod.status, conditions=[*(info.pod.status.conditions or ()), condition])
        return self.info(msgspec.structs.replace(info.pod, metadata=meta, status=status))

    def without_gates(self, info: PodInfo) -> PodInfo:
        """The pod after its scheduling gates were removed."""
        spec = msgspec.structs.replace(info.pod.spec, scheduling_gates=None)
        return self.info(msgspec.structs.replace(info.pod, spec=spec))

    def example(self, shape: PodShape) -> Pod:
        """Some pod of a shape."""
        return self._examples[shape.index]

    def drifted(self, info: PodInfo, sums: int) -> PodShape:
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
        meta, status, spec = pod.metadata, pod.status, pod.spec
        controller = pod.controller
        # Claims of ephemeral volumes are named after the pod, so such pods are alike only to themselves.
        own = (meta.name, meta.uid) if any(v.ephemeral for v in spec.volumes or ()) else None
        resized = (
            (
                status.container_statuses,
                status.init_container_statuses,
                status.resources,
                status.conditions,
                status.resize,
            )
            if status.container_statuses or status.init_container_statuses or status.resources
            else None
        )
        key = self._encoder.encode(
            (
                meta.namespace,
                sorted((meta.labels or {}).items()),
                controller,
                meta.deletion_timestamp is not None,
                _without_made_up_names(spec),
                resized,
                status.allocated_resources,
                own,
            )
        )
        shape = self._by_key.get(key)
        if shape is None:
            shape = self._by_key[key] = self._make(pod, controller)
        return shape

    def _make(self, pod: Pod, controller: OwnerReference | None) -> PodShape:
        spec, features, namespace = pod.spec, self.features, pod.metadata.namespace or "default"
        affinity = spec.affinity or Affinity()
        near, far = affinity.pod_affinity, affinity.pod_anti_affinity
        whole = features.fit_scores_whole_pods
        rounded = rounded_requests(spec) if features.requests_add_up_as_integers else None
        shape = PodShape(
            index=len(self.shapes),
            namespace=namespace,
            labels=pod.metadata.labels or {},
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
            node_affinity=RequiredNodeAffinity.of(spec),
            affinity=_required(near, namespace),
            anti_affinity=_required(far, namespace),
            preferred_affinity=_preferred(near, namespace),
            preferred_anti_affinity=_preferred(far, namespace),
        )
        self.shapes.append(shape)
        if shape.has_affinity_terms:
            self.affine.append(shape)
        self._examples.append(pod)
        self._store(shape, non_zero_requests(pod, features))
        return shape

    def _store(self, shape: PodShape, non_zero: tuple[int, int]) -> None:
        if shape.index >= len(self._priorities):
            self._requests = _doubled(self._requests)
            self._non_zero = _doubled(self._non_zero)
            self._priorities = _doubled(self._priorities)
        columns = [(self.resources.column(name), amount) for name, amount in shape.score_requests.items()]
        row = self.requests[shape.index]
        for column, amount in columns:
            row[column] = amount
        self._non_zero[shape.index] = non_zero
        self._priorities[shape.index] = shape.priority
        for name in shape.requests:
            self.resources.column(name)


def _without_made_up_names(spec: PodSpec) -> PodSpec:
    """The spec without names that are made up anew for each pod.

    Those of device claims only DynamicResources reads, from the pod itself. Of most volumes, such as
    ``kube-api-access-x7k2p``, there is nothing but a name, which no plugin reads.
    """
    if spec.resource_claims:
        spec = msgspec.structs.replace(spec, resource_claims=[PodResourceClaim() for _ in spec.resource_claims])
    volumes = [volume for volume in spec.volumes or () if is_read(volume)]
    if len(volumes) < len(spec.volumes or ()):
        spec = msgspec.structs.replace(spec, volumes=volumes or None)
    return spec


def _required(side: PodAffinity | None, namespace: str) -> tuple[AffinityTerm, ...]:
    terms = side.required_during_scheduling_ignored_during_execution if side else None
    return tuple(AffinityTerm.of(term, namespace) for term in terms or ())


def _preferred(side: PodAffinity | None, namespace: str) -> tuple[AffinityTerm, ...]:
    terms = side.preferred_during_scheduling_ignored_during_execution if side else None
    return tuple(AffinityTerm.of(t.pod_affinity_term, namespace, t.weight) for t in terms or ())


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


def _doubled(array: Int64Array) -> Int64Array:
    return np.concatenate([array, np.zeros_like(array)])
