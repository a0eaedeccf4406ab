"""Pods of workloads that Kueue has admitted: with the selectors and tolerations of their flavors, and their domains.

Upstream: pkg/podset/podset.go (FromAssignment, Merge) and pkg/controller/tas/topology_ungater.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kwhatif.api.core import Pod, PodSchedulingGate, PodSpec
from kwhatif.api.kueue import ResourceFlavor
from kwhatif.kueue.workload import PodSetAdmission

ADMISSION_GATE, TOPOLOGY_GATE = "kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"


class AdmittedPodSet:
    """A pod set with its flavors. Its pods go to the domains of its topology one after the other."""

    def __init__(self, admission: PodSetAdmission, flavors: Mapping[str, ResourceFlavor]) -> None:
        self.count = admission.count
        self._flavors = [flavors[name] for name in sorted(set(admission.flavors.values())) if name in flavors]
        self._domains = domains_of(admission)

    def release(self, pod: Pod) -> Pod:
        """The next pod, as its controller makes it, or as Kueue takes its gates away."""
        spec = pod.spec
        selector, tolerations = dict(spec.node_selector or {}), list(spec.tolerations or ())
        for flavor in self._flavors:
            selector |= flavor.spec.node_labels or {}
            tolerations += [toleration for toleration in flavor.spec.tolerations or () if toleration not in tolerations]
        selector |= next(self._domains, {})
        gates = [
            scheduling_gate
            for scheduling_gate in spec.scheduling_gates or ()
            if scheduling_gate.name not in (ADMISSION_GATE, TOPOLOGY_GATE)
        ]
        spec = replace(
            spec,
            node_selector=selector or None,
            tolerations=tolerations or None,
            scheduling_gates=gates or None,
        )
        return replace(pod, spec=spec)


def domains_of(admission: PodSetAdmission) -> Iterator[dict[str, str]]:
    """The labels of the domain of each pod, in the order of the domains."""
    if admission.topology is None:
        return
    for values, count in admission.topology.domains:
        for _ in range(count):
            yield dict(zip(admission.topology.levels, values, strict=False))


def hold(pod: Pod) -> Pod:
    """The pod behind Kueue's gate; also where upstream would not even make it, since its job is suspended."""
    spec: PodSpec = pod.spec
    gates = spec.scheduling_gates or []
    if is_held(pod):
        return pod
    return replace(pod, spec=replace(spec, scheduling_gates=[*gates, PodSchedulingGate(name=ADMISSION_GATE)]))


def is_held(pod: Pod) -> bool:
    """Whether the pod is behind Kueue's gate."""
    return any(scheduling_gate.name == ADMISSION_GATE for scheduling_gate in pod.spec.scheduling_gates or ())
