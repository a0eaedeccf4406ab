"""What if the cluster were another one? Edits are made on a copy of the snapshot, one after the other.

What controllers do about them is done, too: pods of nodes that are gone are made again, daemon sets serve new nodes.
Pods that wait for a node in the end are those to ask about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from kwhatif.api.core import Node, Taint
from kwhatif.api.devices import ResourceSlice
from kwhatif.api.others import CSINode, VolumeAttachment
from kwhatif.errors import InputError
from kwhatif.snapshot.chosen import chosen_nodes, chosen_pods, is_selector, node_named
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.edits.daemons import daemons_arrive, daemons_react
from kwhatif.whatif.edits.departures import Cause, depart, stays_despite
from kwhatif.whatif.edits.document import AddNodes, Given, LabelNodes, NewTaint, SetAmounts, TaintNodes, UntaintNodes
from kwhatif.whatif.edits.draft import Draft, counted
from kwhatif.whatif.edits.new_nodes import cordoned, labelled, new_node, resized, tainted, uncordoned, untainted
from kwhatif.whatif.edits.outcome import Edited
from kwhatif.whatif.edits.scale import scale

__all__ = ["Edited", "edited"]


def edited(snapshot: Snapshot, given: Sequence[Given]) -> Edited:
    """The snapshot after these edits; the one given stays as it is, as do the objects in it.

    Raises InputError for an edit that cannot be made, such as one of a node that is not there.
    """
    covered = snapshot.objects.covered()
    if not given:
        return Edited(snapshot, covered)
    draft = Draft(snapshot)
    texts = [_made(draft, each) for each in given]
    draft.snapshot.edits = [*snapshot.edits, *texts]
    return Edited(
        draft.snapshot,
        covered,
        tuple(draft.asked.values()),
        tuple(draft.failed),
        tuple(draft.notes),
        draft.moves_pods,
    )


def _made(draft: Draft, given: Given) -> str:
    """Make one edit. Returns it in words."""
    try:
        return _DOES[given.name](draft, given.what, given.origin)
    except InputError as error:
        if error.source:
            raise
        raise given.error(error.problem, error.place) from None


def _nodes(draft: Draft, text: str, place: str = "") -> list[Node]:
    try:
        return chosen_nodes(text, draft.nodes)
    except InputError as error:
        raise InputError(error.problem, place=place) from None


Changes = list[tuple[Node, Node]]
"""Nodes before and after."""


def _change(draft: Draft, nodes: Sequence[Node], change: Callable[[Node], Node], origin: str) -> Changes:
    """Change nodes and let daemon sets react. Returns what was really changed."""
    changes = [(node, changed) for node in nodes if (changed := change(node)) is not node]
    draft.put_nodes(changed for _, changed in changes)
    reaction = daemons_react(draft, changes, origin)
    if reaction:
        draft.note(f"{origin}: {reaction}")
    return changes


def _cordon(draft: Draft, what: str, origin: str) -> str:
    nodes = _nodes(draft, what)
    _change(draft, nodes, cordoned, origin)
    return f"cordon {_spelt(what, nodes)}"


def _uncordon(draft: Draft, what: str, origin: str) -> str:
    nodes = _nodes(draft, what)
    _change(draft, nodes, uncordoned, origin)
    return f"uncordon {_spelt(what, nodes)}"


def _taint(draft: Draft, what: TaintNodes, origin: str) -> str:
    nodes = _nodes(draft, what.nodes, ".nodes")
    taint = _taint_of(what)
    changes = _change(draft, nodes, lambda node: tainted(node, taint), origin)
    if taint.effect == "NoExecute":
        names = {node.name for node, _ in changes}
        there = [pod for pod in draft.pods if pod.spec.node_name in names and not stays_despite(pod, taint)]
        _note(draft, origin, depart(draft, there, Cause.EVICTED, origin))
        draft.moves_pods = True
    return f"taint {_spelt(what.nodes, nodes)} with {_taint_text(taint)}"


def _untaint(draft: Draft, what: UntaintNodes, origin: str) -> str:
    nodes = _nodes(draft, what.nodes, ".nodes")
    spelt = what.key + (f":{what.effect}" if what.effect else "")
    if not _change(draft, nodes, lambda node: untainted(node, what.key, what.effect), origin):
        raise InputError(f"no taint {spelt} is on {_spelt(what.nodes, nodes)}", place=".key")
    return f"remove taint {spelt} from {_spelt(what.nodes, nodes)}"


def _label(draft: Draft, what: LabelNodes, origin: str) -> str:
    nodes = _nodes(draft, what.nodes, ".nodes")
    for key, value in what.labels.items():
        if value is None and not any(key in (node.metadata.labels or {}) for node in nodes):
            raise InputError(f"no label {key} is on {_spelt(what.nodes, nodes)}", place=".labels")
    _change(draft, nodes, lambda node: labelled(node, what.labels), origin)
    return f"label {_spelt(what.nodes, nodes)} with {_pairs(what.labels)}"


def _set(draft: Draft, what: SetAmounts, origin: str) -> str:
    nodes = _nodes(draft, what.nodes, ".nodes")
    allocatable, capacity = what.allocatable or {}, what.capacity or {}
    _change(draft, nodes, lambda node: resized(node, allocatable, capacity), origin)
    sides = (("allocatable", allocatable), ("capacity", capacity))
    amounts = [f"{side} {name} to {amount}" for side, of_side in sides for name, amount in of_side.items()]
    return f"set {', '.join(amounts)} on {_spelt(what.nodes, nodes)}"


def _add_nodes(draft: Draft, what: AddNodes, origin: str) -> str:
    try:
        like = node_named(what.like, draft.nodes)
    except InputError as error:
        raise InputError(error.problem, place=".like") from None
    taken = {node.name for node in draft.nodes}
    names: list[str] = []
    number = 0
    while len(names) < what.count:
        number += 1
        if f"{like.name}-new-{number}" not in taken:
            names.append(f"{like.name}-new-{number}")
    places, taints = what.in_ or {}, [_taint_of(taint) for taint in what.taints or ()]
    made = [new_node(like, name, places=places, labels=what.labels or {}, taints=taints) for name in names]
    _note_new_places(draft, made[0], places)
    for node in made:
        draft.snapshot.objects.add(node)
    _equip(draft, like.name, names)
    daemons = daemons_arrive(draft, made, like, origin)
    span = f"node {made[0].name}" if len(made) == 1 else f"nodes {made[0].name} to {made[-1].name}"
    draft.note(f"{origin}: new {span}{f', with {daemons}' if daemons else ''}")
    text = f"add {counted(what.count, 'node')} like {like.name}"
    text += f" in {_pairs(places)}" if places else ""
    text += f", labelled {_pairs(what.labels)}" if what.labels else ""
    return text + (f", tainted {', '.join(map(_taint_text, taints))}" if taints else "")


def _note_new_places(draft: Draft, node: Node, places: Mapping[str, str]) -> None:
    """A zone where no node was before may be a slip."""
    for place in places:
        key = f"topology.kubernetes.io/{place}" if place in ("zone", "region") else place
        value = (node.metadata.labels or {}).get(key)
        known = sorted({(other.metadata.labels or {}).get(key, "") for other in draft.nodes} - {""})
        if value not in known:
            there = f": there {'are' if len(known) > 1 else 'is'} {', '.join(known)}" if known else ""
            draft.note(f"no node was in {place} {value} before{there}")


def _equip(draft: Draft, like: str, names: Sequence[str]) -> None:
    """What drivers say about a node goes for new ones: volume limits and devices, under their own names."""
    objects = draft.snapshot.objects
    csi_nodes = [csi_node for csi_node in objects.of(CSINode) if csi_node.name == like]
    slices = [piece for piece in objects.of(ResourceSlice) if piece.spec.node_name == like]
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


def _remove_nodes(draft: Draft, what: str, origin: str) -> str:
    nodes = _nodes(draft, what)
    names = {node.name for node in nodes}
    draft.change(Node, lambda node: None if node.name in names else node)
    draft.change(CSINode, lambda csi_node: None if csi_node.name in names else csi_node)
    draft.change(VolumeAttachment, lambda one: None if one.spec.node_name in names else one)
    draft.change(ResourceSlice, lambda piece: None if piece.spec.node_name in names else piece)
    there = [pod for pod in draft.pods if pod.spec.node_name in names]
    _note(draft, origin, depart(draft, there, Cause.NODE_GONE, origin) or "no pods were there")
    draft.moves_pods = True
    return f"remove {_spelt(what, nodes)}"


def _delete_pods(draft: Draft, what: str, origin: str) -> str:
    pods = chosen_pods(what, draft.pods)
    _note(draft, origin, depart(draft, pods, Cause.DELETED, origin))
    if is_selector(what):
        return f"delete pods {what} ({len(pods)})"
    return f"delete pod {pods[0].key}"


def _note(draft: Draft, origin: str, text: str) -> None:
    if text:
        draft.note(f"{origin}: {text}")


def _taint_of(what: NewTaint) -> Taint:
    return Taint(key=what.key, value=what.value or None, effect=what.effect)


def _taint_text(taint: Taint) -> str:
    """``key=value:Effect``, as kubectl has it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _pairs(labels: Mapping[str, str | None]) -> str:
    """``a=b``, and ``c-`` for one that is taken away."""
    return ",".join(f"{key}-" if value is None else f"{key}={value}" for key, value in labels.items())


def _spelt(text: str, nodes: Sequence[Node]) -> str:
    """``node worker-1``, ``nodes pool=batch (3)``."""
    return f"nodes {text} ({len(nodes)})" if is_selector(text) else f"node {text}"


_DOES: dict[str, Callable[[Draft, Any, str], str]] = {
    "cordon": _cordon,
    "uncordon": _uncordon,
    "taint": _taint,
    "untaint": _untaint,
    "label": _label,
    "set": _set,
    "add_nodes": _add_nodes,
    "remove_nodes": _remove_nodes,
    "scale": scale,
    "delete_pods": _delete_pods,
}
"""What each field of ``Edit`` does."""
