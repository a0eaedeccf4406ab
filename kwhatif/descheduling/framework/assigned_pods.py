"""Nodes and the pods on them, as the descheduler's informers have them: what is evicted is gone at once.

Nodes are in the order of their names, the pods of a node by namespace and name, where upstream leaves the order to
chance. Amounts are exact: integers of billionths, the finest that a quantity can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.api.quantity import plain_quantity
from kwhatif.cluster.pod_requests import pod_requests
from kwhatif.versions import Features

Amounts = Mapping[str, int]
"""Resource -> billionths of its unit."""

NANO = 10**9


def is_running(pod: Pod) -> bool:
    """Whether it takes room on its node: neither succeeded nor failed."""
    return not pod.is_finished


def key_order(pod: Pod) -> tuple[str, str]:
    return pod.namespace, pod.name


class AssignedPods:
    """All nodes of a cluster, and its pods by node. ``all_nodes`` are in the order of their names."""

    def __init__(self, nodes: Iterable[Node], pods: Iterable[Pod], features: Features) -> None:
        self.all_nodes = sorted(nodes, key=lambda node: node.name)
        self.by_name = {node.name: node for node in self.all_nodes}
        self._features = features
        self._pods: dict[str, dict[str, Pod]] = {}
        self._owned: Counter[str] = Counter()
        self._requests: dict[bytes, dict[str, int]] = {}
        self._by_pod: dict[str, dict[str, int]] = {}
        self._encoder = msgspec.msgpack.Encoder(enc_hook=plain_quantity)
        self._heard: list[Callable[[Pod], None]] = []
        for pod in sorted(pods, key=key_order):
            self._owned.update(owner_uids(pod))
            if pod.spec.node_name:
                self._pods.setdefault(pod.spec.node_name, {})[pod.key] = pod

    def of(self, node: str) -> Sequence[Pod]:
        """All pods of a node, whatever their phase (upstream: ListAllPodsOnANode)."""
        return list(self._pods.get(node, {}).values())

    def running(self, node: str) -> list[Pod]:
        """The pods of a node that take room (upstream: ListPodsOnANode)."""
        return [pod for pod in self._pods.get(node, {}).values() if is_running(pod)]

    def __contains__(self, pod: Pod) -> bool:
        return pod.key in self._pods.get(pod.spec.node_name or "", {})

    def __iter__(self) -> Iterator[Pod]:
        for pods in self._pods.values():
            yield from pods.values()

    def owned_by(self, uid: str) -> int:
        """How many pods of any phase, with a node or without, have this owner."""
        return self._owned[uid]

    def remove(self, pod: Pod) -> None:
        """A pod is evicted."""
        del self._pods[pod.spec.node_name or ""][pod.key]
        self._owned.subtract(owner_uids(pod))
        for hear in self._heard:
            hear(pod)

    def on_removal(self, hear: Callable[[Pod], None]) -> None:
        """Have a function called with every pod that goes from now on."""
        self._heard.append(hear)

    def requests(self, pod: Pod) -> dict[str, int]:
        """What a pod asks for, in billionths; worked out once for all pods with the same containers."""
        requests = self._by_pod.get(pod.key)
        if requests is None:
            spec = pod.spec
            key = self._encoder.encode((spec.containers, spec.init_containers, spec.resources, spec.overhead))
            requests = self._requests.get(key)
            if requests is None:
                amounts = pod_requests(pod, self._features, with_status=False)
                requests = self._requests[key] = {name: quantity.nano() for name, quantity in amounts.items()}
            self._by_pod[pod.key] = requests
        return requests

    def requests_on(self, node: str) -> dict[str, int]:
        """What the running pods of a node ask for together, in billionths."""
        total: dict[str, int] = {}
        for pod in self.running(node):
            for name, amount in self.requests(pod).items():
                total[name] = total.get(name, 0) + amount
        return total


def owner_uids(pod: Pod) -> list[str]:
    return [owner.uid or "" for owner in pod.metadata.owner_references or ()]


def unit_value(amount: int) -> int:
    """Whole units of billionths, rounded up (upstream: Quantity.Value)."""
    return -(-amount // NANO)


def milli_value(amount: int) -> int:
    """Thousandths of billionths, rounded up (upstream: Quantity.MilliValue)."""
    return -(-amount // 10**6)
