"""Defaults of pods and of workloads, and the conversion of AppArmor annotations into fields.

A template's pod gets less: requests from limits, pod-level requests and host ports are filled in only once the pod
itself is created. Upstream: pkg/apis/core/v1/defaults.go, pkg/apis/core/v1/zz_generated.defaults.go,
pkg/apis/apps/v1/defaults.go, pkg/apis/batch/v1/defaults.go; for AppArmor pkg/registry/core/pod/strategy.go and
pkg/api/pod/util.go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kwhatif.admission.container_amounts import amounts, of_containers, pod_level_resource
from kwhatif.admission.request import Request, containers_of, deep_copy_json, each, within
from kwhatif.admission.response import Object
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.security_context import APP_ARMOR, check_profile
from kwhatif.api.objects import section
from kwhatif.api.quantity import Quantity

STEP = "Defaults"
_FEW = 10**15  # far from where a quantity no longer fits in an int64


def default_pod(request: Request) -> None:
    """Complete a pod."""
    spec = within(request.object, "spec")
    default_pod_spec(spec)
    _drop_disabled(request, spec, "spec")
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for key in ("containers", "initContainers"):
        for i, container in enumerate(each(spec, key)):
            _requests_from_limits(request, container, f"spec.{key}[{i}].resources.requests")
    _huge_page_limits(request, spec)
    _pod_requests(request, spec)
    if spec.get("hostNetwork"):
        _host_ports(request, spec)


def default_pod_spec(spec: Object) -> None:
    """Fill in the defaults that a pod and a pod template share. Those that every object gets are not recorded as
    changes.
    """
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    _whole_thousandths(spec.get("overhead"))
    _whole_thousandths_of(spec)
    for key in ("containers", "initContainers"):
        for container in each(spec, key):
            _whole_thousandths_of(container)
            for port in each(container, "ports"):
                if not port.get("protocol"):
                    port["protocol"] = "TCP"
    for volume in each(spec, "volumes"):
        if not any(value is not None for key, value in volume.items() if key != "name"):
            volume["emptyDir"] = {}
        template = section(volume, "ephemeral").get("volumeClaimTemplate")
        if isinstance(template, dict):
            template.setdefault("metadata", {})
            within(template, "spec").setdefault("volumeMode", "Filesystem")


def _drop_disabled(request: Request, spec: Object, path: str) -> None:
    """What gates are about that are off is dropped from a pod's spec at ``path``, unless it was set before."""
    before = section(request.old, *path.split("."))
    dropped = []
    group, was = (one.get("schedulingGroup") for one in (spec, before))
    if group is not None and was is None and not request.features.generic_workload:
        del spec["schedulingGroup"]
        dropped.append(("schedulingGroup", "GenericWorkload"))
    if not _bundles(before):
        # No minor has this gate on by default.
        for where, source in _bundles(spec):
            del source["clusterTrustBundle"]
            dropped.append((where, "ClusterTrustBundleProjection"))
    for where, gate in dropped:
        request.record_change(STEP, f"{path}.{where}", f"dropped, since feature gate {gate} is off")


def _bundles(spec: Object) -> list[tuple[str, Object]]:
    """The sources of projected volumes that name bundles of trusted certificates."""
    return [
        (f"volumes[{i}].projected.sources[{k}].clusterTrustBundle", source)
        for i, volume in enumerate(each(spec, "volumes"))
        for k, source in enumerate(each(section(volume, "projected"), "sources"))
        if source.get("clusterTrustBundle") is not None
    ]


def _requests_from_limits(request: Request, container: Object, path: str) -> None:
    resources = section(container, "resources")
    limits = resources.get("limits")
    if not limits:
        return
    requests = within(resources, "requests")
    missing = [name for name in limits if name not in requests]
    if missing:
        requests.update({name: limits[name] for name in missing})
        request.record_change(STEP, path, f"requests of {', '.join(sorted(missing))} from the limits")


def _huge_page_limits(request: Request, spec: Object) -> None:
    """Huge pages of the containers, if the pod as a whole speaks of resources but not of these."""
    whole = section(spec, "resources")
    limits, requests = section(whole, "limits"), section(whole, "requests")
    if not limits and not requests:
        return
    for name, amount in of_containers(spec, "limits").items():
        if name.startswith("hugepages-") and name not in requests and name not in limits:
            limits[name] = str(amount)
            request.record_change(STEP, "spec.resources.limits", f"{name}={amount} from the containers' limits")
    if limits:
        whole["limits"] = limits


