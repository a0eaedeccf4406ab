"""Placements of a run with autoscalers, each told whose node came for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kwhatif.results.added_nodes import AddedNode, ScaleUp
from kwhatif.results.amounts import some
from kwhatif.results.place import Placement
from kwhatif.whatif.autoscale.scaler import Scaler
from kwhatif.whatif.session import Session


def scaled(scaler: Scaler, session: Session, placements: Sequence[Placement]) -> tuple[tuple[Placement, ...], ScaleUp]:
    """The placements with their reasons, and what was added on the way."""
    victims = (victim for each in placements for victim in each.victims if victim.replacement)
    homes = {each.pod: each.node for each in placements if each.outcome in ("placed", "autoscaled")}
    homes |= {victim.replacement: victim.lands_on for victim in victims if victim.lands_on}
    found = scaler.told(session, homes, [each.pod for each in placements if each.outcome == "unschedulable"])
    words = dict(_words(found))
    told = (
        replace(each, message=words.get(each.node, f"it finds room on {each.node} once new nodes are there"))
        if each.outcome == "autoscaled"
        else each
        for each in placements
    )
    return tuple(told), found


def _words(found: ScaleUp) -> Iterator[tuple[str, str]]:
    """What comes, by the name of each new node."""
    of_group: dict[tuple[str, str], list[str]] = {}
    for each in found.nodes:
        of_group.setdefault((each.autoscaler, each.group), []).append(each.node)
    claims = [each.node for each in found.nodes if each.types]
    for each in found.nodes:
        if each.types:
            yield (
                each.node,
                f"NodeClaim {claims.index(each.node) + 1} of NodePool {each.group} comes for it {_types(each)}",
            )
        else:
            new = of_group[each.autoscaler, each.group]
            number = f"{new.index(each.node) + 1} of {len(new)} new"
            yield each.node, f"a node of group {each.group} comes for it ({number})"


def _types(node: AddedNode) -> str:
    """``(c.4, m.4, r.4 and 12 more; c.4 is the cheapest)``."""
    cheapest = f"; {node.types[0]} is the cheapest" if len(node.types) > 1 else ""
    return f"({some(node.types)}{cheapest})"
