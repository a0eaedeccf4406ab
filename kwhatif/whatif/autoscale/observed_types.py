"""A catalogue of the instance types that a snapshot shows: those of its nodes and NodeClaims, as they are there.

What else the cloud offers, and for how much, no snapshot tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwhatif.api.core import Node, ResourceList
from kwhatif.api.node_pools import NodeClaim
from kwhatif.api.quantity import Quantity
from kwhatif.autoscaling.karpenter.known_labels import CAPACITY_TYPE, CAPACITY_TYPES, INSTANCE_TYPE, RESERVED, ZONE
from kwhatif.snapshot.format.model import API_VERSION, Snapshot
from kwhatif.whatif.autoscale.instance_types_document import KIND, InstanceTypesFile, KnownOffering, KnownType

_OF_TYPES = ("karpenter.k8s.aws/instance-", "karpenter.kwok.sh/instance-")
_PLATFORM = ("kubernetes.io/arch", "kubernetes.io/os")
_NONE = Quantity.from_units(0)
_INCOMPLETE = "only types that the snapshot has a node of, as nodes have them; prices and other offerings are unknown"


def observed_types(snapshot: Snapshot) -> InstanceTypesFile:
    """Each type as its first node has it, in the alphabet's order, offered where one of it is, for nothing."""
    found: dict[str, KnownType] = {}
    for labels, capacity, allocatable in _machines(snapshot):
        name = labels.get(INSTANCE_TYPE)
        if not name or not capacity:
            continue
        kind = labels.get(CAPACITY_TYPE, "on-demand")
        offering = KnownOffering(zone=labels.get(ZONE) or "unknown", capacity_type=kind, price=0.0)  # type: ignore[arg-type]
        offerings = [offering] if kind in CAPACITY_TYPES and kind != RESERVED else []
        there = found.get(name)
        if there is None:
            overhead = {key: amount - allocatable.get(key, _NONE) for key, amount in capacity.items()}
            found[name] = KnownType(
                name=name,
                labels={key: value for key, value in labels.items() if key in _PLATFORM or key.startswith(_OF_TYPES)},
                capacity=dict(capacity),
                overhead={key: amount for key, amount in overhead.items() if amount > _NONE},
                offerings=offerings,
            )
        else:
            there.offerings.extend(each for each in offerings if each not in there.offerings)
    return InstanceTypesFile(
        api_version=API_VERSION,
        kind=KIND,
        source=snapshot.source or None,
        incomplete=_INCOMPLETE,
        types=sorted(found.values(), key=lambda each: each.name),
    )


def _machines(snapshot: Snapshot) -> Iterator[tuple[Mapping[str, str], ResourceList, ResourceList]]:
    there: list[Node | NodeClaim] = [*snapshot.objects.of(Node), *snapshot.objects.of(NodeClaim)]
    for each in there:
        capacity = each.status.capacity or {}
        yield each.metadata.labels or {}, capacity, each.status.allocatable or capacity
