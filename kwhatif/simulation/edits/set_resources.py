"""Changes requests and limits of workloads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from kwhatif.api.core import ResourceList
from kwhatif.api.decode import describe_value, step
from kwhatif.api.quantity import Quantity
from kwhatif.errors import InputError
from kwhatif.simulation.edits.kind import EditKind, EditPart

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft


class ContainerResources(EditPart):
    """Amounts that take the place of those of the same resources; others stay."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None


class WorkloadResources(EditPart):
    """A workload and those of its containers that change."""

    kind: Annotated[str, Meta(description="Deployment, StatefulSet, DaemonSet and so on, or Pod.")]
    name: str
    containers: dict[str, ContainerResources]
    namespace: str = "default"

    @property
    def workload(self) -> str:
        """``Kind/namespace/name``."""
        return f"{self.kind}/{self.namespace}/{self.name}"


class SetResources(EditPart):
    """Give workloads other requests and limits. Their pods keep their nodes, as long as there is room for them."""

    workloads: list[WorkloadResources]


def _check(what: SetResources) -> None:
    if not what.workloads:
        raise InputError("expected workloads, found none", place=".workloads")
    for number, workload in enumerate(what.workloads):
        place = f".workloads[{number}].containers"
        if not workload.containers:
            raise InputError("expected containers, found none", place=place)
        for name, container in workload.containers.items():
            for side in ("requests", "limits"):
                _check_amounts(getattr(container, side) or {}, f"{place}{step(name)}.{side}")


def _check_amounts(amounts: Mapping[str, Quantity], place: str) -> None:
    for name, amount in amounts.items():
        if amount < Quantity.from_units(0):
            raise InputError(f"expected no less than 0, found {describe_value(str(amount))}", place=place + step(name))


def _apply(draft: Draft, what: SetResources, origin: str) -> str:
    from kwhatif.simulation.edits.new_resources import set_resources

    new = {
        workload.workload: {name: (one.requests or {}, one.limits or {}) for name, one in workload.containers.items()}
        for workload in what.workloads
    }
    counts = set_resources(draft, new, origin)
    missing = next(
        (number for number, workload_resources in enumerate(what.workloads) if not counts[workload_resources.workload]),
        None,
    )
    if missing is not None:
        name = what.workloads[missing].workload
        raise InputError(f"there is no {name} with pods in the snapshot", place=f".workloads[{missing}].name")
    names = ", ".join(sorted(new)[:3]) + (f" and {len(new) - 3} more" if len(new) > 3 else "")
    return f"set resources of {names}"


SET_RESOURCES = EditKind("set_resources", SetResources, _apply, _check)
