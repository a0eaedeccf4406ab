"""Which pods a StatefulSet has not made yet: with OrderedReady each waits until those before it are ready.

Here a pod is ready once it has a node. Upstream: processReplica of pkg/controller/statefulset/stateful_set_control.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property

from kwhatif.api.core import Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.workloads_and_storage import StatefulSet
from kwhatif.cluster.shapes import PodInfo

_KIND = "StatefulSet"
FindPod = Callable[[str], tuple[PodInfo, int] | None]
"""The pod of a uid that has a node, and the row of that."""


class CreationTurns:
    """The turns of pods that come into being during a run.

    Those among the ``objects`` exist already, but for those (``namespace/name``) ``made_later``.
    """

    def __init__(self, objects: Objects, made_later: Collection[str] = ()) -> None:
        self._objects, self._made_later = objects, frozenset(made_later)
        self._uids: dict[str, set[str]] = {}

    @cached_property
    def _first_ordinals(self) -> dict[tuple[str, str], int]:
        """The first ordinal of each set that makes its pods in order, by namespace and name."""
        return {
            (stateful_set.namespace, stateful_set.name): 0
            if stateful_set.spec.ordinals is None
            else stateful_set.spec.ordinals.start or 0
            for stateful_set in self._objects.list_all(StatefulSet)
            if stateful_set.spec.pod_management_policy != "Parallel"
        }

    @cached_property
    def _there(self) -> set[str]:
        """The uids of the pods that exist."""
        uids = set()
        for pod in self._objects.list_all(Pod):
            owner = pod.controller
            if owner is not None and owner.kind == _KIND and pod.key not in self._made_later:
                uids.add(pod.identity)
                self._uids.setdefault(pod.key, set()).add(pod.identity)
        return uids

    def concerns(self, pod: PodInfo) -> bool:
        """Whether a set makes the pod in its turn."""
        owner = pod.shape.controller
        return owner is not None and owner.kind == _KIND and self._set_of(pod, owner.name) in self._first_ordinals

    def predecessor(self, pod: PodInfo, find: FindPod) -> str:
        """The pod (``namespace/name``) before this one that is not ready; empty if it is this one's turn, or over."""
        owner = pod.shape.controller
        if owner is None or owner.kind != _KIND or pod.uid in self._there:
            return ""
        first = self._first_ordinals.get(self._set_of(pod, owner.name))
        prefix, _, ordinal = pod.key.rpartition("-")
        if first is None or prefix != f"{pod.shape.namespace}/{owner.name}" or not ordinal.isdecimal():
            return ""
        self._uids.setdefault(pod.key, set()).add(pod.uid)
        for number in range(first, int(ordinal)):
            key = f"{prefix}-{number}"
            if not any(_is_ready(find(uid)) for uid in self._uids.get(key, ())):
                return key
        return ""

    @staticmethod
    def _set_of(pod: PodInfo, name: str | None) -> tuple[str, str]:
        return pod.shape.namespace, name or ""


def _is_ready(entry: tuple[PodInfo, int] | None) -> bool:
    return entry is not None and not entry[0].shape.terminating
