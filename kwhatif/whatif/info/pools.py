"""Which pool and zone a node belongs to, by the labels that those who make nodes put on them; whether it takes pods."""

from __future__ import annotations

from kwhatif.api.core import Node

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
    found = _first(labels, POOL_LABELS)
    if not found:
        found = ",".join(sorted(key.removeprefix(ROLE_PREFIX) for key in labels if key.startswith(ROLE_PREFIX)))
    return found or type_of(node)


def type_of(node: Node) -> str:
    """The machine type, or nothing."""
    return _first(node.metadata.labels or {}, TYPE_LABELS)


def zone_of(node: Node) -> str:
    """The zone, or nothing."""
    return _first(node.metadata.labels or {}, ZONE_LABELS)


def is_ready(node: Node) -> bool:
    """Whether no condition says otherwise."""
    return all(each.status == "True" for each in node.status.conditions or () if each.type == "Ready")


def _first(labels: dict[str, str], keys: tuple[str, ...]) -> str:
    return next((labels[key] for key in keys if labels.get(key)), "")
