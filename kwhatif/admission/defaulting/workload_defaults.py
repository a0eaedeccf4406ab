"""What the API server fills in when it reads a workload.

Upstream: pkg/apis/apps/v1/defaults.go, pkg/apis/batch/v1/defaults.go, pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.defaulting.pod_defaults import STEP, default_pod, default_pod_spec
from kwhatif.admission.request import Request, copied, each, within

_MANY = 2**31 - 1
_ROLLING = "RollingUpdate"


def _deployment(request: Request, spec: Object) -> None:
    _one_replica(request, spec)
    strategy = within(spec, "strategy")
    strategy["type"] = strategy.get("type") or _ROLLING
    if strategy["type"] == _ROLLING:
        _fill(request, within(strategy, "rollingUpdate"), "spec.strategy.rollingUpdate", "maxSurge", "25%")
        _fill(request, within(strategy, "rollingUpdate"), "spec.strategy.rollingUpdate", "maxUnavailable", "25%")
    _template(spec)


def _replica_set(request: Request, spec: Object) -> None:
    _one_replica(request, spec)
    _template(spec)


def _replication_controller(request: Request, spec: Object) -> None:
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = copied(labels)
            request.changed(STEP, "spec.selector", "the template's labels")
        metadata = within(request.object, "metadata")
        metadata["labels"] = metadata.get("labels") or copied(labels)
    _one_replica(request, spec)
    _template(spec)


def _stateful_set(request: Request, spec: Object) -> None:
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    strategy = within(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = _ROLLING
        within(strategy, "rollingUpdate")
    if strategy["type"] == _ROLLING and isinstance(strategy.get("rollingUpdate"), dict):
        _quietly(strategy["rollingUpdate"], "partition", 0)
    retention = within(spec, "persistentVolumeClaimRetentionPolicy")
    for key in ("whenDeleted", "whenScaled"):
        retention[key] = retention.get(key) or "Retain"
    _one_replica(request, spec)
    _template(spec)
    for claim in each(spec, "volumeClaimTemplates"):
        _quietly(within(claim, "spec"), "volumeMode", "Filesystem")


def _daemon_set(request: Request, spec: Object) -> None:
    strategy = within(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or _ROLLING
    if strategy["type"] == _ROLLING:
        rolling = within(strategy, "rollingUpdate")
        _fill(request, rolling, "spec.updateStrategy.rollingUpdate", "maxUnavailable", 1)
        _quietly(rolling, "maxSurge", 0)
    _template(spec)


def _job(request: Request, spec: Object) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _quietly(spec, "parallelism", 1)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and request.kind == "Job":
        metadata = within(request.object, "metadata")
        metadata["labels"] = metadata.get("labels") or copied(labels)
    _quietly(spec, "backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _MANY)
    _quietly(spec, "completionMode", "NonIndexed")
    _quietly(spec, "suspend", False)
    _quietly(spec, "manualSelector", False)
    replacement = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
    _quietly(spec, "podReplacementPolicy", replacement)
    _template(spec)


def _cron_job(request: Request, spec: Object) -> None:
    """A job template gets what its pods get, but nothing of a job's own: that comes with each job."""
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    _quietly(spec, "suspend", False)
    _template(within(within(spec, "jobTemplate"), "spec"))


def _namespace(request: Request, spec: Object) -> None:
    metadata = within(request.object, "metadata")
    within(metadata, "labels")["kubernetes.io/metadata.name"] = metadata.get("name") or ""


def _template(spec: Object) -> None:
    template = within(spec, "template")
    within(template, "metadata")
    default_pod_spec(within(template, "spec"))


def _one_replica(request: Request, spec: Object) -> None:
    _fill(request, spec, "spec", "replicas", 1)


def _fill(request: Request, owner: Object, path: str, key: str, value: Any) -> None:
    if owner.get(key) is None:
        owner[key] = value
        request.changed(STEP, f"{path}.{key}", f"{value} by default")


def _quietly(owner: Object, key: str, value: Any) -> None:
    if owner.get(key) is None:
        owner[key] = value


FILLERS = {
    "Pod": lambda request, spec: default_pod(request),
    "Deployment": _deployment,
    "ReplicaSet": _replica_set,
    "ReplicationController": _replication_controller,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "Job": _job,
    "CronJob": _cron_job,
    "Namespace": _namespace,
    "PodTemplate": lambda request, obj: _template(obj),
    "ControllerRevision": lambda request, obj: None,
}
