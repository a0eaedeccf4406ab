"""How the API calls the collection of a kind, and how its messages name an object.

A refused request is told by resource (``deployments.apps "web" is forbidden``), an invalid object by kind
(``Deployment.apps "web" is invalid``).
"""

from __future__ import annotations

from kwhatif.admission.answer import Object

__all__ = ["CLUSTER_SCOPED", "group_of", "kind_name", "known_kind", "resource_name"]

_IRREGULAR = {"Endpoints": "endpoints"}

# The kinds that are read here. Others have kinds of these names too: there are jobs of other groups than batch.
_GROUPS = {
    **dict.fromkeys(("Pod", "PersistentVolumeClaim", "ReplicationController", "Namespace"), ""),
    **dict.fromkeys(("LimitRange", "ResourceQuota"), ""),
    **dict.fromkeys(("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"), "apps"),
    **dict.fromkeys(("Job", "CronJob"), "batch"),
    "PriorityClass": "scheduling.k8s.io",
    "RuntimeClass": "node.k8s.io",
}

CLUSTER_SCOPED = frozenset(
    {
        *("Namespace", "Node", "PersistentVolume", "StorageClass", "PriorityClass", "RuntimeClass", "DeviceClass"),
        *("CSIDriver", "CSINode", "VolumeAttachment", "ResourceSlice", "ClusterRole", "ClusterRoleBinding"),
        *("CustomResourceDefinition", "APIService", "IngressClass", "CertificateSigningRequest"),
        *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy"),
        *("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
        *("FlowSchema", "PriorityLevelConfiguration", "VolumeAttributesClass"),
    }
)
"""Kinds whose objects live in no namespace."""


def group_of(obj: Object) -> str:
    """The API group, empty for the core group; what comes from a snapshot may have left it out."""
    return str(obj.get("apiVersion") or "").rpartition("/")[0] or _GROUPS.get(str(obj.get("kind") or ""), "")


def known_kind(obj: Object) -> str:
    """The kind, if it is one that is read here, else nothing."""
    kind = str(obj.get("kind") or "")
    return kind if _GROUPS.get(kind) == group_of(obj) else ""


def resource_name(obj: Object) -> str:
    """``deployments.apps``, ``pods``: the plural, and the group if there is one."""
    kind = str(obj.get("kind") or "")
    plural = _IRREGULAR.get(kind) or _plural(kind.lower())
    return _with_group(plural, group_of(obj))


def kind_name(obj: Object) -> str:
    """``Deployment.apps``, ``Pod``."""
    return _with_group(str(obj.get("kind") or ""), group_of(obj))


def _with_group(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def _plural(word: str) -> str:
    if word.endswith("s"):
        return word + "es"
    return word[:-1] + "ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else word + "s"
