"""CronJob: one run of it, as if its time had come. A suspended one has no runs.

Upstream: pkg/controller/cronjob/cronjob_controllerv2.go, utils.go; there the job is named after the minute.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.workloads.job import make_job
from kwhatif.workloads.making import Making
from kwhatif.workloads.objects import copied, integer, name_of, namespace_of, owner_reference, section

LONGEST_JOB_NAME = 63


def make_cron_job(cron_job: Object, making: Making) -> None:
    spec = section(cron_job, "spec")
    if spec.get("suspend"):
        return
    template = section(spec, "jobTemplate")
    metadata = {key: copied(section(template, "metadata", key)) for key in ("labels", "annotations")}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{name_of(cron_job)[: LONGEST_JOB_NAME - 2]}-1",
            "namespace": namespace_of(cron_job),
            "ownerReferences": [owner_reference(cron_job)],
            **metadata,
        },
        "spec": copied(section(template, "spec")),
    }
    pods = integer(section(template, "spec").get("parallelism"), 1)
    job = making.controller(body, cron_job, "Error creating job", pods)
    if job is not None:
        make_job(job, making)
