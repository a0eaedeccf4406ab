"""What changed while the lists were read: each kind is of one moment, but not all of the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwhatif.api.core import Node, Pod
from kwhatif.api.others import PersistentVolume, PersistentVolumeClaim
from kwhatif.results.amounts import some
from kwhatif.snapshot.live.listing import Listing


@dataclass(frozen=True)
class Inconsistency:
    """What does not fit together, and which kinds to read again."""

    text: str
    kinds: tuple[str, ...]


def inconsistencies(listings: Mapping[str, Listing]) -> list[Inconsistency]:
    """What in these lists cannot have been true at one time."""
    found = [
        Inconsistency(f"seen twice while the list of {kind} was read: {some(listing.repeated)}", (kind,))
        for kind, listing in listings.items()
        if listing.repeated
    ]
    found += _missing_nodes(listings)
    found += _missing_volumes(listings)
    return found


def _missing_nodes(listings: Mapping[str, Listing]) -> list[Inconsistency]:
    pods, nodes = listings.get("Pod"), listings.get("Node")
    if pods is None or nodes is None or nodes.unreadable:
        return []
    known = {node.name for node in nodes.objects if isinstance(node, Node)}
    # A pod that has run its course may stay longer than its node.
    running = (pod for pod in pods.objects if isinstance(pod, Pod) and pod.status.phase not in ("Failed", "Succeeded"))
    lost = [pod for pod in running if pod.spec.node_name and pod.spec.node_name not in known]
    if not lost:
        return []
    gone = sorted({pod.spec.node_name or "" for pod in lost})
    number = "1 pod is" if len(lost) == 1 else f"{len(lost)} pods are"
    text = f"{number} on nodes that are not in the list of nodes: {some(gone)}"
    return [Inconsistency(text, ("Node", "Pod"))]


def _missing_volumes(listings: Mapping[str, Listing]) -> list[Inconsistency]:
    claims, volumes = listings.get("PersistentVolumeClaim"), listings.get("PersistentVolume")
    if claims is None or volumes is None or volumes.unreadable:
        return []
    known = {volume.name for volume in volumes.objects if isinstance(volume, PersistentVolume)}
    lost = [
        f"{claim.namespace}/{claim.name}"
        for claim in claims.objects
        if isinstance(claim, PersistentVolumeClaim)
        and claim.status.phase == "Bound"
        and claim.spec.volume_name
        and claim.spec.volume_name not in known
    ]
    if not lost:
        return []
    text = f"claims are bound to volumes that are not in the list of volumes: {some(lost)}"
    return [Inconsistency(text, ("PersistentVolume", "PersistentVolumeClaim"))]