def _pod_requests(request: Request, spec: Object) -> None:
    """The containers' requests, else the limits, if the pod as a whole has limits."""
    whole = section(spec, "resources")
    if not whole.get("limits"):
        return
    requests = dict(section(whole, "requests"))
    path = "spec.resources.requests"
    for name, amount in of_containers(spec, "requests").items():
        if name in ("cpu", "memory") and name not in requests:
            requests[name] = str(amount)
            request.record_change(STEP, path, f"{name}={amount} from the containers' requests")
    for name, amount in amounts(whole["limits"]).items():
        if pod_level_resource(name) and name not in requests:
            requests[name] = whole["limits"][name]
            request.record_change(STEP, path, f"{name}={amount} from the pod's limits")
    if requests:
        whole["requests"] = requests


def _host_ports(request: Request, spec: Object) -> None:
    for key in ("containers", "initContainers"):
        for i, container in enumerate(each(spec, key)):
            for k, port in enumerate(each(container, "ports")):
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]
                    where = f"spec.{key}[{i}].ports[{k}].hostPort"
                    request.record_change(STEP, where, f"{port['hostPort']}, because of hostNetwork")


def _whole_thousandths_of(owner: Object) -> None:
    resources = section(owner, "resources")
    _whole_thousandths(resources.get("requests"))
    _whole_thousandths(resources.get("limits"))


def _whole_thousandths(listed: Object | None) -> None:
    """Round up what is finer than a thousandth."""
    for name, value in (listed or {}).items():
        rounded = _round_to_milli(value)
        if listed is not None and rounded:
            listed[name] = rounded


@lru_cache(maxsize=1 << 12)
def _round_to_milli(value: object) -> str:
    """An amount in thousandths, empty if it can stay as it is."""
    amount = Quantity.from_json(value)
    thousandths = amount.milli_value()
    fine = abs(thousandths) >= _FEW or Quantity.from_milli(thousandths) == amount
    return "" if fine else f"{thousandths}m"


_MANY = 2**31 - 1
_ROLLING = "RollingUpdate"


def _deployment(request: Request, spec: Object) -> None:
    _one_replica(request, spec)
    strategy = within(spec, "strategy")
    strategy["type"] = strategy.get("type") or _ROLLING
    if strategy["type"] == _ROLLING:
        _fill(request, within(strategy, "rollingUpdate"), "spec.strategy.rollingUpdate", "maxSurge", "25%")
        _fill(request, within(strategy, "rollingUpdate"), "spec.strategy.rollingUpdate", "maxUnavailable", "25%")
    _template(request, spec)


def _replica_set(request: Request, spec: Object) -> None:
    _one_replica(request, spec)
    _template(request, spec)


def _replication_controller(request: Request, spec: Object) -> None:
    labels = section(spec, "template", "metadata").get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = deep_copy_json(labels)
            request.record_change(STEP, "spec.selector", "the template's labels")
        metadata = within(request.object, "metadata")
        metadata["labels"] = metadata.get("labels") or deep_copy_json(labels)
    _one_replica(request, spec)
    _template(request, spec)


