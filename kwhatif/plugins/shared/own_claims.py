"""A pod's claims of volumes: which happening is about them, and what plugins read for their sake."""

from __future__ import annotations

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import claim_names
from kwhatif.framework.events import Happening
from kwhatif.framework.interface import Reading


def has_claims(pod: PodInfo, cluster: Cluster) -> bool:
    return any(True for _ in claim_names(pod.pod))


VOLUMES = Reading("volumes are chosen and checked with it", has_claims)


def is_own_claim(waiting: PodInfo, happening: Happening) -> bool:
    """Whether a claim that changed is one of the waiting pod's."""
    if happening.claim is None or happening.claim[0] != waiting.shape.namespace:
        return False
    return any(name == happening.claim[1] for name, _ in claim_names(waiting.pod))
