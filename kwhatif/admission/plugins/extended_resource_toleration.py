"""ExtendedResourceToleration: a pod that requests an extended resource tolerates the taint of that name. Off by
default.

Upstream: plugin/pkg/admission/extendedresourcetoleration/admission.go.
"""

from __future__ import annotations

from kwhatif.admission.plugins.toleration_merging import with_toleration
from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import RequestRefusal
from kwhatif.admission.validation.field_rules import is_extended
from kwhatif.api.objects import section


def admit(request: Request) -> RequestRefusal | None:
    if request.kind != "Pod":
        return None
    spec = within(request.object, "spec")
    names: set[str] = set()
    for container in (*each(spec, "containers"), *each(spec, "initContainers")):
        names.update(filter(is_extended, section(container, "resources").get("requests") or ()))
    for name in sorted(names):
        before = each(spec, "tolerations")
        added = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
        if added not in before:
            spec["tolerations"] = with_toleration(before, added)
            text = f"{name}:NoSchedule tolerated, because it is asked for"
            request.record_change("ExtendedResourceToleration", "spec.tolerations", text)
    return None
