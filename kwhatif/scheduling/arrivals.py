"""What controllers make for a pod once it is there: claims of its ephemeral volumes, and of device templates."""

from __future__ import annotations

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.workloads.claims_from_templates import device_claims
from kwhatif.workloads.ephemeral_claims import ephemeral_claims
from kwhatif.workloads.volumes import claim_arrives


def with_claims(pod: Pod, cluster: Cluster) -> Pod:
    """The pod with its claims in the cluster, and in its status where that names them."""
    for claim in ephemeral_claims(pod):
        claim_arrives(cluster.storage, claim)
    if not pod.spec.resource_claims:
        return pod
    devices, namespace = cluster.devices, pod.metadata.namespace or "default"
    statuses = list(pod.status.resource_claim_statuses or ())
    for status, made in device_claims(
        pod,
        lambda name: devices.templates.get((namespace, name)),
        lambda name: (namespace, name) in devices.claims,
    ):
        devices.put(made)
        statuses.append(status)
    return replace(pod, status=replace(pod.status, resource_claim_statuses=statuses or None))
