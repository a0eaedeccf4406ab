"""What controllers make when one of their pods is evicted: a replacement, and the claims of ephemeral volumes and of
device templates.

Replica sets, replication controllers and jobs make a new pod as soon as the old one is terminating; stateful sets and
daemon sets wait until its name (or node) is free. Upstream: pkg/controller/{replicaset,job,statefulset,daemon}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod, PodSpec, PodStatus
from kwhatif.api.meta import OwnerReference
from kwhatif.bounds import make_room
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_bound_pods import BOUND_TO_NODES
from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo, PodShape
from kwhatif.cluster.unbound_spec import unbound_spec
from kwhatif.cluster.unknown_storage import stand_in_for_unknown
from kwhatif.workloads.job_failures import JobBackoffs
from kwhatif.workloads.pod_claims import device_claims, ephemeral_claims
from kwhatif.workloads.stateful_set import REVISION
from kwhatif.workloads.volumes import complete_provisioning, provision_claim

GRACE_PERIOD = 30
REPLACED_ON_EVICTION = ("ReplicaSet", "ReplicationController", "Job")
REPLACED_AFTER_DELETION = ("StatefulSet", "DaemonSet")


def grace_of(pod: PodInfo) -> int:
    """Seconds from its deletion until the pod is gone: its grace period."""
    seconds = pod.shape.spec.termination_grace_period_seconds
    return GRACE_PERIOD if seconds is None else seconds


def is_made_again(pod: Pod) -> bool:
    """Whether its controller makes a pod in the place of this one. Whom it has replaced already it does not."""
    owner = pod.controller
    if owner is None:
        return False
    at_once = owner.kind in REPLACED_ON_EVICTION and not pod.metadata.deletion_timestamp
    return at_once or owner.kind in REPLACED_AFTER_DELETION


def is_made_elsewhere(info: PodInfo) -> bool:
    """Whether its controller makes a pod in the place of this one on another node."""
    owner = info.shape.controller
    if owner is None or owner.kind in BOUND_TO_NODES:
        return False
    return owner.kind in REPLACED_AFTER_DELETION or (owner.kind in REPLACED_ON_EVICTION and not info.shape.terminating)


class Replacements(msgspec.Struct):
    """Makes replacements with names that are stable and readable: ``web-5d4c-r1``.

    Names (``namespace/name``) that are ``taken`` are passed over. ``evicting``: they may evict others, as their
    priority and preemptionPolicy say; else they never do. ``renewed`` are the pods that come in the place of those of
    an older revision, by the key and the revision of these. A job's come after ``backoffs``.
    """

    taken: Callable[[str], bool] = msgspec.field(default=lambda key: False)
    evicting: bool = True
    renewed: Mapping[tuple[str, str], Pod] = {}
    backoffs: JobBackoffs = msgspec.field(default_factory=JobBackoffs)
    _made: dict[str, int] = {}
    _shapes: dict[int, PodShape] = {}
    _specs: dict[int, PodSpec] = {}

    def begin_anew(self) -> None:
        """Count names from the first again, since what was made is gone."""
        self._made.clear()

    def replace_lost(self, pods: Iterable[PodInfo], cluster: Cluster) -> list[tuple[PodInfo, PodInfo]]:
        """Each of the pods that is recreated elsewhere, with the one in its place, which has its claims."""
        made = ((old, self.replacement_of(old.pod)) for old in pods if is_made_elsewhere(old))
        return [(old, self.wrap(old, again, cluster)) for old, again in made if again is not None]

    def wrap(self, old: PodInfo, again: Pod, cluster: Cluster) -> PodInfo:
        """A replacement with its claims in the cluster. Pods of one shape are alike afterwards as they were before, so
        they are looked through once.
        """
        complete_provisioning(old.pod, cluster)
        if self._renewal_of(old.pod) is not None:
            policy = again.spec.preemption_policy if self.evicting else "Never"
            again = replace(again, spec=replace(again.spec, preemption_policy=policy))
            return cluster.shapes.info(with_claims(again, cluster))
        shape = self._shapes.get(old.shape.index)
        if not self.evicting:
            spec = self._specs.get(old.shape.index) or replace(again.spec, preemption_policy="Never")
            again = replace(again, spec=spec)
        if shape is None:
            info = cluster.shapes.info(with_claims(again, cluster))
            if not (again.spec.resource_claims or any(volume.ephemeral for volume in again.spec.volumes or ())):
                self._shapes[old.shape.index], self._specs[old.shape.index] = info.shape, again.spec
            return info
        meta = again.metadata
        key = f"{meta.namespace or 'default'}/{meta.name}"
        return PodInfo(again, shape, key, meta.uid or key, NEVER_STARTED)

    def replacement_of(self, pod: Pod) -> Pod | None:
        """The replacement that exists in the end, at whatever time its controller makes it."""
        owner = pod.controller
        if owner is None or not is_made_again(pod):
            return None
        return self._make_namesake(pod) if owner.kind in REPLACED_AFTER_DELETION else self._make_numbered(pod, owner)

    def replace_on_eviction(self, victim: PodInfo) -> Pod | None:
        """The pod made when the victim begins to terminate."""
        owner = victim.shape.controller
        if owner is None or owner.kind not in REPLACED_ON_EVICTION:
            return None
        return self._make_numbered(victim.pod, owner)

    def replace_after_deletion(self, victim: PodInfo) -> Pod | None:
        """The pod made when the victim is gone; it has the same name."""
        owner = victim.shape.controller
        if owner is None or owner.kind not in REPLACED_AFTER_DELETION:
            return None
        return self._make_namesake(victim.pod)

    def _make_numbered(self, pod: Pod, owner: OwnerReference) -> Pod:
        key = f"{pod.namespace}/{owner.kind}/{owner.name}"
        number = self._made.get(key, 0) + 1
        while self.taken(f"{pod.namespace}/{owner.name}-r{number}"):
            number += 1
        self._made[key] = number
        return _fresh(pod, f"{owner.name}-r{number}", f"-r{number}")

    def _make_namesake(self, pod: Pod) -> Pod:
        key = f"again/{pod.key}"
        number = self._made[key] = self._made.get(key, 0) + 1
        return _fresh(self._renewal_of(pod) or pod, pod.name, f"-again{number}")

    def _renewal_of(self, pod: Pod) -> Pod | None:
        return self.renewed.get((pod.key, (pod.metadata.labels or {}).get(REVISION, ""))) if self.renewed else None


def _fresh(pod: Pod, name: str, suffix: str) -> Pod:
    make_room(1, f"pods recreated, {pod.namespace}/{name}")
    meta = replace(
        pod.metadata,
        name=name,
        uid=f"{pod.identity}{suffix}",
        deletion_timestamp=None,
        creation_timestamp=None,
    )
    return replace(pod, metadata=meta, spec=unbound_spec(pod), status=PodStatus(phase="Pending"))


def with_claims_again(old: PodInfo, pod: Pod, cluster: Cluster) -> Pod:
    """A pod in the place of an old one, with the claims that it had."""
    complete_provisioning(old.pod, cluster)
    return with_claims(pod, cluster)


def with_claims(pod: Pod, cluster: Cluster) -> Pod:
    """The pod with its claims in the cluster, and in its status where that names them."""
    for claim in ephemeral_claims(pod):
        provision_claim(cluster.storage, claim)
    stand_in_for_unknown(pod, cluster.storage)
    if not pod.spec.resource_claims:
        return pod
    devices, namespace = cluster.devices, pod.metadata.namespace or "default"
    statuses = list(pod.status.resource_claim_statuses or ())
    for status, made in device_claims(
        pod,
        lambda name: devices.templates.get((namespace, name)),
        lambda name: (namespace, name) in devices.claims,
    ):
        devices.put(made)
        statuses.append(status)
    return replace(pod, status=replace(pod.status, resource_claim_statuses=statuses or None))
