"""Rules for a pod, and for what a pod and a pod template share.

Upstream: pkg/apis/core/validation/validation.go. Only fields that scheduling reads, and what stands in their way.
"""

from __future__ import annotations

import re

from kwhatif.admission.answer import Object
from kwhatif.admission.request import each
from kwhatif.admission.validation.name_rules import check_labels, dns_subdomain, label_key
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_affinity import check_affinity
from kwhatif.admission.validation.validate_containers import check_containers, check_host_network
from kwhatif.admission.validation.validate_metadata import check_metadata
from kwhatif.admission.validation.validate_resources import check_overhead, check_pod_resources
from kwhatif.admission.validation.validate_spread import check_spread_constraints
from kwhatif.admission.validation.validate_tolerations import check_tolerations
from kwhatif.admission.validation.validate_volumes import check_resource_claims, check_volumes
from kwhatif.admission.world import name_of

__all__ = ["check_deletion_cost", "check_pod", "check_pod_spec"]

_RESTARTS = ("Always", "OnFailure", "Never")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_INT32 = 2**31 - 1
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def check_pod(problems: Problems, pod: Object) -> None:
    spec = pod.get("spec") or {}
    check_metadata(problems, pod)
    check_deletion_cost(problems, pod.get("metadata"), "metadata.annotations")
    check_pod_spec(problems, spec, "spec", pod=name_of(pod))
    for key in ("containers", "initContainers"):
        for i, container in enumerate(each(spec, key)):
            image = container.get("image") or ""
            if image != image.strip():
                why = "must not have leading or trailing whitespace"
                problems.invalid(f"spec.{key}[{i}].image", image, why)
    if each(spec, "ephemeralContainers"):
        problems.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and each(spec, "schedulingGates"):
        problems.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def check_deletion_cost(problems: Problems, metadata: Object | None, path: str) -> None:
    """The annotation that ranks a pod when its owner scales down."""
    cost = ((metadata or {}).get("annotations") or {}).get(_DELETION_COST)
    if cost is not None and not (re.fullmatch("0|-?[1-9][0-9]{0,9}", cost) and -_INT32 - 1 <= int(cost) <= _INT32):
        problems.invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer")


def check_pod_spec(problems: Problems, spec: Object, path: str, *, pod: str = "") -> None:
    """``pod`` is the pod's name; without one this is the pod of a template."""
    check_volumes(problems, each(spec, "volumes"), f"{path}.volumes", pod)
    check_resource_claims(problems, each(spec, "resourceClaims"), f"{path}.resourceClaims")
    check_containers(problems, spec, path)
    check_pod_resources(problems, spec, f"{path}.resources")
    check_host_network(problems, spec, path, in_pod=bool(pod))
    restart = spec.get("restartPolicy")
    if restart not in _RESTARTS:
        problems.unsupported(f"{path}.restartPolicy", restart, _RESTARTS)
    check_labels(problems, spec.get("nodeSelector"), f"{path}.nodeSelector")
    check_affinity(problems, spec.get("affinity"), f"{path}.affinity")
    _gates(problems, each(spec, "schedulingGates"), f"{path}.schedulingGates")
    check_spread_constraints(problems, each(spec, "topologySpreadConstraints"), f"{path}.topologySpreadConstraints")
    if spec.get("hostUsers") is False and spec.get("hostNetwork"):
        problems.forbidden(f"{path}.hostNetwork", "when `hostUsers` is false")
    _subdomain(problems, spec.get("nodeName"), f"{path}.nodeName")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32:
        problems.invalid(f"{path}.activeDeadlineSeconds", deadline, f"must be between 1 and {_INT32}, inclusive")
    check_tolerations(problems, each(spec, "tolerations"), f"{path}.tolerations")
    _subdomain(problems, spec.get("priorityClassName"), f"{path}.priorityClassName")
    runtime = spec.get("runtimeClassName")
    if runtime is not None:
        problems.invalid(f"{path}.runtimeClassName", runtime, *dns_subdomain(runtime))
    preemption = spec.get("preemptionPolicy")
    if preemption == "":
        problems.required(f"{path}.preemptionPolicy")
    elif preemption is not None and preemption not in _PREEMPTION:
        problems.unsupported(f"{path}.preemptionPolicy", preemption, _PREEMPTION)
    check_overhead(problems, spec.get("overhead"), f"{path}.overhead")
    _scheduling_group(problems, spec.get("schedulingGroup"), f"{path}.schedulingGroup.podGroupName")


def _gates(problems: Problems, gates: list[Object], path: str) -> None:
    seen: set[str] = set()
    for i, gate in enumerate(gates):
        name = gate.get("name") or ""
        problems.invalid(f"{path}[{i}]", name, *label_key(name))
        if name in seen:
            problems.duplicate(f"{path}[{i}]", name)
        seen.add(name)


def _subdomain(problems: Problems, value: str | None, path: str) -> None:
    if value:
        problems.invalid(path, value, *dns_subdomain(value))


def _scheduling_group(problems: Problems, group: Object | None, path: str) -> None:
    if group is None:
        return
    name = group.get("podGroupName")
    if name is None:
        problems.invalid(path, None, "must specify one of: `podGroupName`")
    else:
        problems.invalid(path, name, *dns_subdomain(name))
