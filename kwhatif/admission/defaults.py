"""The few defaults without which a manifest's pod could not be scheduled, each one said.

Requests default to limits, the scheduler to ``default-scheduler``, and the priority to that of the pod's class
(or of the class that is the global default). Upstream: pkg/apis/core/v1/defaults.go and
plugin/pkg/admission/priority/admission.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.api.core import Container, Pod
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
    spec = replace(spec, containers=containers, init_containers=initial or None)
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


def _from_limits(container: Container, changes: list[str]) -> Container:
    resources = container.resources
    limits = (resources.limits if resources else None) or {}
    requests = (resources.requests if resources else None) or {}
    missing = {name: quantity for name, quantity in limits.items() if name not in requests}
    if resources is None or not missing:
        return container
    changes.append(f"container {container.name}: requests of {', '.join(sorted(missing))} from its limits")
    return replace(container, resources=replace(resources, requests={**requests, **missing}))
