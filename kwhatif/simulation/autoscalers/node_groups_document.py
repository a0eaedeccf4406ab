"""NodeGroups: a document with node groups and cluster-autoscaler's flags.

    apiVersion: kwhatif.dev/v1
    kind: NodeGroups
    flags: {expander: least-waste, max-nodes-total: 40}
    groups:
    - {name: general, min: 2, max: 10, nodes: {labels: {pool: general}}, price: 0.19}
    - name: gpu
      min: 0
      max: 4
      template:
        capacity: {cpu: 8, memory: 64Gi, pods: 110, nvidia.com/gpu: 4}
        labels: {pool: gpu}
        taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]

The schema of the format is ``schemas/node-groups.schema.json``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kwhatif.api.core import Condition, Node, NodeSpec, NodeStatus, ResourceList, Taint
from kwhatif.api.document_numbers import Count, Price
from kwhatif.api.meta import ObjectMeta
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.autoscaling.cluster_autoscaler.autoscaler_flags import FLAGS, Flags, flags_of, group_settings
from kwhatif.autoscaling.cluster_autoscaler.autoscaling_context import NodeGroup, NodeGroups, Prices
from kwhatif.autoscaling.cluster_autoscaler.expanders import EXPANDERS
from kwhatif.cel.patterns import search
from kwhatif.cel.values import Fault
from kwhatif.errors import InputError
from kwhatif.golang.parsing import Duration
from kwhatif.snapshot.format.documents import own_document, read_only
from kwhatif.snapshot.read.objects import Document

KIND = "NodeGroups"


class _Part(msgspec.Struct, rename="camel", frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of the document."""


class Members(_Part, frozen=True, kw_only=True):
    """Which nodes are a group's: those of these names, with all these labels, or whose provider ID has the pattern."""

    names: list[str] | None = None
    labels: dict[str, str] | None = None
    provider_id: Annotated[str | None, Meta(description="A regular expression (RE2).")] = msgspec.field(
        default=None, name="providerID"
    )


class Template(_Part, frozen=True, kw_only=True):
    """The node that the cloud makes: as another one is, or of this capacity."""

    like: str | None = None
    capacity: ResourceList | None = None
    allocatable: ResourceList | None = None
    labels: dict[str, str] | None = None
    taints: list[Taint] | None = None


class Group(_Part, frozen=True, kw_only=True):
    """A node group. Without ``nodes`` it has none; ``target`` is their number unless the cloud was asked for more."""

    name: Annotated[str, Meta(min_length=1)]
    min: Count = 0
    max: Annotated[
        Count | None, Meta(description="Without it the maximum is unknown, and the group does not grow.")
    ] = None
    target: Count | None = None
    nodes: Members | None = None
    template: Template | None = None
    options: dict[str, Any] | None = None
    price: Annotated[Price | None, Meta(description="Price of a node, per hour.")] = None
    failed_scale_up_ago: Annotated[
        str | None, Meta(description="How long ago a scale-up failed, such as 90s: it backs off for a while.")
    ] = None
    scale_up_requested_ago: Annotated[
        str | None, Meta(description="How long ago the nodes were asked for that are missing to target.")
    ] = None
    source: Annotated[str | None, Meta(description="Where this was found.")] = None


class PodPrices(_Part, frozen=True, kw_only=True):
    """What pods are worth an hour to the price expander: a core, and a GiB of memory."""

    cpu: Price
    memory: Price


class NodeGroupsFile(_Part, frozen=True, kw_only=True):
    """Node groups and the autoscaler's flags."""

    api_version: str
    kind: str
    metadata: dict[str, Any] | None = None
    source: Annotated[str | None, Meta(description="Where the flags and priorities were found.")] = None
    incomplete: Annotated[str | None, Meta(description="What is unknown; every answer says it again.")] = None
    flags: Annotated[dict[str, Any] | None, Meta(description="The autoscaler's flags, without dashes.")] = None
    gpu_label: Annotated[str | None, Meta(description="The cloud's label of nodes with GPUs.")] = None
    pod_prices: PodPrices | None = None
    priorities: Annotated[
        dict[str, list[str]] | None,
        Meta(description="For the priority expander: patterns of groups' names by priority."),
    ] = None
    groups: list[Group]


