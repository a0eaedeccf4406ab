"""Which fields of an object those own who apply manifests, where nobody has written it down.

Most objects are read without ``metadata.managedFields``. Then everything is taken to come from manifests but what has
the value that the server fills in by itself, and what controllers and admission are known to write.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.updates.fields import Fields, parts
from kwhatif.admission.updates.normal import DEFAULTS
from kwhatif.api.field_types import FieldType, Types

# Values that are filled in wherever the field is missing.
_FILLED: dict[str, tuple[Any, ...]] = {key: (value,) for key, value in DEFAULTS.items()} | {
    "allocateLoadBalancerNodePorts": (True,),
    "apiGroup": ("rbac.authorization.k8s.io", ""),
    "attachRequired": (True,),
    "backoffLimit": (6, 2**31 - 1),
    "completionMode": ("NonIndexed",),
    "completions": (1,),
    "concurrencyPolicy": ("Allow",),
    "externalTrafficPolicy": ("Cluster",),
    "failedJobsHistoryLimit": (1,),
    "fsGroupPolicy": ("ReadWriteOnceWithFSType",),
    "imagePullPolicy": ("Always", "IfNotPresent"),
    "internalTrafficPolicy": ("Cluster",),
    "manualSelector": (False,),
    "maxSurge": ("25%", 0),
    "maxUnavailable": ("25%", 1),
    "minReplicas": (1,),
    "parallelism": (1,),
    "partition": (0,),
    "persistentVolumeReclaimPolicy": ("Retain",),
    "podManagementPolicy": ("OrderedReady",),
    "podReplacementPolicy": ("TerminatingOrFailed", "Failed"),
    "progressDeadlineSeconds": (600,),
    "reclaimPolicy": ("Delete",),
    "revisionHistoryLimit": (10,),
    "sessionAffinity": ("None",),
    "successfulJobsHistoryLimit": (3,),
    "suspend": (False,),
    "type": ("RollingUpdate", "ClusterIP", "Opaque"),
    "volumeBindingMode": ("Immediate",),
    "volumeLifecycleModes": (["Persistent"],),
    "whenDeleted": ("Retain",),
    "whenScaled": ("Retain",),
}
_SERVERS = ("apiVersion", "kind", "status")
_SERVERS_METADATA = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "selfLink", "managedFields"),
    *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "ownerReferences"),
)
_SERVERS_SPEC: dict[str, tuple[str, ...]] = {
    "Pod": (
        *("nodeName", "serviceAccountName", "serviceAccount", "priority", "priorityClassName", "preemptionPolicy"),
        *("imagePullSecrets", "overhead"),
    ),
    "PersistentVolumeClaim": ("storageClassName", "volumeName", "dataSource", "dataSourceRef"),
    "PersistentVolume": ("claimRef",),
    "Service": ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"),
    "Job": ("selector",),
}
_SERVERS_DOMAINS = (
    *("deployment.kubernetes.io/", "deprecated.daemonset.template.generation", "pv.kubernetes.io/"),
    *("volume.kubernetes.io/", "volume.beta.kubernetes.io/", "batch.kubernetes.io/", "kubectl.kubernetes.io/last"),
    *("kubernetes.io/metadata.name", "controller-uid", "job-name", "topology.kubernetes.io/"),
)
_TOKEN = "kube-api-access-"
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def manifests_own(live: Object, type_: FieldType, types: Types, besides: Iterable[str] = ()) -> Fields:
    """The fields of a stored object that are taken to come from manifests; ``besides`` names fields of its spec that
    do not.
    """
    kind = str(live.get("kind") or "")
    found: Fields = {}
    for key, item, inner in parts(live, type_, types):
        name = key[2:]
        if name in _SERVERS:
            continue
        if name == "metadata":
            told = {part: value for part, value in item.items() if part not in _SERVERS_METADATA}
        elif name == "spec" and isinstance(item, dict):
            left = {*_SERVERS_SPEC.get(kind, ()), *besides}
            told = {part: value for part, value in item.items() if part not in left}
        else:
            told = item
        own = _own(told, inner, types)
        if own or _is_leaf(told, inner, types):
            found[key] = own
    return found


def _own(value: Any, type_: FieldType | None, types: Types) -> Fields:
    found: Fields = {}
    for key, item, inner in parts(value, type_, types):
        name = key[2:] if key.startswith("f:") else ""
        if item in (None, "", {}, []) or (name and _filled(name, item)):
            continue
        own = _own(item, inner, types)
        if key.startswith("k:"):
            if not _is_token(item):
                found[key] = {".": {}, **own}
        elif own or _is_leaf(item, inner, types):
            found[key] = own
    return found


def _filled(name: str, value: Any) -> bool:
    """Whether a field has a value that the server or a controller may have given it."""
    if name == "tolerations":
        return all(item.get("key") in _TOLERATED for item in value)
    if name == "nodePort" or name.startswith(_SERVERS_DOMAINS):
        return True
    return any(value == known and type(value) is type(known) for known in _FILLED.get(name, ()))


def _is_token(item: Any) -> bool:
    """The volume with a service account's token, or its mount."""
    return isinstance(item, dict) and str(item.get("name") or "").startswith(_TOKEN)


def _is_leaf(value: Any, type_: FieldType | None, types: Types) -> bool:
    return value not in (None, "", {}, []) and next(parts(value, type_, types), None) is None
