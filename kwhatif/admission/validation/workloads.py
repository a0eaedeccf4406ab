"""Validation of workloads: selectors, templates, replica counts and update strategies.

Upstream: pkg/apis/apps/validation/validation.go, pkg/apis/batch/validation/validation.go and, for replication
controllers, pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.request import each
from kwhatif.admission.response import Object
from kwhatif.admission.validation.field_rules import (
    check_labels,
    check_share,
    check_share_at_most_all,
    dns_label,
    share,
)
from kwhatif.admission.validation.jobs import check_cron_job, check_job
from kwhatif.admission.validation.metadata import check_annotations, check_metadata
from kwhatif.admission.validation.pods import (
    check_pod,
    check_template,
    format_selector,
    labels_match,
    labels_mismatch,
    not_negative,
    only_always,
)
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.scheduling_constraints import check_label_selector
from kwhatif.admission.validation.security_context import check_pod_annotations
from kwhatif.admission.validation.volumes import check_claim_spec
from kwhatif.api.objects import section

_ROLLING = "RollingUpdate"


def check_deployment(problems: Problems, strategy: Object, path: str) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "Recreate":
            if rolling is not None:
                why = "may not be specified when strategy `type` is 'Recreate'"
                problems.forbidden(f"{path}.rollingUpdate", why)
        case "RollingUpdate":
            where = f"{path}.rollingUpdate"
            most, more = (rolling or {}).get("maxUnavailable"), (rolling or {}).get("maxSurge")
            check_share(problems, most, f"{where}.maxUnavailable")
            check_share(problems, more, f"{where}.maxSurge")
            if not share(most) and not share(more):
                problems.invalid(f"{where}.maxUnavailable", most, "may not be 0 when `maxSurge` is 0")
            check_share_at_most_all(problems, most, f"{where}.maxUnavailable")
        case other:
            shown = {"Type": other, "RollingUpdate": rolling}
            problems.not_supported(path, shown, ("Recreate", _ROLLING))


def check_daemon_set(problems: Problems, strategy: Object, path: str) -> None:
    match strategy.get("type"):
        case "OnDelete":
            return
        case "RollingUpdate":
            where, rolling = f"{path}.rollingUpdate", section(strategy, "rollingUpdate")
            most, more = rolling.get("maxUnavailable"), rolling.get("maxSurge")
            check_share(problems, most, f"{where}.maxUnavailable")
            check_share(problems, more, f"{where}.maxSurge")
            check_share_at_most_all(problems, most, f"{where}.maxUnavailable")
            check_share_at_most_all(problems, more, f"{where}.maxSurge")
            if share(most) and share(more):
                problems.invalid(f"{where}.maxSurge", more, "may not be set when maxUnavailable is non-zero")
            if not share(most) and not share(more):
                problems.required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0")
        case other:
            shown = {"Type": other, "RollingUpdate": strategy.get("rollingUpdate")}
            problems.not_supported(path, shown, (_ROLLING, "OnDelete"))


def check_stateful_set(problems: Problems, spec: Object) -> None:
    """Pod management, update strategy and what becomes of claims."""
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        problems.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    strategy, path = section(spec, "updateStrategy"), "spec.updateStrategy"
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            if rolling is not None:
                why = "only allowed for updateStrategy 'RollingUpdate'"
                problems.invalid(f"{path}.rollingUpdate", rolling, why)
        case "RollingUpdate":
            where = f"{path}.rollingUpdate"
            not_negative(problems, rolling or {}, "partition", where)
            most = (rolling or {}).get("maxUnavailable")
            if most is not None:
                check_share(problems, most, f"{where}.maxUnavailable")
                if not share(most):
                    problems.invalid(f"{where}.maxUnavailable", most, "cannot be 0")
                check_share_at_most_all(problems, most, f"{where}.maxUnavailable")
        case other:
            shown = {"Type": other, "RollingUpdate": rolling}
            problems.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")
    retention = section(spec, "persistentVolumeClaimRetentionPolicy")
    for key in ("whenDeleted", "whenScaled"):
        if retention.get(key) not in ("Retain", "Delete"):
            where = f"spec.persistentVolumeClaimRetentionPolicy.{key}"
            problems.not_supported(where, retention.get(key), ("Retain", "Delete"))


_USUAL_DEADLINE = 600


def _deployment(problems: Problems, obj: Object) -> None:
    spec = section(obj, "spec")
    check_metadata(problems, obj)
    not_negative(problems, spec, "replicas")
    _selected_template(problems, spec, "deployment", "ReplicaSet")
    check_deployment(problems, section(spec, "strategy"), "spec.strategy")
    not_negative(problems, spec, "minReadySeconds")
    not_negative(problems, spec, "revisionHistoryLimit")
    not_negative(problems, spec, "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    deadline = _USUAL_DEADLINE if deadline is None else deadline
    if deadline <= (spec.get("minReadySeconds") or 0):
        problems.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _replica_set(problems: Problems, obj: Object) -> None:
    spec = section(obj, "spec")
    check_metadata(problems, obj)
    not_negative(problems, spec, "replicas")
    not_negative(problems, spec, "minReadySeconds")
    _selected_template(problems, spec, "deployment", "ReplicaSet")


def _replication_controller(problems: Problems, obj: Object) -> None:
    spec = section(obj, "spec")
    selector = section(spec, "selector")
    check_metadata(problems, obj)
    not_negative(problems, spec, "minReadySeconds")
    if not selector:
        problems.required("spec.selector")
    not_negative(problems, spec, "replicas")
    if spec.get("template") is None:
        problems.required("spec.template")
        return
    labels = section(spec, "template", "metadata", "labels")
    if any(labels.get(key) != value for key, value in selector.items()):
        labels_mismatch(problems, spec)
    check_template(problems, spec, "spec.template")
    only_always(problems, spec, "ReplicationController")


def _stateful_set(problems: Problems, obj: Object) -> None:
    spec = section(obj, "spec")
    check_metadata(problems, obj, label=True)
    check_stateful_set(problems, spec)
    for i, claim in enumerate(each(spec, "volumeClaimTemplates")):
        check_claim_spec(problems, section(claim, "spec"), f"spec.volumeClaimTemplates[{i}].spec")
    not_negative(problems, spec, "replicas")
    not_negative(problems, spec, "minReadySeconds")
    not_negative(problems, section(spec, "ordinals"), "start", "spec.ordinals")
    service = spec.get("serviceName")
    if service:
        problems.invalid("spec.serviceName", service, *dns_label(service))
    _selected_template(problems, spec, "statefulset", "StatefulSet")


def _daemon_set(problems: Problems, obj: Object) -> None:
    """A daemon set without a selector is refused by a selector that matches nothing."""
    spec = section(obj, "spec")
    selector = spec.get("selector")
    check_metadata(problems, obj)
    check_label_selector(problems, selector or {}, "spec.selector")
    labels_match(problems, spec, selector)
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        problems.invalid("spec.selector", format_selector(selector), "empty selector is invalid for daemonset")
    check_template(problems, spec, "spec.template")
    only_always(problems, spec, "DaemonSet")
    not_negative(problems, spec, "minReadySeconds")
    check_daemon_set(problems, section(spec, "updateStrategy"), "spec.updateStrategy")
    not_negative(problems, spec, "revisionHistoryLimit")


def _selected_template(problems: Problems, spec: Object, empty_for: str, owner: str) -> None:
    """A selector, which is not empty, and a template that it selects."""
    selector = spec.get("selector")
    before = len(problems.causes)
    if selector is None:
        problems.required("spec.selector")
    else:
        check_label_selector(problems, selector, "spec.selector")
    broken = selector is not None and len(problems.causes) > before
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        problems.invalid("spec.selector", {}, f"empty selector is invalid for {empty_for}")
    if broken:
        why = "invalid label selector" if owner == "ReplicaSet" else ""
        problems.invalid("spec.selector", format_selector(selector or {}), why)
    if not broken:
        labels_match(problems, spec, selector)
        if owner == "StatefulSet":
            _set_template(problems, spec)
        else:
            check_template(problems, spec, "spec.template")
    if not broken or owner == "StatefulSet":
        only_always(problems, spec, owner)


def _set_template(problems: Problems, spec: Object) -> None:
    """The template of a stateful set, whose controller gives pods their names and the volumes of their claims."""
    template = section(spec, "template")
    pod, metadata = section(template, "spec"), section(template, "metadata")
    names = [section(claim, "metadata").get("name") for claim in each(spec, "volumeClaimTemplates")]
    claimed = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    kept = [volume for volume in each(pod, "volumes") if volume.get("name") not in names]
    pod = {**pod, "hostname": "", "subdomain": "", "volumes": claimed + kept}
    check_template(problems, {"template": {**template, "spec": pod}}, "spec.template")
    check_labels(problems, metadata.get("labels"), "spec.template.labels")
    check_annotations(problems, metadata.get("annotations"), "spec.template.annotations")
    check_pod_annotations(problems, metadata, pod, "spec.template.annotations")


def _pod_template(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    check_template(problems, obj, "template")


def _revision(problems: Problems, obj: Object) -> None:
    check_metadata(problems, obj)
    number, data = obj.get("revision") or 0, obj.get("data")
    if number < 0:
        problems.invalid("revision", number, "must be greater than or equal to 0")
    if data is None:
        problems.required("data", "data is mandatory")
    elif not isinstance(data, dict):
        problems.required("data", "data must be a valid JSON object")


CHECKERS = {
    "ControllerRevision": _revision,
    "Pod": check_pod,
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "ReplicationController": _replication_controller,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": check_job,
    "CronJob": check_cron_job,
    "PodTemplate": _pod_template,
}