class ConfiguredGroups(msgspec.Struct, frozen=True):
    """Groups as the autoscaler takes them, with its flags; ``unlimited`` are those whose maximum is unknown."""

    groups: NodeGroups
    flags: Flags
    gpu_label: str = ""
    prices: Prices | None = None
    priorities: str | None = None
    unlimited: tuple[str, ...] = ()
    source: str = ""
    incomplete: str = ""


def read_groups(path: str, nodes: Sequence[Node], now: int = 0) -> ConfiguredGroups:
    """The groups of a file, of a cluster with these nodes at a moment.

    Raises InputError with the place of a mistake.
    """
    return _build_with_source(*read_only(path, KIND, NodeGroupsFile), nodes, now)


def groups_in(document: Document, nodes: Sequence[Node], now: int = 0) -> ConfiguredGroups:
    """The same of a document that has been read."""
    source = document.origin.file
    return _build_with_source(own_document(document, KIND, NodeGroupsFile, source), source, nodes, now)


def _build_with_source(file: NodeGroupsFile, source: str, nodes: Sequence[Node], now: int) -> ConfiguredGroups:
    try:
        return build_groups(file, nodes, now, source)
    except InputError as error:
        raise error.with_source(source) from None


def build_groups(file: NodeGroupsFile, nodes: Sequence[Node], now: int = 0, source: str = "") -> ConfiguredGroups:
    """The groups of a document in a cluster with these nodes at a moment. Raises InputError with a place."""
    _check_flags(file.flags or {})
    flags = flags_of(file.flags or {}, place="$.flags")
    for name in flags.expander:
        if name not in EXPANDERS:
            problem = f"expected one of {', '.join(EXPANDERS)}, found {name}{suggest_spelling(name, EXPANDERS)}"
            raise InputError(problem, place="$.flags.expander")
    named = {node.name: node for node in nodes}
    of_node: dict[str, str] = {}
    groups: list[NodeGroup] = []
    names: set[str] = set()
    labelled = NodesByLabel(named)
    for number, group in enumerate(file.groups):
        place = f"$.groups[{number}]"
        members = list(members_of(group, named, place, labelled))
        for node in members:
            if node in of_node:
                raise InputError(f"node {node} is of group {of_node[node]} already", place=f"{place}.nodes")
            of_node[node] = group.name
        if group.name in names:
            raise InputError(f"group {group.name} is listed twice", place=f"{place}.name")
        names.add(group.name)
        groups.append(_group(group, members, named, flags, now, place))
    prices = file.pod_prices
    return ConfiguredGroups(
        NodeGroups(groups),
        flags,
        file.gpu_label or "",
        None if prices is None else Prices({}, prices.cpu, prices.memory),
        None if file.priorities is None else msgspec.json.encode(file.priorities).decode(),
        tuple(group.name for group in file.groups if group.max is None),
        source,
        file.incomplete or "",
    )


def _check_flags(flags: Mapping[str, Any]) -> None:
    for name in flags:
        if name not in FLAGS:
            raise InputError(
                f"unknown flag, or one that decides nothing here{suggest_spelling(name, FLAGS)}",
                place=f"$.flags.{name}",
            )


