"""Jobs of Volcano: named pods by task, all of one PodGroup, for the scheduler of the job.

Upstream: volcano-sh/volcano, pkg/controllers/job/job_controller_util.go (createJobPod) and job_controller_actions.go
(createJobIOIfNotExist).
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.admission.response import Object
from kwhatif.api.field_types import check_part
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.objects import deep_copy_json, name_of, namespace_of, uid_of
from kwhatif.workloads.operators.operator_kind import items_of, size_of
from kwhatif.workloads.workload_kind import Companions, child, child_pod

_VOLCANO = "volcano.sh"


def volcano_children(job: Object, companions: Companions) -> Iterator[Object]:
    """The pods of a Volcano Job, and the claims of its volumes."""
    spec = section(job, "spec")
    group = f"{name_of(job)}-{uid_of(job)}"
    claims = []
    for place, volume in enumerate(items_of(spec, "volumes")):
        name = str(volume.get("volumeClaimName") or f"{name_of(job)}-volume-{place}")
        if not volume.get("volumeClaimName") and section(volume, "volumeClaim"):
            body = deep_copy_json(section(volume, "volumeClaim"))
            yield child(job, "v1", "PersistentVolumeClaim", name, body)
            claims.append(name)
        elif volume.get("volumeClaimName"):
            claims.append(name)
    for place, task in enumerate(items_of(spec, "tasks")):
        template = section(task, "template")
        check_part(template, "core.v1.PodTemplateSpec", f"$.spec.tasks[{place}].template")
        role = str(task.get("name") or f"default{place}")
        for index in range(size_of(job, task.get("replicas"), 1, f"$.spec.tasks[{place}].replicas")):
            labels = {
                f"{_VOLCANO}/job-name": name_of(job),
                f"{_VOLCANO}/job-namespace": namespace_of(job),
                f"{_VOLCANO}/queue-name": str(spec.get("queue") or "default"),
                f"{_VOLCANO}/task-index": str(index),
                f"{_VOLCANO}/task-spec": role,
            }
            notes = {
                f"{_VOLCANO}/task-spec": role,
                f"{_VOLCANO}/job-name": name_of(job),
                f"{_VOLCANO}/queue-name": str(spec.get("queue") or "default"),
                "scheduling.k8s.io/group-name": group,
            }
            pod = child_pod(job, template, f"{name_of(job)}-{role}-{index}", labels, notes)
            body = part_of(pod, "spec")
            body.setdefault("schedulerName", spec.get("schedulerName") or "volcano")
            if spec.get("priorityClassName"):
                body.setdefault("priorityClassName", spec["priorityClassName"])
            volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
            if volumes:
                body["volumes"] = [*(body.get("volumes") or ()), *volumes]
            yield pod
