"""Sets of fields in the form of ``metadata.managedFields``, nested maps with these keys, and which fields of an object
manifests own where ``managedFields`` does not say.

    f:NAME     a field, or a key of a map
    k:{...}    an item of an associative list, by its keys
    v:VALUE    an item of a set
    .          the item itself, besides what is in it
    *          the field itself, besides what is in it: among fields that are to be removed

Most objects are read without ``metadata.managedFields``. Then every field is assumed to come from a manifest, unless it
has the value that the API server would default, or is one that controllers and admission are known to write. Upstream:
sigs.k8s.io/structured-merge-diff (fieldpath, typed).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.admission.response import Object
from kwhatif.admission.updates.normal_form import DEFAULTS
from kwhatif.api.field_types import FieldType, Types

Fields = dict[str, Any]

_ATOMIC_TYPES = frozenset(
    {
        *("admissionregistration.v1.MatchResources", "admissionregistration.v1.NamedRuleWithOperations"),
        *("admissionregistration.v1.ParamKind", "admissionregistration.v1.ParamRef"),
        *("admissionregistration.v1.Variable", "autoscaling.v1.CrossVersionObjectReference"),
        *("core.v1.ConfigMapKeySelector", "core.v1.EndpointAddress", "core.v1.EndpointPort"),
        *("core.v1.FileKeySelector", "core.v1.LocalObjectReference", "core.v1.NodeSelector"),
        *("core.v1.NodeSelectorTerm", "core.v1.ObjectFieldSelector", "core.v1.ObjectReference"),
        *("core.v1.ResourceFieldSelector", "core.v1.ScopeSelector", "core.v1.SecretKeySelector"),
        *("core.v1.SecretReference", "core.v1.TopologySelectorTerm", "core.v1.TypedLocalObjectReference"),
        *("discovery.v1.EndpointPort", "networking.v1.ServiceBackendPort", "rbac.v1.RoleRef", "rbac.v1.Subject"),
        *("meta.v1.LabelSelector", "meta.v1.OwnerReference"),
    }
)
_ATOMIC_MAPS = frozenset(
    {
        *(("core.v1.PodSpec", "nodeSelector"), ("core.v1.ReplicationControllerSpec", "selector")),
        *(("core.v1.ServiceSpec", "selector"), ("node.v1.Scheduling", "nodeSelector")),
    }
)
_GRANULAR = {("core.v1.PersistentVolumeSpec", "claimRef")}
"""Fields whose parts have owners of their own, though their type is atomic elsewhere."""
_KEY_DEFAULTS = {"protocol": "TCP"}
WHOLE = "*"
_SELVES = (".", WHOLE)


def is_granular(type_: FieldType | None) -> bool:
    """Whether the parts of such values have owners of their own."""
    if type_ is None or type_.shape == "scalar":
        return False
    return bool(type_.keys) if type_.shape == "list" else type_.shape != "struct" or type_.name not in _ATOMIC_TYPES


def parts(value: Any, type_: FieldType | None, types: Types) -> Iterator[tuple[str, Any, FieldType | None]]:
    """What a value is made of where its parts have owners of their own: key, part and its type. A leaf has none."""
    if type_ is None or not is_granular(type_):
        return
    if type_.shape in ("struct", "granular") and isinstance(value, dict):
        known = types.fields(type_.name)
        for name, item in value.items():
            field, inner = (type_.name, name), known.get(name)
            if inner is not None and field in _GRANULAR:
                inner = replace(inner, shape="granular")
            yield f"f:{name}", item, None if field in _ATOMIC_MAPS else inner
    elif type_.shape == "map" and isinstance(value, dict):
        for name, item in value.items():
            yield f"f:{name}", item, type_.item
    elif type_.shape == "list" and isinstance(value, list):
        for item in value:
            yield item_key(item, type_.keys), item, type_.item


def item_key(item: Any, keys: Sequence[str]) -> str:
    """The key that identifies an item of a list."""
    if keys == ("*",):
        return f"v:{json.dumps(item)}"
    given = item if isinstance(item, dict) else {}
    identity = {key: given.get(key, _KEY_DEFAULTS.get(key)) for key in sorted(keys)}
    fields = {key: value for key, value in identity.items() if value is not None}
    return f"k:{json.dumps(fields, separators=(',', ':'))}"


def fields_of(value: Any, type_: FieldType | None, types: Types) -> Fields:
    """All fields that a value sets, those included that it sets to null."""
    fields: Fields = {}
    for key, item, inner in parts(value, type_, types):
        within = fields_of(item, inner, types)
        fields[key] = {".": {}, **within} if key.startswith("k:") else within
    return fields


def minus(fields: Fields, others: Mapping[str, Any]) -> Fields:
    """The fields that are not among the others. What the others know in part stays as such."""
    left: Fields = {}
    for key, inner in fields.items():
        if key not in others:
            left[key] = {WHOLE: {}, **inner} if inner and key.startswith("f:") else inner
        elif inner and key not in _SELVES:
            rest = minus({name: item for name, item in inner.items() if name not in _SELVES}, others[key])
            if rest:
                left[key] = rest
    return left


def leaves(fields: Fields, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of a set, in order."""
    for key, inner in sorted(fields.items()):
        if key == ".":
            continue
        if any(name != "." for name in inner):
            yield from leaves(inner, (*path, key))
        else:
            yield (*path, key)


def format_path(path: Sequence[str]) -> str:
    """``.spec.containers[name="web"].image``: a path in the words of a conflict."""
    text = ""
    for key in path:
        kind, _, name = key.partition(":")
        if kind == "f":
            text += f".{name}"
        elif kind == "v":
            text += f"[={name}]"
        else:
            keys: Object = json.loads(name)
            text += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in keys.items()) + "]"
    return text


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


def fields_of_manifests(live: Object, type_: FieldType, types: Types, excluded: Iterable[str] = ()) -> Fields:
    """The fields of a stored object that are assumed to come from manifests; ``excluded`` names fields of its spec that
    are not.
    """
    kind = str(live.get("kind") or "")
    owned: Fields = {}
    for key, item, inner in parts(live, type_, types):
        name = key[2:]
        if name in _SERVERS:
            continue
        if name == "metadata":
            fields = {part: value for part, value in item.items() if part not in _SERVERS_METADATA}
        elif name == "spec" and isinstance(item, dict):
            left = {*_SERVERS_SPEC.get(kind, ()), *excluded}
            fields = {part: value for part, value in item.items() if part not in left}
        else:
            fields = item
        own = _own(fields, inner, types)
        if own or _is_leaf(fields, inner, types):
            owned[key] = own
    return owned


def _own(value: Any, type_: FieldType | None, types: Types) -> Fields:
    fields: Fields = {}
    for key, item, inner in parts(value, type_, types):
        name = key[2:] if key.startswith("f:") else ""
        filled = name and not _has_no_defaults(type_) and _is_server_filled(name, item)
        if item in (None, "", {}, []) or filled:
            continue
        own = _own(item, inner, types)
        if key.startswith("k:"):
            if not _is_token(item):
                fields[key] = {".": {}, **own}
        elif own or _is_leaf(item, inner, types):
            fields[key] = own
    return fields


def _has_no_defaults(type_: FieldType | None) -> bool:
    """Whether the API server fills in no field of this type, though its names stand for defaults elsewhere."""
    return type_ is not None and type_.name == "policy.v1.PodDisruptionBudgetSpec"


def _is_server_filled(name: str, value: Any) -> bool:
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