class NodesByLabel:
    """The names of nodes by each of their labels, so that many groups need not scan all nodes."""

    def __init__(self, named: Mapping[str, Node]) -> None:
        self._all = frozenset(named)
        self._places = {name: place for place, name in enumerate(named)}
        self._with: dict[tuple[str, str], set[str]] = {}
        for name, node in named.items():
            for label in (node.metadata.labels or {}).items():
                self._with.setdefault(label, set()).add(name)

    def names_with(self, labels: Mapping[str, str]) -> frozenset[str]:
        """The nodes that have all these labels."""
        lots = sorted((self._with.get(label, set()) for label in labels.items()), key=len)
        return frozenset(lots[0].intersection(*lots[1:])) if lots else self._all

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Nodes in the cluster's order."""
        return sorted(names, key=self._places.__getitem__)


def members_of(
    group: Group, named: Mapping[str, Node], place: str = "$", labelled: NodesByLabel | None = None
) -> Iterator[str]:
    """The nodes of a group, each once, in the cluster's order. Raises InputError for one that does not exist.
    ``labelled`` are the same nodes, for callers with many groups.
    """
    which = group.nodes
    if which is None:
        return
    for number, name in enumerate(which.names or ()):
        if name not in named:
            raise InputError(
                f"the cluster has no node {name}{suggest_spelling(name, named)}", place=f"{place}.nodes.names[{number}]"
            )
    labelled = labelled or NodesByLabel(named)
    chosen = set(which.names or ())
    if which.labels is not None:
        chosen |= labelled.names_with(which.labels)
    for name in named if which.provider_id is not None else labelled.in_order(chosen):
        if name in chosen or _has_id(named[name], which.provider_id, place):
            yield name


def _has_id(node: Node, pattern: str | None, place: str) -> bool:
    if pattern is None:
        return False
    try:
        return search(node.spec.provider_id or "", pattern)
    except Fault as error:
        raise InputError(str(error), place=f"{place}.nodes.providerID") from None


def _ago(text: str | None, now: int, place: str) -> int | None:
    """The moment that is so long ago."""
    try:
        return None if text is None else now - Duration.parse(text)
    except ValueError as error:
        raise InputError(str(error), place=place) from None


def _group(
    group: Group, members: Sequence[str], named: Mapping[str, Node], flags: Flags, now: int, place: str
) -> NodeGroup:
    target = len(members) if group.target is None else group.target
    most = max(target, group.min) if group.max is None else group.max
    if most < group.min:
        raise InputError(f"expected at least min, which is {group.min}, found {most}", place=f"{place}.max")
    return NodeGroup(
        group.name,
        group.min,
        most,
        target,
        tuple(members),
        None if group.template is None else _template(group, group.template, named, f"{place}.template"),
        settings=group_settings(group.options or {}, flags, place=f"{place}.options"),
        failed_scale_up=_ago(group.failed_scale_up_ago, now, f"{place}.failedScaleUpAgo"),
        requested_scale_up=_ago(group.scale_up_requested_ago, now, f"{place}.scaleUpRequestedAgo"),
        price=group.price,
    )


def _template(group: Group, template: Template, named: Mapping[str, Node], place: str) -> Node:
    example = Node()
    if template.like is not None:
        if template.like not in named:
            problem = f"the cluster has no node {template.like}{suggest_spelling(template.like, named)}"
            raise InputError(problem, place=f"{place}.like")
        example = named[template.like]
    capacity = template.capacity or example.status.capacity
    allocatable = template.allocatable or template.capacity or example.status.for_pods
    labels = {**(example.metadata.labels or {}), **(template.labels or {})}
    taints = example.spec.taints if template.taints is None else template.taints
    if not capacity:
        raise InputError("expected capacity, or a node that it is like, found neither", place=place)
    for name in ("cpu", "memory", "pods"):
        if name not in capacity:
            raise InputError(f"expected an amount of {name}, found none", place=f"{place}.capacity")
    return Node(
        metadata=ObjectMeta(name=f"{group.name}-template", labels=labels),
        spec=NodeSpec(taints=taints),
        status=NodeStatus(
            capacity=capacity, allocatable=allocatable, conditions=[Condition(type="Ready", status="True")]
        ),
    )
