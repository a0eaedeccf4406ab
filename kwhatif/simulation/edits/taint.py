"""Taints and untaints nodes. A taint of effect NoExecute evicts pods."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from kwhatif.api.core import Node, Taint
from kwhatif.api.decode import describe_value
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.errors import InputError
from kwhatif.simulation.edits.kind import EditKind, EditPart, Nodes, Option, Plain, build_usage_error, split_nodes
from kwhatif.simulation.edits.label import check_key, check_value
from kwhatif.simulation.edits.selection import change_nodes, describe_nodes, select_nodes, with_spec

if TYPE_CHECKING:
    from kwhatif.simulation.edits.draft import Draft

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class NewTaint(EditPart):
    """A taint; it takes the place of one with the same key and effect."""

    key: str
    effect: Annotated[str, Meta(extra_json_schema={"enum": list(EFFECTS)})]
    value: str = ""

    @property
    def taint(self) -> Taint:
        return Taint(key=self.key, value=self.value or None, effect=self.effect)


class TaintNodes(NewTaint, kw_only=True):
    nodes: Nodes


class UntaintNodes(EditPart):
    """Take a taint away; without an effect, all those with the key."""

    nodes: Nodes
    key: str
    effect: Annotated[str, Meta(extra_json_schema={"enum": list(EFFECTS)})] | None = None


# --- what becomes of a node; one that was so already comes back as it is


def taint_node(node: Node, taint: Taint) -> Node:
    """The node with a taint, in place of one with the same key and effect."""
    there = list(node.spec.taints or ())
    if taint in there:
        return node
    same = [(other.key, other.effect) == (taint.key, taint.effect) for other in there]
    if any(same):
        return with_spec(node, taints=[taint if s else other for s, other in zip(same, there, strict=True)])
    return with_spec(node, taints=[*there, taint])


def untaint_node(node: Node, key: str, effect: str | None = None) -> Node:
    """Without the taints of a key, or of a key and an effect."""
    there = node.spec.taints or []
    left = [taint for taint in there if taint.key != key or (effect is not None and taint.effect != effect)]
    return node if len(left) == len(there) else with_spec(node, taints=left or None)


# --- the edits


def check_taint(taint: NewTaint, place: str = "") -> None:
    """Raises InputError for what the API server would refuse."""
    check_key(taint.key, f"{place}.key")
    _check_effect(taint.effect, f"{place}.effect")
    check_value(taint.value, f"{place}.value")


def _check_untaint(what: UntaintNodes) -> None:
    check_key(what.key, ".key")
    if what.effect is not None:
        _check_effect(what.effect, ".effect")


def _check_effect(effect: str, place: str) -> None:
    if effect not in EFFECTS:
        hint = suggest_spelling(effect, EFFECTS)
        raise InputError(
            f"expected {', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}, found {describe_value(effect)}{hint}", place=place
        )


def _taint(draft: Draft, what: TaintNodes, origin: str) -> str:
    from kwhatif.simulation.edits.draft import RemovalCause, remove_pods, tolerates_forever

    nodes, taint = select_nodes(draft, what.nodes, ".nodes"), what.taint
    changes = change_nodes(draft, nodes, lambda node: taint_node(node, taint), origin)
    if taint.effect == "NoExecute":
        names = {node.name for node, _ in changes}
        there = [pod for pod in draft.pods if pod.spec.node_name in names and not tolerates_forever(pod, taint)]
        draft.note_of(origin, remove_pods(draft, there, RemovalCause.EVICTED, origin))
        draft.moves_pods = True
    return f"taint {describe_nodes(what.nodes, nodes)} with {taint.text}"


def _untaint(draft: Draft, what: UntaintNodes, origin: str) -> str:
    nodes = select_nodes(draft, what.nodes, ".nodes")
    said = what.key + (f":{what.effect}" if what.effect else "")
    if not change_nodes(draft, nodes, lambda node: untaint_node(node, what.key, what.effect), origin):
        raise InputError(f"no taint {said} is on {describe_nodes(what.nodes, nodes)}", place=".key")
    return f"remove taint {said} from {describe_nodes(what.nodes, nodes)}"


def _read(text: str, names: Collection[str]) -> Plain:
    nodes, rest = split_nodes(text, "NODES=KEY=VALUE:EFFECT, NODES=KEY:EFFECT or NODES=KEY:EFFECT-")
    taken_away = rest.endswith("-")
    pair, colon, effect = rest.removesuffix("-").partition(":")
    key, _, value = pair.partition("=")
    if taken_away:
        return {"untaint": {"nodes": nodes, "key": key, **({"effect": effect} if colon else {})}}
    if not colon:
        raise build_usage_error("an effect, as in NODES=KEY=VALUE:NoSchedule", text)
    return {"taint": {"nodes": nodes, "key": key, "value": value, "effect": effect}}


TAINT = EditKind("taint", TaintNodes, _taint, check_taint)
UNTAINT = EditKind("untaint", UntaintNodes, _untaint, _check_untaint)
OPTION = Option(
    "--taint",
    "NODES=KEY=VALUE:EFFECT",
    "What if nodes had this taint? KEY:EFFECT- removes it (repeatable).",
    _read,
)
