"""Kubernetes' own Job: its pod set, and what the webhook refuses.

Upstream: pkg/controller/jobs/job/job_controller.go and job_webhook.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kwhatif.api.decode import convert
from kwhatif.api.kueue import WorkloadPodSet, WorkloadPodTemplate
from kwhatif.api.objects import section
from kwhatif.golang.field_validation import ROOT
from kwhatif.golang.formatting import go_quote
from kwhatif.golang.parsing import parse_int, parse_int_error
from kwhatif.kueue.configuration import ELASTIC
from kwhatif.kueue.jobs.job_framework import JobKind, Object
from kwhatif.kueue.jobs.job_webhooks import job_problems
from kwhatif.kueue.jobs.topology_annotations import (
    PREFERRED,
    REQUIRED,
    slice_size_problems,
    topology_problems,
    topology_request,
)
from kwhatif.versions.gates import BOOLEANS

MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"
_SYNC_COMPLETIONS = "kueue.x-k8s.io/job-completions-equal-parallelism"
_COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"


def pod_count(job: Object) -> int:
    """How many pods run at the same time."""
    spec = section(job, "spec")
    parallelism, completions = spec.get("parallelism"), spec.get("completions")
    count = 1 if parallelism is None else int(parallelism)
    return count if completions is None else min(count, int(completions))


def pod_sets(job: Object) -> list[WorkloadPodSet]:
    """Raises InputError for a template that cannot be read."""
    spec = section(job, "spec")
    template = convert(section(spec, "template"), WorkloadPodTemplate)
    least = parse_int(_annotations(job).get(MIN_PARALLELISM, ""))
    return [
        WorkloadPodSet(
            name="main",
            template=template,
            count=pod_count(job),
            min_count=least,
            topology_request=topology_request(template.metadata.annotations or {}, _COMPLETION_INDEX),
        )
    ]


def _annotations(job: Object) -> Mapping[str, str]:
    return section(job, "metadata", "annotations")


def problems(job: Object, queued: bool) -> Iterator[str]:
    """What is wrong with a new Job."""
    yield from job_problems(job)
    yield from _partial_problems(job)
    yield from _completion_problems(job)
    template = section(job, "spec", "template")
    annotations = section(template, "metadata", "annotations")
    path = ROOT.child("spec", "template", "metadata")
    wrong = list(topology_problems(path, annotations))
    if not wrong and _annotations(job).get(ELASTIC) == "true":
        wrong += [
            path.child("annotations", annotation).forbidden(f"{word} topology is not supported with elastic jobs")
            for word, annotation in (("required", REQUIRED), ("preferred", PREFERRED))
            if annotation in annotations
        ][:1]
    yield from wrong or slice_size_problems(path, annotations, pod_count(job))


def _partial_problems(job: Object) -> Iterator[str]:
    text = _annotations(job).get(MIN_PARALLELISM)
    if text is None:
        return
    path = ROOT.child("metadata", "annotations").index(MIN_PARALLELISM)
    least, count = parse_int(text), pod_count(job)
    if least is None:
        yield path.invalid(text, parse_int_error(text))
    elif least >= count or least <= 0:
        yield path.invalid(least, f"should be between 0 and {count - 1}")
    if _annotations(job).get(ELASTIC) == "true":
        yield path.invalid(text, "partial admission and elastic job cannot be used together")


def _completion_problems(job: Object) -> Iterator[str]:
    text = _annotations(job).get(_SYNC_COMPLETIONS)
    path = ROOT.child("metadata", "annotations").index(_SYNC_COMPLETIONS)
    if text is not None and text not in BOOLEANS:
        yield path.invalid(text, f"strconv.ParseBool: parsing {go_quote(text)}: invalid syntax")
    if text is None or not BOOLEANS.get(text):
        return
    spec = section(job, "spec")
    if (spec.get("completionMode") or "NonIndexed") == "NonIndexed":
        yield path.invalid(text, "should not be enabled for NonIndexed jobs")
    if spec.get("parallelism", 1) != spec.get("completions", 1):
        detail = f"should be equal to parallelism when {_SYNC_COMPLETIONS} annotation is true"
        yield ROOT.child("spec", "completions").invalid(spec.get("completions"), detail)


BATCH_JOB = JobKind("Job", "batch", pod_sets, problems)
