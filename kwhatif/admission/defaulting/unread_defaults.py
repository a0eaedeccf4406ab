"""Defaults of fields that nothing here reads but expressions of policies, which see objects as the API server has them.

Upstream: pkg/apis/core/v1/defaults.go, pkg/apis/core/v1/zz_generated.defaults.go, pkg/apis/apps/v1/defaults.go,
pkg/apis/batch/v1/defaults.go.
"""

from __future__ import annotations

from typing import Any

from kwhatif.admission.response import Object

_OF_CONTAINERS = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_MODE = {"defaultMode": 420}
_HISTORY = {"revisionHistoryLimit": 10}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "core.v1.PodSpec": {"dnsPolicy": "ClusterFirst", "securityContext": {}},
    "core.v1.Container": _OF_CONTAINERS,
    "core.v1.EphemeralContainer": _OF_CONTAINERS,
    "core.v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "core.v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core.v1.GRPCAction": {"service": ""},
    "core.v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.v1.SecretVolumeSource": _MODE,
    "core.v1.ConfigMapVolumeSource": _MODE,
    "core.v1.DownwardAPIVolumeSource": _MODE,
    "core.v1.ProjectedVolumeSource": _MODE,
    "core.v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core.v1.HostPathVolumeSource": {"type": ""},
    "apps.v1.DeploymentSpec": {**_HISTORY, "progressDeadlineSeconds": 600},
    "apps.v1.StatefulSetSpec": _HISTORY,
    "apps.v1.DaemonSetSpec": _HISTORY,
    "batch.v1.CronJobSpec": {"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
}
"""Type -> field -> its default."""


def unread_defaults(value: Object, name: str) -> Object:
    """The defaults of an object of the type ``name``, by field."""
    defaults = _DEFAULTS.get(name)
    if defaults is None:
        return {}
    if defaults is _OF_CONTAINERS:
        return {**defaults, "imagePullPolicy": pull_policy(str(value.get("image") or ""))}
    if name == "core.v1.PodSpec" and value.get("serviceAccountName"):
        return {**defaults, "serviceAccount": value["serviceAccountName"]}
    return defaults


def pull_policy(image: str) -> str:
    """The default for an image: the newest is pulled always."""
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent"
