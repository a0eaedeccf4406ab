"""The few defaults without which a manifest's pod could not be scheduled, each one said.

Requests default to limits, the scheduler to ``default-scheduler``, and the priority to that of the pod's class
(or of the class that is the global default). The label keys of pod affinity terms become part of the terms'
selectors, which is all the scheduler looks at. Upstream: pkg/apis/core/v1/defaults.go,
pkg/registry/core/pod/strategy.go and plugin/pkg/admission/priority/admission.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.api.core import Affinity, Container, Pod, PodAffinity, PodAffinityTerm
from kwhatif.api.meta import LabelSelectorRequirement
from kwhatif.api.others import PriorityClass

__all__ = ["Defaulted", "with_defaults"]

SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclass(frozen=True, slots=True)
class Defaulted:
    """A pod as the scheduler would see it; ``changes`` says what was filled in, ``unknown_class`` what was not."""

    pod: Pod
    changes: tuple[str, ...]
    unknown_class: str = ""


def with_defaults(pod: Pod, classes: Sequence[PriorityClass]) -> Defaulted:
    """Fill in what the API server would have."""
    changes: list[str] = []
    spec = pod.spec
    if not spec.scheduler_name:
        spec = replace(spec, scheduler_name="default-scheduler")
    containers = [_from_limits(c, changes) for c in spec.containers or ()]
    initial = [_from_limits(c, changes) for c in spec.init_containers or ()]
    affinity = _with_label_keys(spec.affinity, pod.metadata.labels or {}, changes)
    spec = replace(spec, containers=containers, init_containers=initial or None, affinity=affinity)
    unknown = ""
    if spec.priority is None:
        found, unknown = _class_of(spec.priority_class_name, classes)
        if found is not None:
            name, value, policy = found
            spec = replace(spec, priority=value, priority_class_name=name)
            if policy and not spec.preemption_policy:
                spec = replace(spec, preemption_policy=policy)
            changes.append(f"priority {value} from PriorityClass {name}")
    return Defaulted(replace(pod, spec=spec), tuple(changes), unknown)


def _class_of(name: str | None, classes: Sequence[PriorityClass]) -> tuple[tuple[str, int, str | None] | None, str]:
    """(name, value, preemption policy) of the class that applies, and the name of a class that is not there."""
    for known in classes:
        if known.name == name or (not name and known.global_default):
            return (known.name, known.value, known.preemption_policy), ""
    if name in SYSTEM_CLASSES:
        return (name, SYSTEM_CLASSES[name], None), ""
    return None, name or ""


def _with_label_keys(affinity: Affinity | None, labels: Mapping[str, str], changes: list[str]) -> Affinity | None:
    """Pod affinity terms whose selectors also ask for what their label keys stand for in this pod."""

    def term(given: PodAffinityTerm) -> PodAffinityTerm:
        selector = given.label_selector
        if selector is None:
            return given
        asked = list(selector.match_expressions or ())
        keys = [(key, "In") for key in given.match_label_keys or ()]
        keys += [(key, "NotIn") for key in given.mismatch_label_keys or ()]
        for key, operator in keys:
            if key not in labels:
                continue
            more = LabelSelectorRequirement(key=key, operator=operator, values=[labels[key]])
            if more not in asked:
                asked.append(more)
                changes.append(f"pod affinity term by {given.topology_key}: {key} {operator} ({labels[key]})")
        return replace(given, label_selector=replace(selector, match_expressions=asked or None))

    def side(given: PodAffinity | None) -> PodAffinity | None:
        if given is None:
            return None
        required = given.required_during_scheduling_ignored_during_execution or ()
        preferred = given.preferred_during_scheduling_ignored_during_execution or ()
        return replace(
            given,
            required_during_scheduling_ignored_during_execution=[term(t) for t in required] or None,
            preferred_during_scheduling_ignored_during_execution=[
                replace(t, pod_affinity_term=term(t.pod_affinity_term)) for t in preferred
            ]
            or None,
        )

    if affinity is None:
        return None
    near, far = side(affinity.pod_affinity), side(affinity.pod_anti_affinity)
    return replace(affinity, pod_affinity=near, pod_anti_affinity=far)


def _from_limits(container: Container, changes: list[str]) -> Container:
    resources = container.resources
    limits = (resources.limits if resources else None) or {}
    requests = (resources.requests if resources else None) or {}
    missing = {name: quantity for name, quantity in limits.items() if name not in requests}
    if resources is None or not missing:
        return container
    changes.append(f"container {container.name}: requests of {', '.join(sorted(missing))} from its limits")
    return replace(container, resources=replace(resources, requests={**requests, **missing}))
