"""Job: pods that run to an end, as many at a time as its parallelism and what is left to do allow.

Upstream: pkg/controller/job/job_controller.go, indexed_job_utils.go; the labels: pkg/registry/batch/job/strategy.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.workloads.making import Making
from kwhatif.workloads.naming import within
from kwhatif.workloads.objects import copied, integer, name_of, section, uid_of
from kwhatif.workloads.pods import pod_from_template

INDEX = "batch.kubernetes.io/job-completion-index"
OWN_CONTROLLER = "kubernetes.io/job-controller"
LONGEST_GENERATED = 58


def make_job(job: Object, making: Making) -> None:
    spec = section(job, "spec")
    if spec.get("suspend") or (spec.get("managedBy") or OWN_CONTROLLER) != OWN_CONTROLLER:
        return
    template = _labelled(job)

    def body_of(index: int) -> Object:
        if spec.get("completionMode") != "Indexed":
            return pod_from_template(template, job)
        body = pod_from_template(template, job, within(name_of(job), f"-{index}-", LONGEST_GENERATED))
        for kind in ("annotations", "labels"):
            body["metadata"].setdefault(kind, {})[INDEX] = str(index)
        return body

    making.pods_of(job, _active(spec), body_of)


def _active(spec: Object) -> int:
    """How many pods run at first: without completions one success is enough, and all may try at once."""
    parallelism = integer(spec.get("parallelism"), 1)
    completions = spec.get("completions")
    if completions is None:
        return parallelism
    return min(parallelism, integer(completions, 1))


def _labelled(job: Object) -> Object:
    """The template with the labels by which the job finds its pods."""
    template = copied(section(job, "spec", "template"))
    if section(job, "spec").get("manualSelector"):
        return dict(template)
    metadata = template.setdefault("metadata", {})
    labels = metadata.get("labels") or {}
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}controller-uid", uid_of(job))
        labels.setdefault(f"{prefix}job-name", name_of(job))
    metadata["labels"] = labels
    return dict(template)
