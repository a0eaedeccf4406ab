"""The pods without a node that are to get room on one, since their victims leave it.

Upstream: pkg/scheduler/backend/queue/nominator.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kwhatif.cluster.shapes import PodInfo

T = TypeVar("T")


class Nominations(Mapping[str, Sequence[PodInfo]]):
    """By node, the pods nominated there, in the order in which they were.

    version   how often a nomination came or went
    """

    def __init__(self) -> None:
        self.version = 0
        self._pods: dict[str, list[PodInfo]] = {}
        self._nodes: dict[str, str] = {}
        self._derived: dict[int, tuple[object, Any]] = {}

    def __getitem__(self, node: str) -> Sequence[PodInfo]:
        return self._pods[node]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pods)

    def __len__(self) -> int:
        return len(self._pods)

    def add(self, info: PodInfo, node: str) -> None:
        """Nominate a pod, which is nominated to no other node."""
        self._pods.setdefault(node, []).append(info)
        self._nodes[info.uid] = node
        self._change()

    def remove(self, uid: str) -> None:
        """Forget the nomination of a pod, if there is one."""
        node = self._nodes.pop(uid, None)
        if node is None:
            return
        self._pods[node] = [info for info in self._pods[node] if info.uid != uid]
        if not self._pods[node]:
            del self._pods[node]
        self._change()

    def remove_nodes(self, names: Collection[str]) -> None:
        """Forget who is nominated to these nodes."""
        for uid in [info.uid for name in names for info in self._pods.get(name, ())]:
            self.remove(uid)

    def derive(self, pod: PodInfo, state: object, compute: Callable[[Mapping[str, Sequence[PodInfo]]], T]) -> T:
        """What is computed of the other pods, by node, that are nominated there and whose priority is not below this
        pod's. It is kept while they and the ``state`` are the same.
        """
        if pod.uid in self._nodes:
            return compute(self._list_preceding(pod))
        kept = self._derived.get(pod.priority)
        if kept is None or kept[0] != state:
            kept = self._derived[pod.priority] = state, compute(self._list_preceding(pod))
        derived: T = kept[1]
        return derived

    def _list_preceding(self, pod: PodInfo) -> dict[str, list[PodInfo]]:
        listed = {
            node: [info for info in infos if info.priority >= pod.priority and info.uid != pod.uid]
            for node, infos in self._pods.items()
        }
        return {node: infos for node, infos in listed.items() if infos}

    def copy(self) -> Nominations:
        """An independent copy of the same version."""
        twin = Nominations()
        twin.version, twin._nodes = self.version, dict(self._nodes)
        twin._pods = {node: list(infos) for node, infos in self._pods.items()}
        return twin

    def checkpoint(self) -> list[tuple[PodInfo, str]]:
        """Who is nominated to which node."""
        return [(info, node) for node, infos in self._pods.items() for info in infos]

    def go_back(self, to: Sequence[tuple[PodInfo, str]]) -> None:
        """Restore the nominations of a checkpoint; the version goes on."""
        for infos in self._pods.values():
            for info in infos:
                info.nominated = ""
        self._pods.clear()
        self._nodes.clear()
        self._change()
        for info, node in to:
            info.nominated = node
            self.add(info, node)

    def _change(self) -> None:
        self.version += 1
        self._derived.clear()
