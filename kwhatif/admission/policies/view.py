"""What expressions see of a request: the objects as Go's types spell them, who asks, and the namespace.

Upstream: apiserver/pkg/admission/plugin/cel/condition.go, apimachinery/pkg/runtime/converter.go.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.policies.matching import operation_of
from kwhatif.admission.request import Request
from kwhatif.admission.resources import group_of
from kwhatif.admission.world import name_of
from kwhatif.api.kinds import TEMPLATES, plural_of

_USER = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
_CONTROLLERS = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]

# Fields that are not written when they are false, as nobody can tell that from their absence.
_UNSAID = frozenset({"hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "paused", "readOnly"})


def seen(obj: Object) -> Object:
    """An object as expressions see it. Fields that are empty are left out; those that Go always writes are there."""
    if not _typed(obj):
        return obj
    found: Object = _without_empty(obj)
    spec = found.get("spec")
    if isinstance(spec, dict):
        _complete(obj, spec)
    if obj.get("kind") not in _NO_STATUS:
        found.setdefault("status", {})
    return found


_NO_STATUS = ("ConfigMap", "Secret", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")


def _typed(obj: Object) -> bool:
    """Whether Go has a type for it; what has none is seen as it is."""
    group = group_of(obj)
    return "." not in group or group.endswith(".k8s.io")


def _complete(obj: Object, spec: Object) -> None:
    kind = str(obj.get("kind") or "")
    if kind == "Pod":
        _pod(spec)
    elif kind == "PersistentVolumeClaim":
        spec.setdefault("resources", {})
    elif kind in TEMPLATES:
        if kind == "Deployment":
            spec.setdefault("strategy", {})
        holder = spec
        for key in TEMPLATES[kind][1:]:
            holder = holder.get(key) or {}
        template = holder.setdefault("template", {})
        template.setdefault("metadata", {})
        _pod(template.setdefault("spec", {}))


def _pod(spec: Object) -> None:
    for key in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(key) or ():
            container.setdefault("resources", {})
    spec.setdefault("containers", None)


def _without_empty(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        kept = ((name, _without_empty(item, name)) for name, item in value.items())
        return {
            name: item
            for name, item in kept
            if item is not None
            and item != []
            and not (item is False and name in _UNSAID)
            and not _empty_map(name, item)
        }
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value


_MAPS = frozenset({"labels", "annotations", "nodeSelector", "data", "limits", "requests", "matchLabels"})


def _empty_map(name: str, item: Any) -> bool:
    return item == {} and name in _MAPS


def values_of(request: Request) -> dict[str, Any]:
    """``object``, ``oldObject``, ``request`` and ``namespaceObject``."""
    home = request.namespace
    kind = str(request.object.get("kind") or "")
    namespace = request.world.get("Namespace", "", home) if home and kind != "Namespace" else None
    return {
        "object": seen(request.object),
        "oldObject": None if request.old is None else seen(request.old),
        "request": _asked(request),
        "namespaceObject": None if namespace is None else _namespace(namespace),
    }


def _asked(request: Request) -> Object:
    group, _, version = str(request.object.get("apiVersion") or "").rpartition("/")
    kind = str(request.object.get("kind") or "")
    gvk = {"group": group, "version": version, "kind": kind}
    gvr = {"group": group, "version": version, "resource": plural_of(kind)}
    asked: Object = {
        "kind": gvk,
        "resource": gvr,
        "requestKind": gvk,
        "requestResource": gvr,
        "name": request.named_as,
        "operation": operation_of(request),
        "userInfo": _who(request),
        "dryRun": False,
        "options": {
            "kind": "CreateOptions" if request.old is None else "UpdateOptions",
            "apiVersion": "meta.k8s.io/v1",
        },
    }
    home = name_of(request.object) if kind == "Namespace" and not group else request.namespace
    return asked | {"namespace": home} if home else asked


def _who(request: Request) -> Object:
    """Whoever works with manifests is taken for the cluster's administrator."""
    for owner in (request.object.get("metadata") or {}).get("ownerReferences") or ():
        if owner.get("controller"):
            name = f"system:serviceaccount:kube-system:{str(owner.get('kind')).lower()}-controller"
            return {"username": name, "groups": _CONTROLLERS}
    return dict(_USER)


def _namespace(namespace: Object) -> Object:
    metadata = {
        key: value
        for key, value in (namespace.get("metadata") or {}).items()
        if key not in ("ownerReferences", "managedFields", "selfLink")
    }
    for key in ("creationTimestamp", "deletionTimestamp"):
        metadata.pop(key, None)
    metadata["labels"] = {"kubernetes.io/metadata.name": name_of(namespace), **(metadata.get("labels") or {})}
    return {"metadata": metadata, "spec": namespace.get("spec") or {}, "status": namespace.get("status") or {}}
