"""Updates of pods, stateful sets and jobs: what may change.

Upstream: ValidatePodUpdate of pkg/apis/core/validation/validation.go, plugin/pkg/admission/priority,
pkg/apis/apps/validation/validation.go, pkg/apis/batch/validation/validation.go, pkg/registry/batch/job.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.request import deep_copy_json, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.updates.normal_form import differing, same
from kwhatif.admission.updates.update_rules import IMMUTABLE, ImmutableField, UpdateRules, immutable
from kwhatif.admission.validation.problems import Problems
from kwhatif.api.objects import section

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_FIELDS = ",".join(
    (
        *("`spec.containers[*].image`", "`spec.initContainers[*].image`", "`spec.activeDeadlineSeconds`"),
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_MOST = 2**31 - 1
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_MIRROR = "kubernetes.io/config.mirror"


def _prepare(new: Object, old: Object) -> None:
    """A pod's priority stays, though its manifest omits it."""
    spec, was = within(new, "spec"), section(old, "spec")
    for key in ("priority", "preemptionPolicy"):
        if spec.get(key) is None and was.get(key) is not None:
            spec[key] = was[key]
    if spec.get("serviceAccountName") and not spec.get("serviceAccount"):
        spec["serviceAccount"] = spec["serviceAccountName"]


