"""Rules for a pod, and for what a pod and a pod template share.

Upstream: pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.admission.request import copied, each
from kwhatif.admission.validation.name_rules import check_labels, dns_label, dns_subdomain, label_key
from kwhatif.admission.validation.problems import Problems
from kwhatif.admission.validation.validate_affinity import check_affinity
from kwhatif.admission.validation.validate_containers import check_containers, check_host_network, check_own_image
from kwhatif.admission.validation.validate_environment import check_file_variables
from kwhatif.admission.validation.validate_hosts import (
    DNS_POLICIES,
    check_dns,
    check_host_aliases,
    check_host_users,
    check_hostname_override,
)
from kwhatif.admission.validation.validate_metadata import check_metadata
from kwhatif.admission.validation.validate_profiles import check_pod_annotations, check_profiles
from kwhatif.admission.validation.validate_resources import check_overhead, check_pod_resources
from kwhatif.admission.validation.validate_security import check_pod_security
from kwhatif.admission.validation.validate_spread import check_spread_constraints
from kwhatif.admission.validation.validate_tolerations import check_tolerations
from kwhatif.admission.validation.validate_volumes import check_resource_claims, check_volumes
from kwhatif.admission.validation.validate_windows import check_host_processes, check_operating_system
from kwhatif.admission.world import name_of
from kwhatif.versions import Features

_RESTARTS = ("Always", "OnFailure", "Never")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_INT32 = 2**31 - 1


_SOUND: list[tuple[Features, Object]] = []
"""The last pod spec in which nothing was wrong by some rules: the next pod is often made of the same template."""


def check_pod(problems: Problems, pod: Object) -> None:
    spec, metadata = pod.get("spec") or {}, pod.get("metadata")
    check_metadata(problems, pod)
    check_pod_annotations(problems, metadata, spec, "metadata.annotations")
    if not _SOUND or _SOUND[0] != (problems.features, spec):
        _check_own_spec(problems, spec, name_of(pod))
    check_profiles(problems, metadata, spec, "spec")


def _check_own_spec(problems: Problems, spec: Object, name: str) -> None:
    before = len(problems.causes)
    check_pod_spec(problems, spec, "spec", pod=name)
    for key in ("containers", "initContainers"):
        for i, container in enumerate(each(spec, key)):
            check_own_image(problems, container, f"spec.{key}[{i}]")
    if each(spec, "ephemeralContainers"):
        problems.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and each(spec, "schedulingGates"):
        problems.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    # The claims of ephemeral volumes are named after the pod.
    if len(problems.causes) == before and not any(volume.get("ephemeral") for volume in each(spec, "volumes")):
        _SOUND[:] = [(problems.features, copied(spec))]


def check_pod_spec(problems: Problems, spec: Object, path: str, *, pod: str = "") -> None:
    """``pod`` is the pod's name; without one this is the pod of a template."""
    volumes = check_volumes(problems, each(spec, "volumes"), f"{path}.volumes", pod)
    check_resource_claims(problems, each(spec, "resourceClaims"), f"{path}.resourceClaims")
    check_containers(problems, spec, volumes, path)
    if (spec.get("os") or {}).get("name") == "windows" and spec.get("resources") is not None:
        problems.forbidden(f"{path}.resources", "may not be set for a windows pod")
    else:
        check_pod_resources(problems, spec, f"{path}.resources")
    check_host_network(problems, spec, path, in_pod=bool(pod))
    for key, values in (("restartPolicy", _RESTARTS), ("dnsPolicy", DNS_POLICIES)):
        if spec.get(key) and spec[key] not in values:
            problems.unsupported(f"{path}.{key}", spec[key], values)
    check_labels(problems, spec.get("nodeSelector"), f"{path}.nodeSelector")
    check_pod_security(problems, spec, f"{path}.securityContext")
    check_affinity(problems, spec.get("affinity"), f"{path}.affinity")
    check_dns(problems, spec, f"{path}.dnsConfig")
    for i, gate in enumerate(each(spec, "readinessGates")):
        kind = gate.get("conditionType") or ""
        problems.invalid(f"{path}.readinessGates[{i}].conditionType", kind, *label_key(kind))
    _gates(problems, each(spec, "schedulingGates"), f"{path}.schedulingGates")
    check_spread_constraints(problems, each(spec, "topologySpreadConstraints"), f"{path}.topologySpreadConstraints")
    check_host_processes(problems, spec, path)
    check_host_users(problems, spec, path)
    check_hostname_override(problems, spec, path)
    _subdomain(problems, spec.get("serviceAccountName") or spec.get("serviceAccount"), f"{path}.serviceAccountName")
    _subdomain(problems, spec.get("nodeName"), f"{path}.nodeName")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32:
        problems.invalid(f"{path}.activeDeadlineSeconds", deadline, f"must be between 1 and {_INT32}, inclusive")
    for key in ("hostname", "subdomain"):
        if spec.get(key):
            problems.invalid(f"{path}.{key}", spec[key], *dns_label(spec[key]))
    check_tolerations(problems, each(spec, "tolerations"), f"{path}.tolerations")
    check_host_aliases(problems, each(spec, "hostAliases"), f"{path}.hostAliases")
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
    check_operating_system(problems, spec, path)
    _scheduling_group(problems, spec.get("schedulingGroup"), f"{path}.schedulingGroup.podGroupName")
    check_file_variables(problems, spec, path)


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
