"""PodTolerationRestriction: namespaces add tolerations to their pods and whitelist those they may have. Off by default.

Upstream: plugin/pkg/admission/podtolerationrestriction/admission.go. The cluster-wide lists of its configuration file
are not read: only the namespace's annotations count.
"""

from __future__ import annotations

import json

from kwhatif.admission.plugins.quota_scopes import best_effort
from kwhatif.admission.plugins.toleration_merging import merge_tolerations, within_whitelist
from kwhatif.admission.request import Request, deep_copy_json, each, within
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.api.objects import section

_STEP = "PodTolerationRestriction"
_DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
_WHITELIST = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
_CONFLICT = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist"


def admit(request: Request) -> RequestRefusal | None:
    """Add the namespace's tolerations, and one for memory pressure to a pod that asks for resources."""
    if request.kind != "Pod":
        return None
    spec = within(request.object, "spec")
    added = _read_tolerations(request, _DEFAULTS) if request.old is None else []
    if added is None:
        return _unreadable(request, _DEFAULTS)
    if added:
        text = f"{len(added)} default tolerations of namespace {request.namespace}"
        request.record_change(_STEP, "spec.tolerations", text)
    if not best_effort(spec):
        added = [*added, deep_copy_json(_PRESSURE)]
        request.record_change(
            _STEP, "spec.tolerations", "memory pressure tolerated, because the pod is not best effort"
        )
    if added:
        spec["tolerations"] = merge_tolerations(each(spec, "tolerations"), added)
    return validate(request)


def validate(request: Request) -> RequestRefusal | None:
    """Refuse a toleration that the namespace does not allow."""
    if request.kind != "Pod":
        return None
    tolerations = each(request.object.get("spec"), "tolerations")
    allowed = _read_tolerations(request, _WHITELIST)
    if allowed is None:
        return _unreadable(request, _WHITELIST)
    if allowed and not within_whitelist(tolerations, allowed):
        return RequestRefusal(500, "Unknown", _CONFLICT)  # upstream forgets to say that this is forbidden
    return None


def _read_tolerations(request: Request, annotation: str) -> list[Object] | None:
    """The tolerations of an annotation, none if it is absent; None if it cannot be read."""
    namespace = request.store.get("Namespace", "", request.namespace) or {}
    text = section(namespace, "metadata", "annotations").get(annotation)
    if not text:
        return []
    try:
        items = json.loads(text)
    except ValueError:
        return None
    return items if isinstance(items, list) and all(isinstance(item, dict) for item in items) else None


def _unreadable(request: Request, annotation: str) -> RequestRefusal:
    return request.forbidden(f"annotation {annotation} of namespace {request.namespace} cannot be read")