def _check(problems: Problems, new: Object, old: Object) -> None:
    spec, was = section(new, "spec"), section(old, "spec")
    # Those that only hold for new pods.
    problems.causes = [cause for cause in problems.causes if "cannot be set " not in cause.message]
    _annotations(problems, new, old)
    for key in ("containers", "initContainers"):
        if len(each(spec, key)) != len(each(was, key)):
            problems.forbidden(f"spec.{key}", "pod updates may not add or remove containers")
            return
    if not _deadline(problems, spec.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds")):
        return
    _tolerations(problems, each(spec, "tolerations"), each(was, "tolerations"))
    _gates(problems, each(spec, "schedulingGates"), each(was, "schedulingGates"))
    rest = _reset_mutable_fields(spec, was)
    if each(was, "schedulingGates"):
        _directives(problems, rest, was)
    if not same(rest, was):
        why = f"pod updates may not change fields other than {_FIELDS}"
        problems.forbidden("spec", why + differing(rest, was, "spec"))


def _annotations(problems: Problems, new: Object, old: Object) -> None:
    now, was = (section(pod, "metadata", "annotations") for pod in (new, old))
    for key in sorted({*now, *was}):
        verb = "add" if key not in was else "remove or update"
        if now.get(key) != was.get(key) and (key.startswith(_APP_ARMOR) or key == _MIRROR):
            what = "mirror pod annotation" if key == _MIRROR else "AppArmor annotations"
            problems.forbidden(f"metadata.annotations[{key}]", f"may not {verb} {what}")


def _deadline(problems: Problems, now: int | None, was: int | None) -> bool:
    """Whether to go on: a deadline can be set, and be shortened."""
    path = "spec.activeDeadlineSeconds"
    if now is None:
        if was is not None:
            problems.invalid(path, None, "must not update from a positive integer to nil value")
        return True
    if not 0 <= now <= _MOST:
        problems.invalid(path, now, f"must be between 0 and {_MOST}, inclusive")
        return False
    if was is not None and was < now:
        problems.invalid(path, now, "must be less than or equal to previous value")
        return False
    return True


def _tolerations(problems: Problems, now: list[Object], was: list[Object]) -> None:
    given = [_lasting(toleration) for toleration in now]
    if any(_lasting(toleration) not in given for toleration in was):
        problems.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")


def _lasting(toleration: Object) -> Object:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds" and value not in (None, "")}


def _gates(problems: Problems, now: list[Object], was: list[Object]) -> None:
    known = {gate.get("name") for gate in was}
    for i, gate in enumerate(now):
        if gate.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            problems.forbidden(f"spec.schedulingGates[{i}].name", why)


def _reset_mutable_fields(spec: Object, was: Object) -> Object:
    """The new spec, with all that may change as it was."""
    rest: Object = deep_copy_json(spec)
    for key in ("containers", "initContainers"):
        for container, before in zip(each(rest, key), each(was, key), strict=True):
            container["image"] = before.get("image")
    for key in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        rest[key] = was.get(key)
    grace = was.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and rest.get("terminationGracePeriodSeconds") == 1:
        rest["terminationGracePeriodSeconds"] = grace
    return rest


def _directives(problems: Problems, directives: Object, was: Object) -> None:
    """Scheduling directives of a gated pod can be tightened."""
    now, before = section(directives, "nodeSelector"), section(was, "nodeSelector")
    if any(now.get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        problems.invalid("spec.nodeSelector", now, why)
    directives["nodeSelector"] = was.get("nodeSelector")
    affinity, old = section(directives, "affinity"), section(was, "affinity")
    if not same(affinity.get("nodeAffinity"), old.get("nodeAffinity")):
        _node_affinity(problems, section(affinity, "nodeAffinity"), section(old, "nodeAffinity"))
        left = {**affinity, "nodeAffinity": old.get("nodeAffinity")}
        directives["affinity"] = left if was.get("affinity") is not None or any(left.values()) else None


def _node_affinity(problems: Problems, now: Object, was: Object) -> None:
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    terms, before = each(now.get(_REQUIRED), "nodeSelectorTerms"), each(was.get(_REQUIRED), "nodeSelectorTerms")
    if before and len(before) != len(terms):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        problems.invalid(path, terms, why)
        return
    for i, (term, old) in enumerate(zip(terms, before, strict=False)):
        if not _only_additions(term, old):
            problems.invalid(f"{path}[{i}]", term, "only additions are allowed (no mutations or deletions)")


def _only_additions(term: Object, old: Object) -> bool:
    keys = ("matchExpressions", "matchFields")
    if not any(each(old, key) for key in keys):
        return not any(each(term, key) for key in keys)
    return all(same(each(term, key)[: len(each(old, key))], each(old, key)) for key in keys)


_MUTABLE = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)
_OF_CLAIMS = ("apiVersion", "kind", "status")


def _stateful_set(problems: Problems, new: Object, old: Object) -> None:
    bare = not any(section(claim, "metadata").get("annotations") for claim in _claims(old))
    if not same(_immutable_spec_of(new, bare=bare), _immutable_spec_of(old, bare=bare)):
        *most, last = map("'{}'".format, _MUTABLE)
        fields = f"{', '.join(most)} and {last}"
        problems.forbidden("spec", f"updates to statefulset spec for fields other than {fields} are forbidden")


def _immutable_spec_of(obj: Object, *, bare: bool) -> Object:
    """All of a spec that must not change; ``bare`` without the claims' annotations, which a snapshot leaves out."""
    spec = {key: value for key, value in section(obj, "spec").items() if key not in _MUTABLE}
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
    return {key: value for key, value in section(claim, "metadata").items() if key not in left}


def _job(problems: Problems, new: Object, old: Object) -> None:
    spec, was = section(new, "spec"), section(old, "spec")
    # The spec itself is judged once as that of a job, and once as that of a job that changes.
    problems.causes += [cause for cause in problems.causes if _of_the_spec(cause.field, cause.message)]
    if spec.get("completionMode") != "Indexed":
        immutable(problems, ImmutableField("spec.completions"), new, old)
    elif spec.get("completions") not in (None, was.get("completions"), spec.get("parallelism")):
        why = "can only be modified in tandem with spec.parallelism"
        problems.invalid("spec.completions", spec["completions"], why)
    immutable(problems, ImmutableField("spec.selector"), new, old)
    _job_template(problems, spec, old)
    immutable(problems, ImmutableField("spec.completionMode", "NonIndexed"), new, old)
    for key in ("podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        immutable(problems, ImmutableField(f"spec.{key}"), new, old)


def _of_the_spec(field: str, message: str) -> bool:
    return field.startswith("spec.") and "labels[" not in field and "not auto-generated" not in message


def _job_template(problems: Problems, spec: Object, old: Object) -> None:
    """Of a job that is suspended, and has no pods, what decides about scheduling and resources may change."""
    was = section(old, "spec")
    template, before = section(spec, "template"), deep_copy_json(section(was, "template"))
    status = section(old, "status")
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
    now = section(template, "spec")
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
    affinity = {key: value for key, value in section(pod, "affinity").items() if key != "nodeAffinity"}
    if rules is not None:
        affinity["nodeAffinity"] = rules.get("nodeAffinity")
    pod["affinity"] = affinity if rules is not None or affinity else None


def _same_template(one: Object, other: Object) -> bool:
    return same(_bare(one), _bare(other))


def _bare(template: Object) -> dict[str, Any]:
    """A template without the field that only repeats another one."""
    spec = {key: value for key, value in section(template, "spec").items() if key != "serviceAccount"}
    metadata = {key: value for key, value in section(template, "metadata").items() if key != "creationTimestamp"}
    return {"metadata": metadata, "spec": spec}


RULES = {
    "Pod": UpdateRules(prepare=_prepare, check=_check),
    "StatefulSet": UpdateRules(
        check=_stateful_set, spared=("metadata.name", "spec.serviceName", "spec.volumeClaimTemplates")
    ),
    "Job": UpdateRules(check=_job, spared=()),
}
