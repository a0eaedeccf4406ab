"""What of a plan of Karpenter's depends on the order of its maps: the same moment, with chance falling otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from random import Random

from msgspec.structs import replace

from kwhatif.autoscaling.karpenter.consolidation import Command, consolidate
from kwhatif.autoscaling.karpenter.karpenter_world import KarpenterWorld
from kwhatif.autoscaling.karpenter.map_order import MapOrder
from kwhatif.autoscaling.karpenter.new_claim import NewClaim
from kwhatif.autoscaling.karpenter.provisioner import Provisioning, provision
from kwhatif.progress import tracked
from kwhatif.results.added_nodes import Chance
from kwhatif.results.karpenter import KarpenterResult


def with_chance(result: KarpenterResult, world: KarpenterWorld, found: Provisioning, orders: int) -> KarpenterResult:
    """The result of a round that ``found`` so much, with what ``orders`` more orders lead to.

    Where there never was a choice between equals, there is no other order to try, and all of it is firm.
    """
    if not world.order.mattered:
        return replace(result, chance=Chance(orders=0))
    others = [
        world.in_another_order(MapOrder(Random(seed))) for seed in tracked(range(orders), "Trying", "other orders")
    ]
    rounds = [found, *(provision(other) for other in others)]
    plans = {_plan(each, world) for each in rounds} - {_plan(found, world)}
    helped = [_helped(each) for each in rounds]
    always = Counter(identity(claim) for claim in found.round.claims)
    for each in rounds[1:]:
        always &= Counter(identity(claim) for claim in each.round.claims)
    machines = tuple(
        replace(machine, firm=always[identity(claim)] > 0)
        for machine, claim in zip(result.machines, found.round.claims, strict=True)
    )
    commands = tuple(
        replace(each, firm=all(_command(consolidate(other, each.method).command) == told for other in others))
        for each in result.consolidations
        for told in [_command(consolidate(world, each.method).command)]
    )
    chance = Chance(
        orders=orders,
        plans=tuple(sorted(plans)),
        pods=tuple(sorted(set[str]().union(*helped) - helped[0].intersection(*helped[1:]))),
    )
    return replace(result, machines=machines, consolidations=commands, chance=chance)


def _plan(found: Provisioning, world: KarpenterWorld) -> str:
    """``2 general m.4 (on-demand), 1 spot c.8 (spot)``; ``nothing``."""
    counts: Counter[str] = Counter()
    for claim in found.round.claims:
        cheapest = world.catalogue.cheapest(claim.types, claim.created())
        what = f"{world.catalogue.types[cheapest[0]].name} ({cheapest[1].capacity_type})" if cheapest else "no type"
        counts[f"{claim.template.name} {what}"] += 1
    return ", ".join(f"{number} {what}" for what, number in sorted(counts.items())) or "nothing"


def _helped(found: Provisioning) -> set[str]:
    """The pods that have a place in the end."""
    return {*found.round.placed, *(wants.key for claim in found.round.claims for wants in claim.pods)}


def identity(claim: NewClaim) -> Hashable:
    """What tells one NodeClaim to be from others, whatever order they were made in."""
    asked = frozenset(str(each) for each in claim.created().values())
    return claim.template.name, frozenset(wants.key for wants in claim.pods), tuple(claim.types), asked


def _command(command: Command | None) -> Hashable:
    if command is None:
        return None
    replaced = tuple((claim.template.name, tuple(claim.types)) for claim in command.replacements)
    return frozenset(each.name for each in command.nodes), replaced
