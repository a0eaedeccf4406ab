"""Node groups that a snapshot shows, each with the word where, and the autoscaler's flags.

How large a group may be is told by the autoscaler's status, by its flags (``--nodes=min:max:name``) and by the
annotations of Cluster API, in this order; which nodes are its own by their labels, provider IDs and Machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.api.core import Node
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import FLAGS, LISTS
from kwhatif.golang.integers import int64
from kwhatif.snapshot.format.autoscaler_info import AutoscalerInfo
from kwhatif.snapshot.format.model import API_VERSION, Snapshot
from kwhatif.whatif.autoscale.labelled_groups import labelled_groups, members_named
from kwhatif.whatif.autoscale.machine_groups import machine_groups
from kwhatif.whatif.autoscale.node_groups_document import KIND, Group, NodeGroupsFile, members_of
from kwhatif.whatif.autoscale.own_deployment import own_deployment

_GPU_LABELS = ("cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator", "accelerator")


def found_groups(snapshot: Snapshot) -> NodeGroupsFile:
    """All that is found, each group with the word where, and what remains unknown."""
    nodes = snapshot.objects.of(Node)
    called, words = own_deployment(snapshot)
    info = snapshot.autoscaler or AutoscalerInfo()
    flags = _flags(words)
    groups = _groups(snapshot, nodes, called, words, info)
    label = next((label for label in _GPU_LABELS if any(label in (n.metadata.labels or {}) for n in nodes)), None)
    unknown = list(_unknown(groups, words, info))
    return NodeGroupsFile(
        api_version=API_VERSION,
        kind=KIND,
        source=", ".join(filter(None, (called, info.priorities_source))) or None,
        incomplete="; ".join(unknown) or None,
        flags=flags or None,
        gpu_label=label,
        priorities=info.priorities,
        groups=groups,
    )


def _groups(
    snapshot: Snapshot, nodes: Sequence[Node], called: str, words: Sequence[tuple[str, str]], info: AutoscalerInfo
) -> list[Group]:
    sized: dict[str, Group] = {}
    for group in machine_groups(snapshot):
        sized[group.name] = group
    for name, least, most in _told(words):
        _add(sized, Group(name=name, min=least, max=most, source=f"--nodes of {called}"))
    for status in info.groups or ():
        known = Group(name=status.name, min=status.min, max=status.max, target=status.target, source=info.groups_source)
        _add(sized, replace(known, failed_scale_up_ago="0s") if status.backoff else known)
    named = {node.name: node for node in nodes}
    labelled, taken, groups = list(labelled_groups(nodes)), set[str](), []
    for group in sized.values():
        found = None if group.nodes else members_named(group.name, nodes, labelled)
        if found is not None:
            group = replace(group, nodes=found[0], source=f"{group.source}; {found[1]}")
        if _takes(group, named, taken):
            groups.append(group)
        else:
            groups.append(sized[group.name])
    for each in labelled:
        group = Group(name=each.name, nodes=each.members, source=each.source)
        if _takes(group, named, taken):
            groups.append(group)
    return groups


def _takes(group: Group, named: Mapping[str, Node], taken: set[str]) -> bool:
    """Have the nodes of a group be its own, unless some of them are of another one already."""
    mine = set(members_of(group, named))
    if mine & taken:
        return False
    taken |= mine
    return True


def _add(sized: dict[str, Group], group: Group) -> None:
    """What is told of a group's sizes takes the place of what was; what else was known of it stays."""
    there = sized.get(group.name)
    if there is not None:
        told = {name: getattr(group, name) for name in ("min", "max", "failed_scale_up_ago")}
        target = there.target if group.target is None else group.target
        group = replace(there, **told, target=target, source=f"{group.source}; {there.source}")
    sized[group.name] = group


def _told(words: Sequence[tuple[str, str]]) -> Iterator[tuple[str, int, int]]:
    """``--nodes=min:max:name``, name by name."""
    for flag, value in words:
        least, _, rest = value.partition(":")
        most, _, name = rest.partition(":")
        from_, to = int64(least), int64(most)
        if flag == "nodes" and name and from_ is not None and to is not None:
            yield name, from_, to


def _flags(words: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The flags that decide something here, by name."""
    flags: dict[str, Any] = {}
    for name, value in words:
        if name in LISTS:
            flags.setdefault(name, []).extend(value.split(","))
        elif name in FLAGS:
            flags[name] = value
    return flags


def _unknown(groups: Sequence[Group], words: Sequence[tuple[str, str]], info: AutoscalerInfo) -> Iterator[str]:
    discovery = [value for flag, value in words if flag == "node-group-auto-discovery"]
    if discovery and not info.groups:
        told = " ".join(f"--node-group-auto-discovery={value}" for value in discovery)
        yield f"the autoscaler finds groups in the cloud ({told}): there may be others, and their sizes are there"
    if lacking := [group.name for group in groups if group.max is None]:
        yield f"the maximum of {', '.join(lacking)} is unknown"
    if lacking := [group.name for group in groups if group.nodes is None and group.target]:
        yield f"which nodes are of {', '.join(lacking)} is unknown"
    if lacking := [group.name for group in groups if group.nodes is None and not group.target and not group.template]:
        yield f"what a node of {', '.join(lacking)} would be is unknown"
