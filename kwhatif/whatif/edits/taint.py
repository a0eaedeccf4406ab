"""Taint nodes, and take taints away. One of effect NoExecute drives pods off."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from kwhatif.api.alike import did_you_mean
from kwhatif.api.core import Node, Taint
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.whatif.edits.edited_nodes import change_nodes, meant, spelt, with_spec
from kwhatif.whatif.edits.kind import EditKind, Nodes, Option, Part, Plain, expected, nodes_apart
from kwhatif.whatif.edits.label import check_key, check_value

if TYPE_CHECKING:
    from kwhatif.whatif.edits.draft import Draft

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


class NewTaint(Part):
    """A taint; it takes the place of one with the same key and effect."""

    key: str
    effect: Annotated[str, Meta(extra_json_schema={"enum": list(EFFECTS)})]
    value: str = ""

    @property
    def taint(self) -> Taint:
        return Taint(key=self.key, value=self.value or None, effect=self.effect)


class TaintNodes(NewTaint, kw_only=True):
    nodes: Nodes


class UntaintNodes(Part):
    """Take a taint away; without an effect, all those with the key."""

    nodes: Nodes
    key: str
    effect: Annotated[str, Meta(extra_json_schema={"enum": list(EFFECTS)})] | None = None


# --- what becomes of a node; one that was so already comes back as it is


def tainted(node: Node, taint: Taint) -> Node:
    """With a taint, in place of one with the same key and effect."""
    there = list(node.spec.taints or ())
    if taint in there:
        return node
    same = [(other.key, other.effect) == (taint.key, taint.effect) for other in there]
    if any(same):
        return with_spec(node, taints=[taint if s else other for s, other in zip(same, there, strict=True)])
    return with_spec(node, taints=[*there, taint])


def untainted(node: Node, key: str, effect: str | None = None) -> Node:
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
        hint = did_you_mean(effect, EFFECTS)
        raise InputError(
            f"expected {', '.join(EFFECTS[:-1])} or {EFFECTS[-1]}, found {described(effect)}{hint}", place=place
        )


def _taint(draft: Draft, what: TaintNodes, origin: str) -> str:
    from kwhatif.whatif.edits.departures import Cause, depart, stays_despite

    nodes, taint = meant(draft, what.nodes, ".nodes"), what.taint
    changes = change_nodes(draft, nodes, lambda node: tainted(node, taint), origin)
    if taint.effect == "NoExecute":
        names = {node.name for node, _ in changes}
        there = [pod for pod in draft.pods if pod.spec.node_name in names and not stays_despite(pod, taint)]
        draft.note_of(origin, depart(draft, there, Cause.EVICTED, origin))
        draft.moves_pods = True
    return f"taint {spelt(what.nodes, nodes)} with {taint.text}"


def _untaint(draft: Draft, what: UntaintNodes, origin: str) -> str:
    nodes = meant(draft, what.nodes, ".nodes")
    said = what.key + (f":{what.effect}" if what.effect else "")
    if not change_nodes(draft, nodes, lambda node: untainted(node, what.key, what.effect), origin):
        raise InputError(f"no taint {said} is on {spelt(what.nodes, nodes)}", place=".key")
    return f"remove taint {said} from {spelt(what.nodes, nodes)}"


def _read(text: str, names: Collection[str]) -> Plain:
    nodes, rest = nodes_apart(text, "NODES=KEY=VALUE:EFFECT, NODES=KEY:EFFECT or NODES=KEY:EFFECT-")
    taken_away = rest.endswith("-")
    pair, colon, effect = rest.removesuffix("-").partition(":")
    key, _, value = pair.partition("=")
    if taken_away:
        return {"untaint": {"nodes": nodes, "key": key, **({"effect": effect} if colon else {})}}
    if not colon:
        raise expected("an effect, as in NODES=KEY=VALUE:NoSchedule", text)
    return {"taint": {"nodes": nodes, "key": key, "value": value, "effect": effect}}


TAINT = EditKind("taint", TaintNodes, _taint, check_taint)
UNTAINT = EditKind("untaint", UntaintNodes, _untaint, _check_untaint)
OPTION = Option(
    "--taint",
    "NODES=KEY=VALUE:EFFECT",
    "What if nodes had this taint? KEY:EFFECT- removes it (repeatable).",
    _read,
)
