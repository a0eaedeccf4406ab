"""PodGroupProtection: a finalizer keeps a group as long as pods belong to it.

Upstream: plugin/pkg/admission/scheduling/podgroupprotection/admission.go.
"""

from __future__ import annotations

from kwhatif.admission.request import Request, within
from kwhatif.admission.response import RequestRefusal

_FINALIZER = "scheduling.k8s.io/podgroup-protection"


def admit(request: Request) -> RequestRefusal | None:
    if request.kind != "PodGroup" or request.old is not None or not request.features.generic_workload:
        return None
    metadata = within(request.object, "metadata")
    finalizers = metadata.get("finalizers") or []
    if _FINALIZER not in finalizers:
        metadata["finalizers"] = [*finalizers, _FINALIZER]
    return None
