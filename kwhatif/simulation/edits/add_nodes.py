"""Adds empty nodes like an existing one, with its drivers' objects and its daemon pods."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from kwhatif.api.core import Condition, Node, NodeSpec, Taint
from kwhatif.api.devices import ResourceSlice
from kwhatif.api.meta import ObjectMeta
from kwhatif.api.workloads_and_storage import CSINode
from kwhatif.bounds import make_nodes
from kwhatif.errors import InputError
from kwhatif.simulation.edits.kind import EditKind, EditPart, Plain, build_usage_error, whole_number
from kwhatif.simulation.edits.label import check_labels, label_node, labels_text
from kwhatif.simulation.edits.selection import node_named
from kwhatif.simulation.edits.taint import NewTaint, check_taint, taint_node

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft

MOST_NODES = 10_000

HOSTNAME = "kubernetes.io/hostname"
_TOPOLOGY = {name: f"topology.kubernetes.io/{name}" for name in ("zone", "region")}

# Taints that say how a node fares, not what it is for.
_STATES = ("not-ready", "unreachable", "out-of-service", "unschedulable", "network-unavailable")
_PRESSURES = ("memory-pressure", "disk-pressure", "pid-pressure")
_STATE_KEYS = frozenset(
    {
        *(f"node.kubernetes.io/{state}" for state in (*_STATES, *_PRESSURES)),
        *("node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown"),
        *("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler"),
    }
)

_UIDS = uuid.uuid5(uuid.NAMESPACE_DNS, "nodes.kwhatif.dev")


class AddNodes(EditPart):
    """Add empty nodes like one that is there. ``in`` sets labels; zone and region stand for Kubernetes' own."""

    count: Annotated[int, Meta(ge=1, le=MOST_NODES)]
    like: Annotated[str, Meta(description="The name of a node.")]
    in_: dict[str, str] | None = msgspec.field(default=None, name="in")
    labels: dict[str, str | None] | None = None
    taints: list[NewTaint] | None = None


def new_node(
    like: Node,
    name: str,
    *,
    places: Mapping[str, str],
    labels: Mapping[str, str | None],
    taints: Sequence[Taint],
) -> Node:
    """A node that has just joined and is like another one: ready, not cordoned, with nothing on it and no images.

    Labels that hold the other's name (or host name) hold the new one's. ``places`` are labels, too; ``zone`` and
    ``region`` stand for Kubernetes' own and for all of that name, as those of storage drivers, that agree with it.
    """
    there = like.metadata.labels or {}
    own = {like.name, there.get(HOSTNAME, like.name)}
    renamed = {key: name if value in own else value for key, value in there.items()}
    renamed[HOSTNAME] = name
    for place, value in places.items():
        renamed |= dict.fromkeys(_labels_of(place, there), value)
    metadata = ObjectMeta(
        name=name,
        labels=renamed,
        annotations=like.metadata.annotations,
        uid=str(uuid.uuid5(_UIDS, f"{like.metadata.uid}/{name}")),
    )
    kept = [taint for taint in like.spec.taints or () if taint.key not in _STATE_KEYS]
    status = replace(
        like.status,
        images=None,
        conditions=[Condition(type="Ready", status="True", reason="KubeletReady")],
    )
    node = replace(like, metadata=metadata, spec=NodeSpec(taints=kept or None), status=status)
    for taint in taints:
        node = taint_node(node, taint)
    return label_node(node, labels)


def _labels_of(place: str, labels: Mapping[str, str]) -> Collection[str]:
    """The labels that say where a node is: for ``zone`` also those of others with the same value as Kubernetes' own."""
    if place not in _TOPOLOGY:
        return [place]
    key = _TOPOLOGY[place]
    alike = {k for k, v in labels.items() if k.rpartition("/")[2] == place and v == labels.get(key)}
    return sorted({key} | alike)


def _check(what: AddNodes) -> None:
    check_labels(what.in_ or {}, ".in")
    check_labels(what.labels or {}, ".labels")
    for i, taint in enumerate(what.taints or ()):
        check_taint(taint, f".taints[{i}]")