def _stateful_set(request: Request, spec: Object) -> None:
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    strategy = within(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = _ROLLING
        within(strategy, "rollingUpdate")
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == _ROLLING and isinstance(rolling, dict):
        _quietly(rolling, "partition", 0)
    was = section(request.old, "spec", "updateStrategy", "rollingUpdate").get("maxUnavailable")
    kept = request.features.max_unavailable_stateful_set or was is not None
    if isinstance(rolling, dict) and rolling.get("maxUnavailable") is not None and not kept:
        del rolling["maxUnavailable"]
        what = "dropped, since feature gate MaxUnavailableStatefulSet is off"
        request.record_change(STEP, "spec.updateStrategy.rollingUpdate.maxUnavailable", what)
    retention = within(spec, "persistentVolumeClaimRetentionPolicy")
    for key in ("whenDeleted", "whenScaled"):
        retention[key] = retention.get(key) or "Retain"
    _one_replica(request, spec)
    _template(request, spec)
    for claim in each(spec, "volumeClaimTemplates"):
        _quietly(within(claim, "spec"), "volumeMode", "Filesystem")


def _daemon_set(request: Request, spec: Object) -> None:
    strategy = within(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or _ROLLING
    if strategy["type"] == _ROLLING:
        rolling = within(strategy, "rollingUpdate")
        _fill(request, rolling, "spec.updateStrategy.rollingUpdate", "maxUnavailable", 1)
        _quietly(rolling, "maxSurge", 0)
    _template(request, spec)


def _job(request: Request, spec: Object) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    _quietly(spec, "parallelism", 1)
    labels = section(spec, "template", "metadata").get("labels")
    if labels and request.kind == "Job":
        metadata = within(request.object, "metadata")
        metadata["labels"] = metadata.get("labels") or deep_copy_json(labels)
    _quietly(spec, "backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _MANY)
    _quietly(spec, "completionMode", "NonIndexed")
    _quietly(spec, "suspend", False)
    _quietly(spec, "manualSelector", False)
    replacement = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
    _quietly(spec, "podReplacementPolicy", replacement)
    _pod_failure_policy(spec)
    _template(request, spec)


def _pod_failure_policy(spec: Object) -> None:
    """The status of a pod condition in a rule is True by default."""
    for rule in each(section(spec, "podFailurePolicy"), "rules"):
        for condition in each(rule, "onPodConditions"):
            condition["status"] = condition.get("status") or "True"


def _cron_job(request: Request, spec: Object) -> None:
    """A job template gets the defaults of pods, but few of a job's own: each Job gets those itself."""
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    _quietly(spec, "suspend", False)
    of_jobs = within(within(spec, "jobTemplate"), "spec")
    _pod_failure_policy(of_jobs)
    _template(request, of_jobs, "spec.jobTemplate.spec.template.spec")


def _namespace(request: Request, spec: Object) -> None:
    metadata = within(request.object, "metadata")
    within(metadata, "labels")["kubernetes.io/metadata.name"] = metadata.get("name") or ""
    if request.old is not None:
        # They can be changed only through a subresource.
        spec["finalizers"] = section(request.old, "spec").get("finalizers") or []
    elif spec.get("finalizers") and "kubernetes" not in spec["finalizers"]:
        spec["finalizers"] = [*spec["finalizers"], "kubernetes"]


def _template(request: Request, spec: Object, path: str = "spec.template.spec") -> None:
    template = within(spec, "template")
    within(template, "metadata")
    pod = within(template, "spec")
    default_pod_spec(pod)
    _drop_disabled(request, pod, path)


def _one_replica(request: Request, spec: Object) -> None:
    _fill(request, spec, "spec", "replicas", 1)


def _fill(request: Request, owner: Object, path: str, key: str, value: Any) -> None:
    if owner.get(key) is None:
        owner[key] = value
        request.record_change(STEP, f"{path}.{key}", f"{value} by default")


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
    "PodTemplate": lambda request, obj: _template(request, obj, "template.spec"),
    "ControllerRevision": lambda request, obj: None,
}


_NAMES = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
_LOCAL = "localhost/"


def copy_app_armor(request: Request) -> None:
    """For a new pod; the API server warns of every annotation that it copies or cannot read."""
    annotations = section(request.object, "metadata").get("annotations")
    spec = section(request.object, "spec")
    if not annotations or request.old is not None or section(spec, "os").get("name") == "windows":
        return
    own = section(spec, "securityContext").get("appArmorProfile")
    for _, container in containers_of(spec, ""):
        key = f"{APP_ARMOR}{container.get('name')}"
        if key not in annotations or section(container, "securityContext").get("appArmorProfile") is not None:
            continue
        profile = profile_of(annotations[key] or "")
        if profile is not None and profile != own:
            within(container, "securityContext")["appArmorProfile"] = profile
        if profile is None or profile != own:
            text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
            request.warnings.add(f"metadata.annotations[{key}]: {text}")


def profile_of(annotation: str) -> Object | None:
    """The field that says what an annotation says, None if none can."""
    if annotation in _NAMES:
        return {"type": _NAMES[annotation]}
    local = annotation.removeprefix(_LOCAL)
    if local == annotation or not local:
        return None
    profile, problems = {"type": "Localhost", "localhostProfile": local}, Problems()
    check_profile(problems, profile, "AppArmor", "")
    return None if problems.causes else profile
