"""Changes the amount of a resource on nodes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kwhatif.api.core import Node, ResourceList
from kwhatif.api.decode import describe_value, step
from kwhatif.api.quantity import Quantity
from kwhatif.api.selectors import is_label_key
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.errors import InputError
from kwhatif.simulation.edits.kind import EditKind, EditPart, Nodes, Option, Plain, build_usage_error
from kwhatif.simulation.edits.selection import change_nodes, describe_nodes, select_nodes

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft

Amounts = dict[str, Quantity]

_PLAIN_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
_SIDE = re.compile(r"\.(allocatable|capacity)\.")


class SetAmounts(EditPart):
    """Set amounts by resource. One of the capacity moves the allocatable one along, as a kubelet would."""

    nodes: Nodes
    allocatable: Amounts | None = None
    capacity: Amounts | None = None


def resize_node(node: Node, allocatable: Mapping[str, Quantity], capacity: Mapping[str, Quantity]) -> Node:
    """With other amounts. A capacity moves what is allocatable by as much, never below zero, unless that is given, too.

    Upstream: pkg/kubelet/nodestatus/setters.go (MachineInfo): what is reserved stays reserved.
    """
    status = node.status
    whole, for_pods = dict(status.capacity or {}), dict(status.for_pods)
    moved: ResourceList = {}
    for name, amount in capacity.items():
        before = whole.get(name)
        reserved = before.milli_value() - for_pods[name].milli_value() if before and name in for_pods else 0
        left = max(0, amount.milli_value() - max(0, reserved))
        moved[name] = amount if not reserved else _of_milli(name, left)
        whole[name] = amount
    changed = replace(
        status, capacity=whole if capacity else status.capacity, allocatable={**for_pods, **moved, **allocatable}
    )
    return node if changed == status else replace(node, status=changed)


def _of_milli(name: str, milli: int) -> Quantity:
    return Quantity.from_milli(milli) if name == "cpu" else Quantity.from_units(milli // 1000)


def _check(what: SetAmounts) -> None:
    if not what.allocatable and not what.capacity:
        raise InputError("expected an amount under allocatable or capacity, found none")
    _check_amounts(what.allocatable or {}, ".allocatable")
    _check_amounts(what.capacity or {}, ".capacity")


def _check_amounts(amounts: Mapping[str, Quantity], place: str) -> None:
    for name, amount in amounts.items():
        here = place + step(name)
        if not is_label_key(name):
            raise InputError(
                f'expected a resource such as "cpu" or "example.com/gpu", found {describe_value(name)}', place=here
            )
        if "/" not in name and name not in _PLAIN_RESOURCES and not name.startswith("hugepages-"):
            hint = (
                suggest_spelling(name, _PLAIN_RESOURCES)
                or f"; there are {', '.join(_PLAIN_RESOURCES)} and hugepages-..."
            )
            raise InputError(f"Kubernetes has no resource {describe_value(name)}{hint}", place=here)
        if amount < Quantity.from_units(0):
            raise InputError(f"expected no less than 0, found {describe_value(str(amount))}", place=here)
        if (name == "pods" or "/" in name) and amount.milli_value() % 1000:
            raise InputError(f"expected a whole number, found {describe_value(str(amount))}", place=here)


def _apply(draft: Draft, what: SetAmounts, origin: str) -> str:
    nodes = select_nodes(draft, what.nodes, ".nodes")
    allocatable, capacity = what.allocatable or {}, what.capacity or {}
    change_nodes(draft, nodes, lambda node: resize_node(node, allocatable, capacity), origin)
    sides = (("allocatable", allocatable), ("capacity", capacity))
    amounts = [f"{side} {name} to {amount}" for side, of_side in sides for name, amount in of_side.items()]
    return f"set {', '.join(amounts)} on {describe_nodes(what.nodes, nodes)}"


def _read(text: str, names: Collection[str]) -> Plain:
    """Dots stand in names of nodes and of resources alike: the longest name that a node has is meant."""
    form = "NODES.allocatable.RESOURCE=AMOUNT or NODES.capacity.RESOURCE=AMOUNT"
    path, equals, amount = text.rpartition("=")
    after = path.find("]") + 1 if path.startswith("[") else 0
    splits = [match for match in _SIDE.finditer(path) if match.start() >= max(after, 1)]
    if not equals or not splits or (after and splits[0].start() != after):
        raise build_usage_error(form, text)
    known = [match for match in splits if path[: match.start()] in names]
    split = known[-1] if known else splits[0]
    resource = path[split.end() :]
    return {"set": {"nodes": path[: split.start()], split[1]: {resource: amount}}}


SET = EditKind("set", SetAmounts, _apply, _check)
OPTION = Option(
    "--set", "NODES.allocatable.RESOURCE=AMOUNT", "What if nodes had another amount of a resource? (repeatable)", _read
)
