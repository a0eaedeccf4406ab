"""Rules for jobs and cron jobs.

Upstream: pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.validation.choices import check_domain_path
from kwhatif.admission.validation.cron_schedule import check_schedule, check_time_zone
from kwhatif.admission.validation.job_policies import (
    check_pod_failure_policy,
    check_pod_replacement_policy,
    check_success_policy,
)
from kwhatif.admission.validation.name_rules import dns_label
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_affinity import check_label_selector
from kwhatif.admission.validation.validate_metadata import check_metadata
from kwhatif.admission.validation.validate_template import (
    check_template,
    labels_match,
    matches,
    not_negative,
    shown_selector,
)
from kwhatif.admission.world import name_of

_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_MODES = ("NonIndexed", "Indexed")
_MOST_PARALLEL = 100_000
_LONGEST_CRON_JOB_NAME = 52
_LONGEST_MANAGER = 63
# With more completions than this, and failures counted by index, less is allowed.
_MANY_COMPLETIONS, _MOST_PARALLEL_OF_MANY, _MOST_FAILED_OF_MANY = 100_000, 10_000, 10_000


def check_job(problems: Problems, job: Object) -> None:
    spec, name = job.get("spec") or {}, name_of(job)
    check_metadata(problems, job)
    _generated_selector(problems, job)
    _job_spec(problems, spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        problems.required("spec.selector")
    else:
        check_label_selector(problems, selector, "spec.selector")
    labels_match(problems, spec, selector)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        last = f"{name}-{completions - 1}"
        if dns_label(last):
            why = f"will not able to create pod with invalid DNS label: {last}"
            problems.invalid("metadata.name", name, why)


def check_cron_job(problems: Problems, cron_job: Object) -> None:
    spec, name = cron_job.get("spec") or {}, name_of(cron_job)
    check_metadata(problems, cron_job)
    if not spec.get("schedule"):
        problems.required("spec.schedule")
    else:
        check_schedule(problems, spec, "spec.schedule")
    not_negative(problems, spec, "startingDeadlineSeconds")
    check_time_zone(problems, spec.get("timeZone"), "spec.timeZone")
    policy = spec.get("concurrencyPolicy")
    if policy not in ("Allow", "Forbid", "Replace"):
        problems.unsupported("spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace"))
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    _job_spec(problems, job, "spec.jobTemplate.spec")
    if job.get("selector") is not None:
        shown = shown_selector(job["selector"])
        problems.invalid("spec.jobTemplate.spec.selector", shown, "`selector` will be auto-generated")
    if job.get("manualSelector"):
        problems.unsupported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    not_negative(problems, spec, "successfulJobsHistoryLimit")
    not_negative(problems, spec, "failedJobsHistoryLimit")
    if len(name.encode()) > _LONGEST_CRON_JOB_NAME:
        problems.invalid("metadata.name", name, f"must be no more than {_LONGEST_CRON_JOB_NAME} characters")


def _generated_selector(problems: Problems, job: Object) -> None:
    """Labels that a job gives its pods must not have been set to something else."""
    spec = job.get("spec") or {}
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    uid, name = (job.get("metadata") or {}).get("uid") or "", name_of(job)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    expected = {"controller-uid": uid, "job-name": name}
    expected |= {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name}
    for key, value in expected.items():
        where = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            problems.required(where, f"must be '{value}'")
        elif labels[key] != value:
            problems.invalid(where, dict(sorted(labels.items())), f"must be '{value}'")
    if not matches(selector, expected):
        problems.invalid("spec.selector", shown_selector(selector), "`selector` not auto-generated")


def _job_spec(problems: Problems, spec: Object, path: str) -> None:
    for key in (*_COUNTS, "backoffLimitPerIndex", "maxFailedIndexes"):
        not_negative(problems, spec, key, path)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        problems.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    manager = spec.get("managedBy")
    if manager is not None:
        check_domain_path(problems, manager, f"{path}.managedBy")
        if len(manager.encode()) > _LONGEST_MANAGER:
            problems.too_long(f"{path}.managedBy", _LONGEST_MANAGER)
    mode = spec.get("completionMode")
    if mode is not None and mode not in _MODES:
        problems.unsupported(f"{path}.completionMode", mode, _MODES)
    if mode == "Indexed":
        _indexed(problems, spec, path)
    if mode is None or mode == "NonIndexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(key) is not None:
                problems.invalid(f"{path}.{key}", spec[key], "requires indexed completion mode")
    check_pod_failure_policy(problems, spec, f"{path}.podFailurePolicy")
    check_success_policy(problems, spec, f"{path}.successPolicy")
    check_pod_replacement_policy(problems, spec, f"{path}.podReplacementPolicy")
    check_template(problems, spec, f"{path}.template")
    _restart_policy(problems, spec, f"{path}.template.spec.restartPolicy")


def _indexed(problems: Problems, spec: Object, path: str) -> None:
    completions, parallelism, failed = spec.get("completions"), spec.get("parallelism"), spec.get("maxFailedIndexes")
    if completions is None:
        problems.required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism is not None and parallelism > _MOST_PARALLEL:
        why = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is Indexed"
        problems.invalid(f"{path}.parallelism", parallelism, why)
    if completions is not None and failed is not None and failed > completions:
        problems.invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")
    if failed is not None and failed > _MOST_PARALLEL:
        problems.invalid(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MOST_PARALLEL}")
    if (completions or 0) <= _MANY_COMPLETIONS or spec.get("backoffLimitPerIndex") is None:
        return
    if failed is None:
        why = f"must be specified when completions is above {_MANY_COMPLETIONS}"
        problems.required(f"{path}.maxFailedIndexes", why)
    when = f"when completions are above {_MANY_COMPLETIONS} and used with backoff limit per index"
    if parallelism is not None and parallelism > _MOST_PARALLEL_OF_MANY:
        why = f"must be less than or equal to {_MOST_PARALLEL_OF_MANY} {when}"
        problems.invalid(f"{path}.parallelism", parallelism, why)
    if failed is not None and failed > _MOST_FAILED_OF_MANY:
        problems.invalid(
            f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MOST_FAILED_OF_MANY} {when}"
        )


def _restart_policy(problems: Problems, spec: Object, path: str) -> None:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") or "Always"
    if policy == "Always":
        problems.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        problems.unsupported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        problems.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
