"""The pods that had a node when the cluster was loaded."""

from __future__ import annotations

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster


@cached_per_cluster
def bound_before(cluster: Cluster) -> frozenset[str]:
    """Their uids."""
    return frozenset(pod.identity for pod in cluster.objects.list_all(Pod) if pod.spec.node_name)
