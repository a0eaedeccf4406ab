"""PodGroupWorkloadExists: the template that a group names has to exist.

Upstream: plugin/pkg/admission/podgroup/admission.go.
"""

from __future__ import annotations

from kwhatif.admission.request import Request, each, within
from kwhatif.admission.response import RequestRefusal
from kwhatif.api.objects import section


def validate(request: Request) -> RequestRefusal | None:
    if request.kind != "PodGroup" or request.old is not None or not request.features.generic_workload:
        return None
    reference = section(within(request.object, "spec"), "podGroupTemplateRef").get("workload")
    if reference is None:
        return None
    name, template = reference.get("workloadName") or "", reference.get("podGroupTemplateName") or ""
    workload = request.store.get("Workload", request.namespace, name)
    if workload is None:
        if not request.store.knows("Workload"):
            what = f"Workload {name} is not known"
            request.doubt("PodGroupWorkloadExists", what, "a group is taken that names it")
            return None
        return request.forbidden(f'PodGroup rejected: Workload "{name}" not found')
    if section(workload, "metadata").get("deletionTimestamp"):
        return request.forbidden(f'PodGroup rejected: Workload "{name}" is being deleted')
    if any(each_of.get("name") == template for each_of in each(workload.get("spec"), "podGroupTemplates")):
        return None
    return request.forbidden(f'PodGroup rejected: PodGroupTemplate "{template}" not found in Workload "{name}"')
