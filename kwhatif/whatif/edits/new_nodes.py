"""What becomes of a Node object when somebody edits it: each function takes a node and returns the changed one.

A node that was so already comes back as it is.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.api.core import Condition, Node, NodeSpec, ResourceList, Taint
from kwhatif.api.meta import ObjectMeta
from kwhatif.api.quantity import Quantity

__all__ = ["UNSCHEDULABLE", "cordoned", "labelled", "new_node", "resized", "tainted", "uncordoned", "untainted"]

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
HOSTNAME = "kubernetes.io/hostname"
_TOPOLOGY = {name: f"topology.kubernetes.io/{name}" for name in ("zone", "region")}

# Taints that say how a node fares, not what it is for.
_STATES = ("not-ready", "unreachable", "out-of-service", "unschedulable", "network-unavailable")
_PRESSURES = ("memory-pressure", "disk-pressure", "pid-pressure")
_STATE_KEYS = frozenset(
    {
        *(f"node.kubernetes.io/{state}" for state in (*_STATES, *_PRESSURES)),
        *("node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown"),
        *("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler"),
    }
)

_UIDS = uuid.uuid5(uuid.NAMESPACE_DNS, "kwhatif.snapshot.node_edits")


def cordoned(node: Node) -> Node:
    """No new pods, with the taint that the node lifecycle controller then adds.

    Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass).
    """
    if not node.spec.unschedulable:
        node = _with_spec(node, unschedulable=True)
    return tainted(node, Taint(key=UNSCHEDULABLE, effect="NoSchedule"))


def uncordoned(node: Node) -> Node:
    """The opposite of ``cordoned``."""
    if node.spec.unschedulable:
        node = _with_spec(node, unschedulable=None)
    return untainted(node, UNSCHEDULABLE)


def tainted(node: Node, taint: Taint) -> Node:
    """With a taint, in place of one with the same key and effect."""
    there = list(node.spec.taints or ())
    if taint in there:
        return node
    same = [(other.key, other.effect) == (taint.key, taint.effect) for other in there]
    if any(same):
        return _with_spec(node, taints=[taint if s else other for s, other in zip(same, there, strict=True)])
    return _with_spec(node, taints=[*there, taint])


def untainted(node: Node, key: str, effect: str | None = None) -> Node:
    """Without the taints of a key, or of a key and an effect."""
    there = node.spec.taints or []
    left = [taint for taint in there if taint.key != key or (effect is not None and taint.effect != effect)]
    return node if len(left) == len(there) else _with_spec(node, taints=left or None)


def labelled(node: Node, labels: Mapping[str, str | None]) -> Node:
    """With labels set, and those that are None taken away."""
    there = node.metadata.labels or {}
    changed = {key: value for key, value in {**there, **labels}.items() if value is not None}
    return node if changed == there else replace(node, metadata=replace(node.metadata, labels=changed))


def resized(node: Node, allocatable: Mapping[str, Quantity], capacity: Mapping[str, Quantity]) -> Node:
    """With other amounts. A capacity moves what is allocatable by as much, never below zero, unless that is given, too.

    Upstream: pkg/kubelet/nodestatus/setters.go (MachineInfo): what is reserved stays reserved.
    """
    status = node.status
    whole, for_pods = dict(status.capacity or {}), dict(status.for_pods)
    moved: ResourceList = {}
    for name, amount in capacity.items():
        before = whole.get(name)
        reserved = before.milli_value() - for_pods[name].milli_value() if before and name in for_pods else 0
        left = max(0, amount.milli_value() - max(0, reserved))
        moved[name] = amount if not reserved else _of_milli(name, left)
        whole[name] = amount
    changed = replace(
        status, capacity=whole if capacity else status.capacity, allocatable={**for_pods, **moved, **allocatable}
    )
    return node if changed == status else replace(node, status=changed)


def _of_milli(name: str, milli: int) -> Quantity:
    return Quantity.from_milli(milli) if name == "cpu" else Quantity.from_units(milli // 1000)


def new_node(
    like: Node,
    name: str,
    *,
    places: Mapping[str, str],
    labels: Mapping[str, str | None],
    taints: Sequence[Taint],
) -> Node:
    """A node that has just joined and is like another one: ready, not cordoned, with nothing on it and no images.

    Labels that hold the other's name (or host name) hold the new one's. ``places`` are labels, too; ``zone`` and
    ``region`` stand for Kubernetes' own and for all of that name, as those of storage drivers, that agree with it.
    """
    there = like.metadata.labels or {}
    own = {like.name, there.get(HOSTNAME, like.name)}
    renamed = {key: name if value in own else value for key, value in there.items()}
    renamed[HOSTNAME] = name
    for place, value in places.items():
        renamed |= dict.fromkeys(_labels_of(place, there), value)
    metadata = ObjectMeta(
        name=name,
        labels=renamed,
        annotations=like.metadata.annotations,
        uid=str(uuid.uuid5(_UIDS, f"{like.metadata.uid}/{name}")),
    )
    kept = [taint for taint in like.spec.taints or () if taint.key not in _STATE_KEYS]
    status = replace(
        like.status,
        images=None,
        conditions=[Condition(type="Ready", status="True", reason="KubeletReady")],
    )
    node = replace(like, metadata=metadata, spec=NodeSpec(taints=kept or None), status=status)
    for taint in taints:
        node = tainted(node, taint)
    return labelled(node, labels)


def _labels_of(place: str, labels: Mapping[str, str]) -> Collection[str]:
    """The labels that say where a node is: for ``zone`` also those of others with the same value as Kubernetes' own."""
    if place not in _TOPOLOGY:
        return [place]
    key = _TOPOLOGY[place]
    alike = {k for k, v in labels.items() if k.rpartition("/")[2] == place and v == labels.get(key)}
    return sorted({key} | alike)


def _with_spec(node: Node, **changes: object) -> Node:
    return replace(node, spec=replace(node.spec, **changes))
