"""What must not change about stateful sets and jobs.

Upstream: pkg/apis/apps/validation/validation.go, pkg/apis/batch/validation/validation.go, pkg/registry/batch/job.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.request import copied, each, within
from kwhatif.admission.updates.normal import same
from kwhatif.admission.updates.update_rules import IMMUTABLE, Fixed, Rules, immutable
from kwhatif.admission.validation.problems import Problems

_MUTABLE = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)
_OF_CLAIMS = ("apiVersion", "kind", "status")


def _stateful_set(problems: Problems, new: Object, old: Object) -> None:
    bare = not any((claim.get("metadata") or {}).get("annotations") for claim in _claims(old))
    if not same(_kept(new, bare=bare), _kept(old, bare=bare)):
        *most, last = map("'{}'".format, _MUTABLE)
        fields = f"{', '.join(most)} and {last}"
        problems.forbidden("spec", f"updates to statefulset spec for fields other than {fields} are forbidden")


def _kept(obj: Object, *, bare: bool) -> Object:
    """All of a spec that must not change; ``bare`` without the claims' annotations, which a snapshot leaves out."""
    spec = {key: value for key, value in (obj.get("spec") or {}).items() if key not in _MUTABLE}
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    spec["volumeClaimTemplates"] = [
        {**{key: value for key, value in claim.items() if key not in _OF_CLAIMS}, "metadata": _metadata(claim, bare)}
        for claim in _claims(obj)
    ]
    return spec


def _claims(obj: Object) -> list[Object]:
    return each(obj.get("spec"), "volumeClaimTemplates")


def _metadata(claim: Object, bare: bool) -> Object:
    left = ("creationTimestamp", "annotations") if bare else ("creationTimestamp",)
    return {key: value for key, value in (claim.get("metadata") or {}).items() if key not in left}


def _job(problems: Problems, new: Object, old: Object) -> None:
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    # The spec itself is judged once as that of a job, and once as that of a job that changes.
    problems.causes += [cause for cause in problems.causes if _of_the_spec(cause.field, cause.message)]
    if spec.get("completionMode") != "Indexed":
        immutable(problems, Fixed("spec.completions"), new, old)
    elif spec.get("completions") not in (None, was.get("completions"), spec.get("parallelism")):
        why = "can only be modified in tandem with spec.parallelism"
        problems.invalid("spec.completions", spec["completions"], why)
    immutable(problems, Fixed("spec.selector"), new, old)
    _job_template(problems, spec, old)
    immutable(problems, Fixed("spec.completionMode", "NonIndexed"), new, old)
    for key in ("podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        immutable(problems, Fixed(f"spec.{key}"), new, old)


def _of_the_spec(field: str, message: str) -> bool:
    return field.startswith("spec.") and "labels[" not in field and "not auto-generated" not in message


def _job_template(problems: Problems, spec: Object, old: Object) -> None:
    """Of a job that is suspended, and has no pods, what decides about scheduling and resources may change."""
    was = old.get("spec") or {}
    template, before = spec.get("template") or {}, copied(was.get("template") or {})
    status = old.get("status") or {}
    suspended = bool(was.get("suspend"))
    paused = any(
        condition.get("type") == "Suspended" and condition.get("status") == "True"
        for condition in each(status, "conditions")
    )
    again = problems.features.paused_jobs_change
    may_change = (not status.get("startTime") or paused) and not status.get("active")
    if not (suspended and (may_change if again else not status.get("startTime"))):
        if not _same_template(template, before):
            problems.invalid("spec.template", template, IMMUTABLE)
        return
    now = template.get("spec") or {}
    pod = within(before, "spec")
    _take_scheduling(pod, now)
    if not again:
        if not _same_template({**template, "metadata": {}}, {"spec": pod}):
            problems.invalid("spec.template", template, IMMUTABLE)
        return
    for key in ("containers", "initContainers"):
        ours, theirs = each(now, key), each(pod, key)
        if len(ours) == len(theirs):
            for mine, other in zip(ours, theirs, strict=True):
                if mine.get("name") == other.get("name"):
                    other["resources"] = mine.get("resources")
    if not _same_template({"spec": now}, {"spec": pod}):
        problems.invalid("spec.template.spec", now, IMMUTABLE)


def _take_scheduling(pod: Object, now: Object) -> None:
    """Have ``pod``, a template's, in all that decides about scheduling as it is now."""
    for key in ("nodeSelector", "tolerations", "schedulingGates"):
        pod[key] = now.get(key)
    rules = now.get("affinity")
    affinity = {key: value for key, value in (pod.get("affinity") or {}).items() if key != "nodeAffinity"}
    if rules is not None:
        affinity["nodeAffinity"] = rules.get("nodeAffinity")
    pod["affinity"] = affinity if rules is not None or affinity else None


def _same_template(one: Object, other: Object) -> bool:
    return same(_bare(one), _bare(other))


def _bare(template: Object) -> dict[str, Any]:
    """A template without the field that only repeats another one."""
    spec = {key: value for key, value in (template.get("spec") or {}).items() if key != "serviceAccount"}
    metadata = {key: value for key, value in (template.get("metadata") or {}).items() if key != "creationTimestamp"}
    return {"metadata": metadata, "spec": spec}


RULES = {
    "StatefulSet": Rules(
        check=_stateful_set, spared=("metadata.name", "spec.serviceName", "spec.volumeClaimTemplates")
    ),
    "Job": Rules(check=_job, spared=()),
}
