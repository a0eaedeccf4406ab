"""Pods that existed without a node when they were loaded, for plugins that list pods by a label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from kwhatif.api.core import Pod

_NOBODY: Mapping[str, Pod] = MappingProxyType({})


class UnboundPods:
    """By uid, until they are deleted; one that has got a node stays among them."""

    def __init__(self, pods: Iterable[Pod] = ()) -> None:
        self._pods: dict[str, Pod] = {}
        self._by_label: dict[str, dict[str, dict[str, Pod]]] = {}
        for pod in pods:
            self.add(pod)

    def __iter__(self) -> Iterator[Pod]:
        return iter(self._pods.values())

    def add(self, pod: Pod) -> None:
        self._pods[pod.identity] = pod
        for label, by_value in self._by_label.items():
            _file(by_value, label, pod)

    def discard(self, uid: str) -> None:
        """Remove the pod, if it is among them."""
        pod = self._pods.pop(uid, None)
        if pod is not None:
            for label, by_value in self._by_label.items():
                by_value.get(_key(label, pod), {}).pop(uid, None)

    def pods_with_label(self, label: str, key: str) -> Mapping[str, Pod]:
        """The pods of one namespace with one value of a label, by uid; ``key`` is ``namespace/value``."""
        by_value = self._by_label.get(label)
        if by_value is None:
            by_value = self._by_label[label] = {}
            for pod in self._pods.values():
                _file(by_value, label, pod)
        return by_value.get(key, _NOBODY)

    def copy(self) -> UnboundPods:
        return UnboundPods(self._pods.values())


def _key(label: str, pod: Pod) -> str:
    value = (pod.metadata.labels or {}).get(label, "")
    return f"{pod.namespace or 'default'}/{value}" if value else ""


def _file(by_value: dict[str, dict[str, Pod]], label: str, pod: Pod) -> None:
    key = _key(label, pod)
    if key:
        by_value.setdefault(key, {})[pod.identity] = pod
