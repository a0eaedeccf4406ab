"""Validation of jobs and cron jobs, including pod failure and success policies, schedules and time zones.

Upstream: pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

import re

from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import check_choice, check_domain_path, dns_label, label_key
from kwhatif.admission.validation.metadata import check_metadata
from kwhatif.admission.validation.pods import check_template, format_selector, labels_match, matches, not_negative
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.api.objects import part_of, section
from kwhatif.golang.cron import CronError, is_zone, parse
from kwhatif.golang.parsing import parse_int

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_MOST_RULES, _MOST_SUCCESS_RULES, _MOST_CODES, _MOST_CONDITIONS = 20, 20, 255, 20
_LONGEST_INDEXES = 64 * 1024


class _BadIndexes(Exception):
    """Indexes that cannot be read, and why."""


def check_pod_failure_policy(problems: Problems, spec: Object, path: str) -> None:
    policy = spec.get("podFailurePolicy")
    if policy is None:
        return
    rules, path = each(policy, "rules"), f"{path}.rules"
    if len(rules) > _MOST_RULES:
        problems.too_many(path, len(rules), _MOST_RULES)
    pod = section(spec, "template", "spec")
    names = {container.get("name") for key in ("containers", "initContainers") for container in each(pod, key)}
    for i, rule in enumerate(rules):
        where, action = f"{path}[{i}]", rule.get("action") or ""
        if action == "FailIndex":
            if spec.get("backoffLimitPerIndex") is None:
                problems.invalid(f"{where}.action", action, "requires the backoffLimitPerIndex to be set")
        else:
            _word(problems, action, f"{where}.action", _ACTIONS)
        codes, conditions = rule.get("onExitCodes"), each(rule, "onPodConditions")
        if codes is not None:
            _exit_codes(problems, codes, f"{where}.onExitCodes", names)
        if conditions:
            _conditions(problems, conditions, f"{where}.onPodConditions")
        if codes is not None and conditions:
            problems.wrong(where, "specifying both OnExitCodes and OnPodConditions is not supported")
        if codes is None and not conditions:
            problems.wrong(where, "specifying one of OnExitCodes and OnPodConditions is required")


def _exit_codes(problems: Problems, codes: Object, path: str, names: set[str | None]) -> None:
    operator, values = codes.get("operator") or "", codes.get("values") or []
    _word(problems, operator, f"{path}.operator", ("In", "NotIn"))
    container = codes.get("containerName")
    if container is not None and container not in names:
        why = "must be one of the container or initContainer names in the pod template"
        problems.invalid(f"{path}.containerName", container, why)
    if not values:
        problems.invalid(f"{path}.values", values, "at least one value is required")
    elif len(values) > _MOST_CODES:
        problems.too_many(f"{path}.values", len(values), _MOST_CODES)
    seen: set[int] = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            problems.invalid(f"{path}.values[{i}]", value, "must not be 0 for the In operator")
        if value in seen:
            problems.duplicate(f"{path}.values[{i}]", value)
        seen.add(value)
    if values != sorted(values):
        problems.invalid(f"{path}.values", values, "must be ordered")


def _conditions(problems: Problems, conditions: list[Object], path: str) -> None:
    if len(conditions) > _MOST_CONDITIONS:
        problems.too_many(path, len(conditions), _MOST_CONDITIONS)
    for i, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        problems.invalid(f"{path}[{i}].type", kind, *label_key(kind))
        _word(problems, condition.get("status") or "", f"{path}[{i}].status", ("False", "True", "Unknown"))


def _word(problems: Problems, value: str, path: str, allowed: tuple[str, ...]) -> None:
    """One of a few words that cannot be left out."""
    if not value:
        listed = " ".join(f'"{word}"' for word in allowed)
        problems.required(path, f"valid values: [{listed}]")
    else:
        check_choice(problems, value, path, allowed)


def check_success_policy(problems: Problems, spec: Object, path: str) -> None:
    policy = spec.get("successPolicy")
    if policy is None:
        return
    if spec.get("completionMode") != "Indexed":
        problems.invalid(path, policy, "requires indexed completion mode")
        return
    rules, path = each(policy, "rules"), f"{path}.rules"
    if not rules:
        problems.required(path, "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MOST_SUCCESS_RULES:
        problems.too_many(path, len(rules), _MOST_SUCCESS_RULES)
    for i, rule in enumerate(rules):
        _success(problems, rule, f"{path}[{i}]", spec.get("completions") or 0)


def _success(problems: Problems, rule: Object, path: str, completions: int) -> None:
    count, indexes, total = rule.get("succeededCount"), rule.get("succeededIndexes"), 0
    if count is None and indexes is None:
        problems.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    if indexes is not None:
        if len(indexes.encode()) > _LONGEST_INDEXES:
            problems.too_long(f"{path}.succeededIndexes", _LONGEST_INDEXES)
        try:
            total = _how_many(indexes, completions)
        except _BadIndexes as error:
            problems.invalid(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is not None:
        where = f"{path}.succeededCount"
        if count < 0:
            problems.invalid(where, count, "must be greater than or equal to 0")
        if count > completions:
            why = f"must be less than or equal to {completions} (the number of specified completions)"
            problems.invalid(where, count, why)
        if indexes is not None and count > total:
            which = "the number of indexes in the specified succeededIndexes field"
            problems.invalid(where, count, f"must be less than or equal to {total} ({which})")


def _how_many(text: str, completions: int) -> int:
    """The number of indexes in a text such as ``1,3-5``."""
    total, last = 0, None
    for part in text.split(",") if text else ():
        ends = part.split("-")
        if len(ends) > 2:
            what = "an index interval can have at most two parts separated by '-'"
            raise _BadIndexes(f'the fragment "{part}" violates the requirement that {what}')
        first, final = _index(ends[0], completions), _index(ends[-1], completions)
        if len(ends) == 2 and first >= final:
            raise _BadIndexes(f"non-increasing order, previous: {first}, current: {final}")
        if last is not None and last >= first:
            raise _BadIndexes(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + final - first + 1, final
    return total


def _index(text: str, completions: int) -> int:
    index = parse_int(text) if text.isdigit() else None
    if index is None:
        raise _BadIndexes(f'cannot convert string to integer for index: "{text}"')
    if index >= completions:
        raise _BadIndexes(f'too large index: "{text}"')
    return index


def check_pod_replacement_policy(problems: Problems, spec: Object, path: str) -> None:
    """With rules for failed pods only those that have failed are replaced."""
    allowed = ("Failed", "TerminatingOrFailed") if spec.get("podFailurePolicy") is None else ("Failed",)
    check_choice(problems, spec.get("podReplacementPolicy"), path, allowed)


_ZONE_PART = re.compile("[A-Za-z._0-9+-]{1,14}")
_ZONE_NEEDED = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
_FIELD_FOR_ZONES = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"


def check_schedule(problems: Problems, spec: Object, path: str) -> None:
    schedule = part_of(spec, "schedule")
    try:
        parse(schedule)
    except CronError as error:
        problems.invalid(path, schedule, str(error))
    if "TZ" in schedule:
        problems.invalid(path, schedule, _FIELD_FOR_ZONES)


def check_time_zone(problems: Problems, zone: str | None, path: str) -> None:
    if zone is None:
        return
    if not zone:
        problems.invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    parts = zone.split("/")
    if any(part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part) for part in parts):
        problems.invalid(path, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        problems.invalid(path, zone, _ZONE_NEEDED)
    if zone != "Local" and not is_zone(zone):
        problems.invalid(path, zone, f"unknown time zone {zone}")


_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_MODES = ("NonIndexed", "Indexed")
_MOST_PARALLEL = 100_000
_LONGEST_CRON_JOB_NAME = 52
_LONGEST_MANAGER = 63
# With more completions than this, and failures counted by index, less is allowed.
_MANY_COMPLETIONS, _MOST_PARALLEL_OF_MANY, _MOST_FAILED_OF_MANY = 100_000, 10_000, 10_000


def check_job(problems: Problems, job: Object) -> None:
    spec, name = section(job, "spec"), name_of(job)
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
    spec, name = section(cron_job, "spec"), name_of(cron_job)
    check_metadata(problems, cron_job)
    if not spec.get("schedule"):
        problems.required("spec.schedule")
    else:
        check_schedule(problems, spec, "spec.schedule")
    not_negative(problems, spec, "startingDeadlineSeconds")
    check_time_zone(problems, spec.get("timeZone"), "spec.timeZone")
    policy = spec.get("concurrencyPolicy")
    if policy not in ("Allow", "Forbid", "Replace"):
        problems.not_supported("spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace"))
    job = section(spec, "jobTemplate", "spec")
    _job_spec(problems, job, "spec.jobTemplate.spec")
    if job.get("selector") is not None:
        shown = format_selector(job["selector"])
        problems.invalid("spec.jobTemplate.spec.selector", shown, "`selector` will be auto-generated")
    if job.get("manualSelector"):
        problems.not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    not_negative(problems, spec, "successfulJobsHistoryLimit")
    not_negative(problems, spec, "failedJobsHistoryLimit")
    if len(name.encode()) > _LONGEST_CRON_JOB_NAME:
        problems.invalid("metadata.name", name, f"must be no more than {_LONGEST_CRON_JOB_NAME} characters")


def _generated_selector(problems: Problems, job: Object) -> None:
    """Labels that a job gives its pods must not have been set to something else."""
    spec = section(job, "spec")
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    uid, name = section(job, "metadata").get("uid") or "", name_of(job)
    labels = section(spec, "template", "metadata", "labels")
    expected = {"controller-uid": uid, "job-name": name}
    expected |= {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name}
    for key, value in expected.items():
        where = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            problems.required(where, f"must be '{value}'")
        elif labels[key] != value:
            problems.invalid(where, dict(sorted(labels.items())), f"must be '{value}'")
    if not matches(selector, expected):
        problems.invalid("spec.selector", format_selector(selector), "`selector` not auto-generated")


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
        problems.not_supported(f"{path}.completionMode", mode, _MODES)
    if mode == "Indexed":
        _check_indexed(problems, spec, path)
    if mode is None or mode == "NonIndexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(key) is not None:
                problems.invalid(f"{path}.{key}", spec[key], "requires indexed completion mode")
    check_pod_failure_policy(problems, spec, f"{path}.podFailurePolicy")
    check_success_policy(problems, spec, f"{path}.successPolicy")
    check_pod_replacement_policy(problems, spec, f"{path}.podReplacementPolicy")
    check_template(problems, spec, f"{path}.template")
    _restart_policy(problems, spec, f"{path}.template.spec.restartPolicy")


def _check_indexed(problems: Problems, spec: Object, path: str) -> None:
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
    policy = section(spec, "template", "spec").get("restartPolicy") or "Always"
    if policy == "Always":
        problems.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        problems.not_supported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        problems.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')
