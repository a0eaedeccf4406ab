"""Pods that are all one to the scheduler: of one controller, with equal labels and equal specs.

Upstream: cluster-autoscaler/core/scaleup/equivalence/groups.go, simulator/scheduling/similar_pods.go and
PodSpecSemanticallyEqual in utils/utils.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import msgspec

from kwhatif.api.quantity import plain_quantity
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_world import is_of_daemon_set
from kwhatif.cluster.shapes import PodInfo, is_read
from kwhatif.framework.status import Status

_MOST_GROUPS = 10
"""Of one controller. Pods beyond those are alike only to themselves."""

_ENCODER = msgspec.msgpack.Encoder(enc_hook=plain_quantity)


@dataclass(slots=True, eq=False)
class PodGroup:
    """Pods that are alike; ``refused`` says why each node group does not fit them, ``fitting`` which ones do."""

    pods: list[PodInfo]
    refused: dict[str, Status] = field(default_factory=dict)
    fitting: list[str] = field(default_factory=list)

    @property
    def example(self) -> PodInfo:
        return self.pods[0]


def pod_groups(pods: Iterable[PodInfo]) -> list[PodGroup]:
    """The groups in the order of their first pods."""
    groups: list[PodGroup] = []
    by_look: dict[Hashable, PodGroup] = {}
    of_controller: dict[str, int] = {}
    looks = Looks()
    for pod in pods:
        look = looks.of(pod)
        group = by_look.get(look) if look is not None else None
        if group is not None:
            group.pods.append(pod)
            continue
        groups.append(PodGroup([pod]))
        if look is not None and of_controller.get(look[0], 0) < _MOST_GROUPS:
            of_controller[look[0]] = of_controller.get(look[0], 0) + 1
            by_look[look] = groups[-1]
    return groups


class SimilarPods:
    """Remembers pods that found no node, so that their like need not be tried."""

    def __init__(self) -> None:
        self._looks = Looks()
        self._failed: dict[str, set[Hashable]] = {}

    def failed_before(self, pod: PodInfo) -> bool:
        look = self._looks.of(pod, daemons=True)
        return look is not None and look in self._failed.get(look[0], ())

    def failed(self, pod: PodInfo) -> None:
        look = self._looks.of(pod)
        if look is not None:
            known = self._failed.setdefault(look[0], set())
            if len(known) < _MOST_GROUPS:
                known.add(look)


class Looks:
    """What makes pods alike, worked out once a shape."""

    def __init__(self) -> None:
        self._of_shape: dict[int, tuple[str, frozenset[tuple[str, str]], bytes]] = {}

    def of(self, pod: PodInfo, *, daemons: bool = False) -> tuple[str, frozenset[tuple[str, str]], bytes] | None:
        """Controller, labels and spec; None for pods that are like no other, which those of daemon sets are, too."""
        shape = pod.shape
        controller = shape.controller
        if controller is None or (not daemons and is_of_daemon_set(pod.pod)):
            return None
        look = self._of_shape.get(shape.index)
        if look is None:
            volumes = [volume for volume in shape.spec.volumes or () if is_read(volume)]
            spec = _ENCODER.encode(msgspec.structs.replace(shape.spec, volumes=volumes or None))
            look = self._of_shape[shape.index] = (controller.uid or "", frozenset(shape.labels.items()), spec)
        return look
