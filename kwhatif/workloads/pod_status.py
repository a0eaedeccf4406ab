"""How far along a pod is: its phase, whether it is ready and since when.

Upstream: pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go.
"""

from __future__ import annotations

from datetime import datetime

from kwhatif.admission.answer import Object
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.workloads.objects import section


def phase_of(pod: Object) -> str:
    """The phase; where a snapshot does not tell it, a pod with a node is taken to run."""
    told = section(pod, "status").get("phase")
    return str(told or ("Running" if section(pod, "spec").get("nodeName") else "Pending"))


def is_over(pod: Object) -> bool:
    """Whether the pod has run its course."""
    return section(pod, "status").get("phase") in ("Succeeded", "Failed")


def is_ready(pod: Object) -> bool:
    """Whether the pod is ready; where a snapshot tells no conditions, a running pod is taken to be."""
    if section(pod, "status").get("conditions") is None:
        return phase_of(pod) == "Running"
    return bool(_ready_condition(pod))


def ready_since(pod: Object) -> datetime | None:
    """When a ready pod became ready; None if that is not told."""
    return moment(_ready_condition(pod).get("lastTransitionTime"), pod, "lastTransitionTime of condition Ready")


def restarts_of(pod: Object) -> tuple[int, int]:
    """The most restarts of any container, and of any sidecar."""
    status, spec = section(pod, "status"), section(pod, "spec")
    sidecars = {c.get("name") for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    initial = [s for s in status.get("initContainerStatuses") or () if s.get("name") in sidecars]
    return _most(status.get("containerStatuses") or []), _most(initial)


def moment(text: object, pod: Object | None = None, field: str = "") -> datetime | None:
    """A time as the API writes it; None for none. Raises InputError that names the ``pod`` whose ``field`` it is."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        problem = f'expected a time such as "2026-03-01T11:29:02Z", found {described(text)}'
        name = section(pod or {}, "metadata").get("name")
        raise InputError(f"{field} of pod {name}: {problem}" if name else problem)
    return found


def _most(statuses: list[Object]) -> int:
    return max((int(status.get("restartCount") or 0) for status in statuses), default=0)


def _ready_condition(pod: Object) -> Object:
    for condition in section(pod, "status").get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") == "True":
            return dict(condition)
    return {}
