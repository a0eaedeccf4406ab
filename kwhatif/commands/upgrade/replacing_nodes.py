"""The new nodes of an upgrade: like the old ones, except what is to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, NodeSystemInfo, Taint
from kwhatif.api.quantity import Quantity, QuantityError
from kwhatif.commands.upgrade.strategies import DeletePolicy
from kwhatif.errors import UsageError
from kwhatif.simulation.edits.add_nodes import equip, new_node
from kwhatif.simulation.edits.daemon_pods import start_daemons
from kwhatif.simulation.edits.draft import Draft

ORIGIN = "upgrade"


class NodeChanges(msgspec.Struct, frozen=True):
    """Changes of the new nodes: labels (None removes one), more taints, amounts, the kubelet's version."""

    labels: Mapping[str, str | None] = {}
    taints: Sequence[Taint] = ()
    amounts: Mapping[str, Quantity] = {}
    kubelet_version: str = ""


def parse_changes(version: str, labels: Sequence[str], taints: Sequence[str], sizes: Sequence[str]) -> NodeChanges:
    """The changes that are written as kubectl has labels and taints. Raises UsageError."""
    new_labels: dict[str, str | None] = {}
    for text in labels:
        key, equals, value = text.partition("=")
        if not equals and not text.endswith("-"):
            raise UsageError(f"--new-label {text}: expected KEY=VALUE or KEY-")
        new_labels[key if equals else text[:-1]] = value if equals else None
    new_taints = []
    for text in taints:
        what, colon, effect = text.rpartition(":")
        if not colon or effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            raise UsageError(f"--new-taint {text}: expected KEY[=VALUE]:EFFECT")
        key, _, value = what.partition("=")
        new_taints.append(Taint(key=key, value=value or None, effect=effect))
    amounts = {}
    for text in sizes:
        name, equals, amount = text.partition("=")
        if not equals:
            raise UsageError(f"--new-size {text}: expected RESOURCE=AMOUNT")
        try:
            amounts[name] = Quantity.parse(amount)
        except QuantityError as error:
            raise UsageError(f"--new-size {text}: {error}") from None
    return NodeChanges(new_labels, new_taints, amounts, version)


def in_delete_order(nodes: Sequence[Node], policy: DeletePolicy | None) -> list[Node]:
    """The nodes in the order in which a MachineSet of Cluster API deletes its machines; without a policy as they are.

    Those that are not ready go first, then by age, equals by name. ``Random`` prefers none of the others, so it comes
    to the order of names: here that of nodes, as machines are not known. Upstream:
    internal/controllers/machineset/machineset_delete_policy.go.
    """
    if policy is None:
        return list(nodes)
    by_name = sorted(nodes, key=lambda node: node.name)
    if policy != "Random":
        by_name.sort(key=lambda node: node.metadata.creation_timestamp or "", reverse=policy == "Newest")
    return sorted(by_name, key=lambda node: node.is_ready)


def add_new_nodes(draft: Draft, old: Sequence[Node], changes: NodeChanges) -> dict[str, str]:
    """Put a new node for each old one into a draft, with the pods of daemon sets. Returns old name -> new name."""
    taken = {node.name for node in draft.nodes}
    names: dict[str, str] = {}
    made: list[Node] = []
    for node in old:
        name = f"{node.name}-new"
        while name in taken:
            name += "-1"
        taken.add(name)
        names[node.name] = name
        new = _with_changes(new_node(node, name, places={}, labels=changes.labels, taints=changes.taints), changes)
        draft.snapshot.objects.add(new)
        equip(draft, node.name, [name])
        made.append(new)
    if "DaemonSet" in draft.snapshot.whole:
        start_daemons(draft, made, old[0], ORIGIN)
    else:
        for node, new in zip(old, made, strict=True):
            start_daemons(draft, [new], node, ORIGIN)
    return names


def _with_changes(node: Node, changes: NodeChanges) -> Node:
    status = node.status
    if changes.amounts:
        amounts = dict(changes.amounts)
        status = replace(
            status,
            capacity={**(status.capacity or {}), **amounts},
            allocatable={**(status.allocatable or status.capacity or {}), **amounts},
        )
    if changes.kubelet_version:
        status = replace(status, node_info=NodeSystemInfo(kubelet_version=changes.kubelet_version))
    return node if status is node.status else replace(node, status=status)
