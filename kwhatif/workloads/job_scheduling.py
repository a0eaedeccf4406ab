"""The Workload and the PodGroup that the Job controller makes of a Job whose pods are to run together.

With the gate WorkloadWithJob a new indexed Job of as many completions as run in parallel, two or more, becomes a gang
of all its pods. Upstream: pkg/controller/job/job_scheduling_manager.go, util/utils.go (IsGangSchedulingCandidate); the
hashes in names are not upstream's.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Object
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.object_creation import ObjectCreator, template_hash, truncate_name
from kwhatif.workloads.objects import controller_of, integer, name_of, namespace_of, owner_reference, uid_of

_API = "scheduling.k8s.io/v1alpha2"
_SUSPENDED = "Suspended"


def is_gang_candidate(job: Object) -> bool:
    """Whether a Job has the shape of a gang: its pods are indexed, all of them run at once, and name no group."""
    spec = section(job, "spec")
    parallelism, completions = integer(spec.get("parallelism"), 1), spec.get("completions")
    return (
        parallelism > 1
        and completions is not None
        and integer(completions, 1) == parallelism
        and spec.get("completionMode") == "Indexed"
        and not section(spec, "template", "spec").get("schedulingGroup")
    )


def scheduling_group_of(job: Object, making: ObjectCreator) -> str | None:
    """The name of the group that a Job's pods are to name; empty where they name none.

    Its Workload and PodGroup are made unless they are there. None if the API server refuses one of them: then the Job
    has no pods.
    """
    workload = _workload_of(job, making)
    if not workload:
        return None if workload is None else ""
    templates = section(workload, "spec").get("podGroupTemplates") or []
    if len(templates) != 1:
        return ""
    groups = list(_groups_of(workload, making))
    if not groups:
        made = _create(_pod_group(job, workload, templates[0]), job, making)
        return None if made is None else name_of(made)
    return name_of(groups[0]) if len(groups) == 1 and _is_controlled_by(groups[0], job) else ""


def _workload_of(job: Object, making: ObjectCreator) -> Object | None:
    """The Workload of a Job, which is made for a new one; empty if it has to do without, None if it is refused."""
    named = {"apiGroup": "batch", "kind": "Job", "name": name_of(job)}
    matching = [
        workload
        for workload in making.server.world.all("Workload", namespace_of(job))
        if section(workload, "spec").get("controllerRef") == named
    ]
    if matching:
        return matching[0] if len(matching) == 1 and _is_controlled_by(matching[0], job) else {}
    if not _is_new(job):
        return {}
    name = truncate_name(name_of(job), f"-{template_hash({'uid': uid_of(job)})}")
    gang = {"gang": {"minCount": integer(section(job, "spec").get("parallelism"), 1)}}
    template = {"name": f"{name_of(job)}-pgt-0", "schedulingPolicy": gang}
    spec = {"controllerRef": named, "podGroupTemplates": [template]}
    return _create(_object(job, "Workload", name, spec), job, making)


def _is_new(job: Object) -> bool:
    status = section(job, "status")
    started = any(status.get(field) for field in ("startTime", "succeeded", "failed"))
    return not started and all(one.get("type") != _SUSPENDED for one in status.get("conditions") or ())


def _groups_of(workload: Object, making: ObjectCreator) -> Iterator[Object]:
    for group in making.server.world.all("PodGroup", namespace_of(workload)):
        if section(group, "spec", "podGroupTemplateRef", "workload").get("workloadName") == name_of(workload):
            yield group


def _is_controlled_by(obj: Object, job: Object) -> bool:
    return controller_of(obj).get("uid") == uid_of(job)


def _pod_group(job: Object, workload: Object, template: Object) -> Object:
    names = {"workloadName": name_of(workload), "podGroupTemplateName": str(part_of(template, "name"))}
    name = truncate_name(f"{name_of(workload)}-{part_of(template, 'name')}", f"-{template_hash(names)}")
    spec = {"podGroupTemplateRef": {"workload": names}, "schedulingPolicy": part_of(template, "schedulingPolicy")}
    return _object(job, "PodGroup", name, spec)


def _object(job: Object, kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": namespace_of(job), "ownerReferences": [owner_reference(job)]}
    return {"apiVersion": _API, "kind": kind, "metadata": metadata, "spec": spec}


def _create(body: Object, job: Object, making: ObjectCreator) -> Object | None:
    pods = integer(section(job, "spec").get("parallelism"), 1)
    return making.controller(
        body, job, f"ensuring Workload and PodGroup for Job {namespace_of(job)}/{name_of(job)}", pods
    )
