"""The order in which the objects of a request are created, so that controllers find what they need.

Controllers retry until what they need exists, so the order of files decides nothing: definitions of custom resources
come first, then namespaces, classes, accounts, quotas, volumes and claims that pods need, and the autoscalers that set
replicas, then everything else in the given order. The API server does judge by what exists at the moment, so admission
policies, webhooks and limit ranges keep their place, and nothing that comes after a policy or a webhook is moved before
it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.snapshot.load import Manifest

_DEFINITION = "CustomResourceDefinition"

_NEEDED = (
    "Namespace",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "CSIDriver",
    "DeviceClass",
    "ServiceAccount",
    "ResourceQuota",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ResourceClaimTemplate",
    "ResourceClaim",
    "HorizontalPodAutoscaler",
    "ScaledObject",
)
"""What pods need, in the order in which they need each other, and who says how many there are of them."""

_JUDGING = frozenset(
    {
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    }
)


def in_creation_order(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The manifests as they are created."""
    definitions = [manifest for manifest in manifests if manifest.obj.kind == _DEFINITION]
    ordered: list[Manifest] = []
    part: list[Manifest] = []
    for manifest in manifests:
        if manifest.obj.kind == _DEFINITION:
            continue
        if manifest.obj.kind in _JUDGING:
            ordered += [*_needed_first(part), manifest]
            part = []
        else:
            part.append(manifest)
    return [*definitions, *ordered, *_needed_first(part)]


def _needed_first(manifests: Sequence[Manifest]) -> list[Manifest]:
    ranks = {kind: rank for rank, kind in enumerate(_NEEDED)}
    return sorted(manifests, key=lambda manifest: ranks.get(manifest.obj.kind or "", len(_NEEDED)))
