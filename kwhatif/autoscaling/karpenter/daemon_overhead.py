"""The pod that each DaemonSet would put on a new node: like the newest that runs, else as its template says.

Upstream: getDaemonSetPods in pkg/controllers/provisioning/provisioner.go, pkg/utils/daemonset.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from kwhatif.api.core import Affinity, Container, NodeAffinity, Pod, PodSpec, ResourceRequirements
from kwhatif.api.decode import convert
from kwhatif.autoscaling.karpenter.wants import Wants

Object = Mapping[str, Any]


def daemon_pods(daemon_sets: Iterable[Object], pods: Iterable[Pod]) -> list[Wants]:
    """One for each DaemonSet, by namespace and name. Pods of templates have neither."""
    newest: dict[str, Pod] = {}
    for pod in pods:
        controller = pod.controller
        if controller is not None and controller.uid:
            there = newest.get(controller.uid)
            if there is None or (pod.metadata.creation_timestamp or "") > (there.metadata.creation_timestamp or ""):
                newest[controller.uid] = pod
    ordered = sorted(daemon_sets, key=lambda each: (each["metadata"].get("namespace", ""), each["metadata"]["name"]))
    return [Wants.of(_pod(each, newest.get(each["metadata"].get("uid", "")))) for each in ordered]


def _pod(daemon_set: Object, running: Pod | None) -> Pod:
    template = convert(daemon_set["spec"]["template"].get("spec") or {}, PodSpec)
    pod = running or Pod(spec=_limits_as_requests(template))
    asked = template.affinity.node_affinity if template.affinity else None
    if asked is None or asked.required_during_scheduling_ignored_during_execution is None:
        return pod
    affinity = pod.spec.affinity or Affinity()
    node = replace(
        affinity.node_affinity or NodeAffinity(),
        required_during_scheduling_ignored_during_execution=asked.required_during_scheduling_ignored_during_execution,
    )
    return replace(pod, spec=replace(pod.spec, affinity=replace(affinity, node_affinity=node)))


def _limits_as_requests(spec: PodSpec) -> PodSpec:
    def completed(containers: list[Container] | None) -> list[Container] | None:
        if containers is None:
            return None
        return [replace(each, resources=_completed(each.resources)) for each in containers]

    return replace(spec, containers=completed(spec.containers), init_containers=completed(spec.init_containers))


def _completed(resources: ResourceRequirements | None) -> ResourceRequirements:
    resources = resources or ResourceRequirements()
    return replace(resources, requests={**(resources.limits or {}), **(resources.requests or {})})
