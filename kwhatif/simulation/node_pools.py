"""Pool, zone and readiness of nodes by well-known labels and conditions, and sums of requests.

The sums work on clusters that cannot be loaded, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.api.quantity import plain_quantity
from kwhatif.cluster.pod_requests import amounts, pod_requests
from kwhatif.versions import Features

POOL_LABELS = (
    "karpenter.sh/nodepool",
    "karpenter.sh/provisioner-name",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "hypershift.openshift.io/nodePool",
    "kops.k8s.io/instancegroup",
    "ibm-cloud.kubernetes.io/worker-pool-name",
    "doks.digitalocean.com/node-pool",
    "lke.linode.com/pool-id",
    "k8s.scaleway.com/pool-name",
    # What people call their own; clouds have theirs besides.
    *("node-pool", "nodepool", "node-group", "nodegroup", "pool"),
)
ROLE_PREFIX = "node-role.kubernetes.io/"
TYPE_LABELS = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def pool_of(node: Node, by: str = "") -> str:
    """The value of the label ``by``; without one, of the first label of a node pool, else roles, else the machine type.

    Empty if the node has none of them.
    """
    labels = node.metadata.labels or {}
    if by:
        return labels.get(by, "")
    pool = _first(labels, POOL_LABELS)
    if not pool:
        pool = ",".join(sorted(key.removeprefix(ROLE_PREFIX) for key in labels if key.startswith(ROLE_PREFIX)))
    return pool or type_of(node)


def pool_selector_of(node: Node) -> str:
    """A label selector of the nodes of its pool, or nothing."""
    labels = node.metadata.labels or {}
    keys = [key for key in POOL_LABELS if labels.get(key)][:1]
    if not keys and (roles := sorted(key for key in labels if key.startswith(ROLE_PREFIX))):
        return ",".join(roles)
    keys = keys or [key for key in TYPE_LABELS if labels.get(key)][:1]
    return f"{keys[0]}={labels[keys[0]]}" if keys else ""


def type_of(node: Node) -> str:
    """The machine type, or nothing."""
    return _first(node.metadata.labels or {}, TYPE_LABELS)


def zone_of(node: Node) -> str:
    """The zone, or nothing."""
    return _first(node.metadata.labels or {}, ZONE_LABELS)


def _first(labels: dict[str, str], keys: tuple[str, ...]) -> str:
    for key in keys:
        if label := labels.get(key):
            return label
    return ""


class RequestSums:
    """Requests of pods by resource name, millicores for cpu; worked out once for all pods with the same containers."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._known: dict[bytes, Mapping[str, int]] = {}
        self._encoder = msgspec.msgpack.Encoder(enc_hook=plain_quantity)

    def requests_of(self, pod: Pod) -> Mapping[str, int]:
        """What the pod adds to its node, resizes counted."""
        spec, status = pod.spec, pod.status
        resized = status.container_statuses or status.init_container_statuses or status.resources
        key = self._encoder.encode(
            (
                spec.containers,
                spec.init_containers,
                spec.resources,
                spec.overhead,
                status if resized or status.allocated_resources else None,
            )
        )
        requests = self._known.get(key)
        if requests is None:
            requests = self._known[key] = amounts(pod_requests(pod, self._features, with_status=True))
        return requests


def allocatable_of(node: Node) -> dict[str, int]:
    """What a node has for pods, in units as ``Requests`` has them, and how many may run there."""
    most = node.status.for_pods.get("pods")
    return {**amounts(node.status.for_pods), "pods": most.value() if most else 0}


_FIRST = ("cpu", "memory", "ephemeral-storage", "pods")


def resource_order_of(resource: str) -> tuple[int, str]:
    """The order in which people look for resources; those that not every node has follow by name."""
    return (_FIRST.index(resource), "") if resource in _FIRST else (len(_FIRST), resource)


def pods_by_node(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """Node name -> the unfinished pods bound to it."""
    pods_of: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.spec.node_name and not pod.is_finished:
            pods_of.setdefault(pod.spec.node_name, []).append(pod)
    return pods_of