def _apply(draft: Draft, what: AddNodes, origin: str) -> str:
    from kwhatif.results.amounts import format_count
    from kwhatif.simulation.edits.daemon_pods import start_daemons

    try:
        like = node_named(what.like, draft.nodes)
    except InputError as error:
        raise InputError(error.problem, place=".like") from None
    try:
        make_nodes(what.count)
    except InputError as error:
        raise InputError(error.problem, place=".count") from None
    taken = {node.name for node in draft.nodes}
    names: list[str] = []
    number = 0
    while len(names) < what.count:
        number += 1
        if f"{like.name}-new-{number}" not in taken:
            names.append(f"{like.name}-new-{number}")
    places, taints = what.in_ or {}, [taint.taint for taint in what.taints or ()]
    made = [new_node(like, name, places=places, labels=what.labels or {}, taints=taints) for name in names]
    _note_new_places(draft, made[0], places)
    for node in made:
        draft.snapshot.objects.add(node)
    equip(draft, like.name, names)
    daemons = start_daemons(draft, made, like, origin)
    span = f"node {made[0].name}" if len(made) == 1 else f"nodes {made[0].name} to {made[-1].name}"
    draft.note(f"{origin}: new {span}{f', with {daemons}' if daemons else ''}")
    text = f"add {format_count(what.count, 'node')} like {like.name}"
    text += f" in {labels_text(places)}" if places else ""
    text += f", labelled {labels_text(what.labels)}" if what.labels else ""
    return text + (f", tainted {', '.join(taint.text for taint in taints)}" if taints else "")


def _note_new_places(draft: Draft, node: Node, places: Mapping[str, str]) -> None:
    """Note a zone without nodes before, which may be a typo."""
    for place in places:
        key = _TOPOLOGY.get(place, place)
        value = (node.metadata.labels or {}).get(key)
        known = sorted({(other.metadata.labels or {}).get(key, "") for other in draft.nodes} - {""})
        if value not in known:
            there = f": there {'are' if len(known) > 1 else 'is'} {', '.join(known)}" if known else ""
            draft.note(f"no node was in {place} {value} before{there}")


def equip(draft: Draft, like: str, names: Sequence[str]) -> None:
    """Copy drivers' objects of a node for new ones: volume limits and devices, under their own names."""
    objects = draft.snapshot.objects
    csi_nodes = [csi_node for csi_node in objects.list_all(CSINode) if csi_node.name == like]
    slices = [piece for piece in objects.list_all(ResourceSlice) if piece.spec.node_name == like]
    for name in names:
        for csi_node in csi_nodes:
            metadata = replace(csi_node.metadata, name=name, uid=None, owner_references=None)
            drivers = [replace(driver, node_id=name) for driver in csi_node.spec.drivers or ()]
            spec = replace(csi_node.spec, drivers=drivers or None)
            objects.add(replace(csi_node, metadata=metadata, spec=spec))
        for piece in slices:
            pool = piece.spec.pool.name
            renamed = replace(piece.spec.pool, name=name if pool == like else f"{pool}-{name}")
            metadata = replace(piece.metadata, name=f"{piece.name}-{name}", uid=None, owner_references=None)
            objects.add(replace(piece, metadata=metadata, spec=replace(piece.spec, node_name=name, pool=renamed)))


def read_group(text: str, like: str | None, places: Sequence[str]) -> Plain:
    """A group of new nodes as an option spells it: ``N``, of which others say the rest, or ``N,like=NODE,zone=ZONE``.

    Raises UsageError.
    """
    count, *rest = text.split(",")
    pairs = _pairs(rest, "N,like=NODE,zone=ZONE")
    if rest:
        like = pairs.pop("like", "")
        if not like:
            raise build_usage_error("like=NODE among the rest", text)
    else:
        pairs = _pairs([part for given in places for part in given.split(",")], "--in LABEL=VALUE")
    return {"addNodes": {"count": whole_number(count), "like": like or "", **({"in": pairs} if pairs else {})}}


def _pairs(parts: Sequence[str], form: str) -> dict[str, str]:
    pairs = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals or not key:
            raise build_usage_error(form, part)
        pairs[key] = value
    return pairs


ADD_NODES = EditKind("add_nodes", AddNodes, _apply, _check)
