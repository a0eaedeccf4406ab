"""Node groups that a snapshot shows: by the labels that clouds put on nodes, and by the autoscaler's own flags.

Labels tell no sizes, so a maximum is only known where the autoscaler's Deployment has it (``--nodes=min:max:name``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kwhatif.api.core import Node
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import FLAGS
from kwhatif.snapshot.format.model import API_VERSION, Snapshot
from kwhatif.whatif.autoscale.node_groups_document import KIND, Group, Members, NodeGroupsFile
from kwhatif.whatif.autoscale.own_deployment import own_deployment

_ZONE = "topology.kubernetes.io/zone"
_LABELS = (
    ("eks.amazonaws.com/nodegroup",),
    ("alpha.eksctl.io/nodegroup-name",),
    ("cloud.google.com/gke-nodepool", _ZONE),
    ("kubernetes.azure.com/agentpool",),
    ("agentpool",),
    ("kops.k8s.io/instancegroup",),
    ("doks.digitalocean.com/node-pool",),
    ("lke.linode.com/pool-id",),
    ("k8s.scaleway.com/pool-name",),
)
"""What names a node's group: the first of these that it has. GKE's groups are of one zone each."""

_GPU_LABELS = ("cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator", "accelerator")
_LISTS = ("expander", "balancing-ignore-label", "balancing-label", "startup-taint", "status-taint", "ignore-taint")


def found_groups(snapshot: Snapshot) -> NodeGroupsFile:
    """All that is found, each group with the word where."""
    nodes = snapshot.objects.of(Node)
    flags, sizes, source = _of_the_deployment(snapshot)
    groups = {group.name: group for group in _by_labels(nodes, sizes)}
    for name, (least, most) in sizes.items():
        groups.setdefault(name, Group(name=name, min=least, max=most, source=source))
    label = next((label for label in _GPU_LABELS if any(label in (n.metadata.labels or {}) for n in nodes)), None)
    return NodeGroupsFile(
        api_version=API_VERSION, kind=KIND, flags=flags or None, gpu_label=label, groups=list(groups.values())
    )


def _by_labels(nodes: Sequence[Node], sizes: Mapping[str, tuple[int, int]]) -> Iterator[Group]:
    seen = set()
    for node in nodes:
        labels = node.metadata.labels or {}
        keys = next((keys for keys in _LABELS if keys[0] in labels), None)
        if keys is None:
            continue
        found = {key: labels[key] for key in keys if key in labels}
        name = "-".join(found.values())
        if name in seen:
            continue
        seen.add(name)
        least, most = sizes.get(name, (0, None))
        yield Group(name=name, min=least, max=most, nodes=Members(labels=found), source=f"label {keys[0]} of nodes")


def _of_the_deployment(snapshot: Snapshot) -> tuple[dict[str, Any], dict[str, tuple[int, int]], str]:
    """Flags, groups with their sizes, and which Deployment has them."""
    called, words = own_deployment(snapshot)
    return (*_parsed(words), f"--nodes of {called}") if called else ({}, {}, "")


def _parsed(words: Sequence[str]) -> tuple[dict[str, Any], dict[str, tuple[int, int]]]:
    flags: dict[str, Any] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if name == "nodes":
            least, _, rest = value.partition(":")
            most, _, group = rest.partition(":")
            if group and least.isdigit() and most.isdigit():
                sizes[group] = (int(least), int(most))
        elif name in _LISTS:
            flags.setdefault(name, []).append(value)
        elif name in FLAGS:
            flags[name] = value if equals else True
    return flags, sizes
