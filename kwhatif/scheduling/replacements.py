"""What controllers do when one of their pods leaves: the pod that comes in its place.

Replica sets, replication controllers and jobs make a new pod as soon as the old one is told to go; stateful sets
and daemon sets wait until its name (or node) is free. Upstream: pkg/controller/{replicaset,job,statefulset,daemon}.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from kwhatif.api.core import Pod, PodStatus
from kwhatif.cluster.shapes import PodInfo

__all__ = ["GRACE_PERIOD", "Replacements", "grace_of"]

GRACE_PERIOD = 30
AT_ONCE = ("ReplicaSet", "ReplicationController", "Job")
ONCE_GONE = ("StatefulSet", "DaemonSet")


def grace_of(pod: PodInfo) -> int:
    """Seconds from being told to go until the pod is gone."""
    seconds = pod.shape.spec.termination_grace_period_seconds
    return GRACE_PERIOD if seconds is None else seconds


@dataclass
class Replacements:
    """Makes replacements with names that are stable and readable: ``web-5d4c-r1``."""

    _made: dict[str, int] = field(default_factory=dict)

    def at_once(self, victim: PodInfo) -> Pod | None:
        """The pod made when the victim is told to go."""
        owner = victim.shape.controller
        if owner is None or owner.kind not in AT_ONCE:
            return None
        key = f"{victim.shape.namespace}/{owner.kind}/{owner.name}"
        number = self._made[key] = self._made.get(key, 0) + 1
        return _fresh(victim.pod, f"{owner.name}-r{number}", f"-r{number}")

    def once_gone(self, victim: PodInfo) -> Pod | None:
        """The pod made when the victim is gone; it has the same name."""
        owner = victim.shape.controller
        if owner is None or owner.kind not in ONCE_GONE:
            return None
        key = f"again/{victim.key}"
        number = self._made[key] = self._made.get(key, 0) + 1
        return _fresh(victim.pod, victim.pod.name, f"-again{number}")


def _fresh(pod: Pod, name: str, suffix: str) -> Pod:
    meta = replace(
        pod.metadata,
        name=name,
        uid=f"{pod.metadata.uid or pod.key}{suffix}",
        deletion_timestamp=None,
        creation_timestamp=None,
    )
    return replace(pod, metadata=meta, spec=replace(pod.spec, node_name=None), status=PodStatus(phase="Pending"))
