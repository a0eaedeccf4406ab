"""Advice as the requests and limits that replace the present ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.api.core import ResourceList
from kwhatif.api.quantity import Quantity
from kwhatif.commands.rightsize.advice import Advice
from kwhatif.simulation.edits.new_resources import Amounts, NewResources


def resources_of(changes: Mapping[str, Sequence[Advice]]) -> NewResources:
    """Workload -> container -> requests and limits."""
    return {name: _of_containers(mine) for name, mine in changes.items()}


def _of_containers(advice: Sequence[Advice]) -> dict[str, Amounts]:
    found: dict[str, tuple[ResourceList, ResourceList]] = {}
    for each in advice:
        requests, limits = found.setdefault(each.container, ({}, {}))
        requests[each.resource] = _quantity(each.resource, each.advised)
        if each.new_limit is not None:
            limits[each.resource] = _quantity(each.resource, each.new_limit)
    return found


def _quantity(resource: str, amount: int) -> Quantity:
    return Quantity.from_milli(amount) if resource == "cpu" else Quantity.from_units(amount, binary=True)
