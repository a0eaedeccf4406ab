"""Consolidation: empty nodes, and nodes whose pods fit elsewhere or on one cheaper machine, are deleted or replaced.

Upstream: consolidation.go, emptiness.go, multinodeconsolidation.go, singlenodeconsolidation.go and helpers.go in
pkg/controllers/disruption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

import msgspec
import numpy as np

from kwhatif.autoscaling.karpenter.candidates import Candidate, CandidateSearch, find_candidates
from kwhatif.autoscaling.karpenter.catalogue import Catalogue, Types
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot
from kwhatif.autoscaling.karpenter.new_claim import NewClaim
from kwhatif.autoscaling.karpenter.node_pool import allowed_disruptions
from kwhatif.autoscaling.karpenter.requirements import (
    CAPACITY_TYPE,
    CAPACITY_TYPES,
    ON_DEMAND,
    SPOT,
    Requirement,
    Requirements,
    merge_requirements,
)
from kwhatif.autoscaling.karpenter.scheduler import SchedulingResults, simulate_round
from kwhatif.autoscaling.karpenter.state import StateNode
from kwhatif.progress import track

METHODS = ("empty", "multi", "single")
_MOST_AT_ONCE = 100
_SHOWN = 5
_SPOT_CHOICE = 15
"""How many cheaper types one spot machine needs to be replaced by another."""


class Command(msgspec.Struct, frozen=True):
    """Nodes to delete and the machine to launch in their place, if any. ``placed``: pod -> existing node."""

    nodes: tuple[Candidate, ...]
    replacements: tuple[NewClaim, ...] = ()
    placed: Mapping[str, str] = {}

    @property
    def decision(self) -> str:
        return "replace" if self.replacements else "delete"

    def savings(self, catalogue: Catalogue) -> float:
        """By the hour, against the cheapest offering of the first type, whether suitable or not."""
        price = prices(self.nodes)
        for claim in self.replacements:
            offers = catalogue.types[claim.types[0]].offerings if len(claim.types) else ()
            price -= min((offer.price for offer in offers), default=0.0)
        return price


class Consolidation(msgspec.Struct):
    """The decision of one method."""

    search: CandidateSearch
    budgets: Mapping[str, int] = {}
    command: Command | None = None


def consolidate(world: KarpenterSnapshot, method: str) -> Consolidation:
    """One method of METHODS by itself, on the cluster as it is."""
    search = find_candidates(world, empty=method == "empty")
    if not search.candidates:
        return Consolidation(search)
    reason = "Empty" if method == "empty" else "Underutilized"
    budgets = allowed_disruptions(world.pools, world.cluster.nodes, world.now, reason)
    result = Consolidation(search, budgets)
    if method == "empty":
        empty = _within(search.candidates, budgets)
        result.command = Command(tuple(empty)) if empty else None
    elif method == "multi":
        result.command = _several(world, _within([one_ for one_ in search.candidates if one_.pods], budgets), search)
    else:
        result.command = _one(world, search, budgets)
    return result


def consolidate_each(world: KarpenterSnapshot) -> tuple[CandidateSearch, dict[str, Command], Mapping[str, int]]:
    """Every node with pods by itself, budgets aside: why nodes are no candidates, where the pods of the others would
    go, and how many disruptions the budgets of each pool allow.
    """
    search = find_candidates(world, empty=False)
    budgets = allowed_disruptions(world.pools, world.cluster.nodes, world.now, "Underutilized")
    candidates = track([c for c in search.candidates if c.pods], "Trying", "nodes")
    computed = ((candidate.name, _compute_consolidation(world, [candidate], search)) for candidate in candidates)
    commands = {name: command for name, command in computed if command is not None}
    return search, commands, budgets


def _within(candidates: Sequence[Candidate], budgets: Mapping[str, int]) -> list[Candidate]:
    """The candidates that the budgets allow, in order."""
    left, kept = dict(budgets), []
    for candidate in candidates:
        if left.get(candidate.pool.name, 0) > 0:
            left[candidate.pool.name] -= 1
            kept.append(candidate)
    return kept


def _several(world: KarpenterSnapshot, candidates: Sequence[Candidate], search: CandidateSearch) -> Command | None:
    """The longest prefix of candidates that can be consolidated together, by binary search."""
    if len(candidates) < 2:
        return None
    least, most = 1, min(len(candidates) - 1, _MOST_AT_ONCE)
    best = None
    while least <= most:
        middle = (least + most) // 2
        together = candidates[: middle + 1]
        command = _compute_consolidation(world, together, search)
        if command is not None and command.replacements:
            command = command if _cheaper_than_same(world.catalogue, command) else None
        if command is None:
            most = middle - 1
        else:
            best, least = command, middle + 1
    return best


def _one(world: KarpenterSnapshot, search: CandidateSearch, budgets: Mapping[str, int]) -> Command | None:
    """The first candidate that can be consolidated; pools take turns."""
    by_pool: dict[str, list[Candidate]] = {}
    for candidate in search.candidates:
        by_pool.setdefault(candidate.pool.name, []).append(candidate)
    queues = [by_pool[name] for name in world.order.arrange(by_pool)]
    for turn in zip_longest(*queues):
        for candidate in turn:
            if candidate is None or not candidate.pods or budgets.get(candidate.pool.name, 0) == 0:
                continue
            command = _compute_consolidation(world, [candidate], search)
            if command is not None:
                return command
    return None


# --- whether candidates can go together


def _compute_consolidation(
    world: KarpenterSnapshot, candidates: Sequence[Candidate], search: CandidateSearch
) -> Command | None:
    def refuse(text: str) -> None:
        if len(candidates) == 1:
            search.record_reason(candidates[0].state, text)

    # 1. Where would the pods go without these nodes? Pods that pend today for other reasons are no obstacle.
    result, stuck = _simulate_scheduling(world, candidates)
    if stuck:
        shown = "".join(f"{key} => {'; '.join(reasons)} " for key, reasons in list(stuck.items())[:_SHOWN])
        more = f" and {len(stuck) - _SHOWN} other(s)" if len(stuck) >= _SHOWN else ""
        refuse(f"Not all pods would schedule, {shown}{more}")
        return None
    if not result.claims:
        return Command(tuple(candidates), placed=result.placed)
    # 2. One node in place of several is a saving; two would be churn, as nothing says that they are cheaper together.
    if len(result.claims) != 1:
        refuse(f"Can't remove without creating {len(result.claims)} candidates")
        return None
    claim = result.claims[0]
    price = prices(candidates)
    # 3. Spot for spot is refused by default: the cheapest spot type is often the first to be reclaimed, and each
    # replacement would lead to the next.
    spot = all(candidate.capacity_type == SPOT for candidate in candidates) and _may_be(claim, SPOT)
    if spot:
        if not world.options.feature_gates.spot_to_spot:
            refuse("SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node")
            return None
        _fix_capacity_type(claim, SPOT)
        claim.types = claim.types[world.catalogue.find_offered(claim.requirements)[claim.types]]
    # 4. Only types below the price of what they replace.
    claim.types = cheaper(world.catalogue, claim.types, claim.requirements, price)
    lacking = _lacking(world.catalogue, claim)
    if lacking:
        refuse(f"Filtering by price: minValues requirement is not met for label(s) (label(s)=[{' '.join(lacking)}])")
        return None
    if not len(claim.types):
        refuse("Can't replace with a cheaper node")
        return None
    if spot and len(candidates) == 1:
        if len(claim.types) < _SPOT_CHOICE:
            refuse(
                f"SpotToSpotConsolidation requires {_SPOT_CHOICE} cheaper instance type options than the current "
                f"candidate to consolidate, got {len(claim.types)}"
            )
            return None
        # The choice is kept, but capped: with more types the provider could take a dearer one than the next round
        # would, and the node would be replaced again.
        claim.types = claim.types[: max(_SPOT_CHOICE, _count_needed_types(world.catalogue, claim))]
    elif not spot and _may_be(claim, SPOT) and _may_be(claim, ON_DEMAND):
        # On-demand is left for spot: an on-demand machine of the same claim might cost more than the node it replaces.
        _fix_capacity_type(claim, SPOT)
    return Command(tuple(candidates), (claim,), result.placed)


def _simulate_scheduling(
    world: KarpenterSnapshot, candidates: Sequence[Candidate]
) -> tuple[SchedulingResults, Mapping[str, tuple[str, ...]]]:
    """A round without these nodes, and why pods that are not pending would be unschedulable."""
    names = {candidate.name for candidate in candidates}
    staying = [node for node in world.staying if node.name not in names]
    moved = [pod for candidate in candidates for pod in candidate.pods if world.pod_budgets.is_reschedulable_now(pod)]
    pods = [*world.waiting, *moved, *world.leaving]
    result = simulate_round(world, staying, pods, strict=False)
    errors = dict(result.errors)
    leaving = {pod.key for pod in world.leaving}
    for node in result.on_nodes:
        if not node.state.is_initialized:
            for pod_data in node.pods:
                if pod_data.key not in leaving:
                    errors[pod_data.key] = (f"would schedule against uninitialized {_format_node(node.state)}",)
    pending = {pod.key for pod in world.waiting}
    return result, {key: reasons for key, reasons in errors.items() if key not in pending}


def _format_node(state: StateNode) -> str:
    return ", ".join(
        f"{type(state_object).__name__.lower()}/{state_object.name}"
        for state_object in (state.claim, state.node)
        if state_object
    )


# --- prices


def prices(candidates: Sequence[Candidate]) -> float:
    """The total price of the nodes by the hour; 0 if one of them is unknown."""
    total = 0.0
    for candidate in candidates:
        if candidate.price is None:
            return 0.0
        total += candidate.price
    return total


def cheaper(catalogue: Catalogue, types: Types, requirements: Requirements, price: float) -> Types:
    """The types whose worst price, of the capacity type they would be launched as, is below a price."""
    kept = [row for row in types if _worst(catalogue, int(row), requirements) < price]
    return np.array(kept, dtype=np.intp)


def _worst(catalogue: Catalogue, row: int, requirements: Requirements) -> float:
    offers = catalogue.offers_of(row, requirements)
    for kind in CAPACITY_TYPES:
        costs = [offer.price for offer in offers if offer.capacity_type == kind]
        if costs:
            return max(costs)
    return float("inf")


def _cheaper_than_same(catalogue: Catalogue, command: Command) -> bool:
    """Whether types are left once the replacement must be cheaper than any of the nodes whose type is among its own."""
    (claim,) = command.replacements
    own = {int(row) for row in claim.types}
    there = [node.price for node in command.nodes if node.row in own and node.price is not None]
    price = min(there, default=float("inf"))
    claim.types = cheaper(catalogue, claim.types, claim.requirements, price)
    return bool(len(claim.types)) and not _lacking(catalogue, claim)


def _may_be(claim: NewClaim, capacity_type: str) -> bool:
    there = claim.requirements.get(CAPACITY_TYPE)
    return there is None or there.has(capacity_type)


def _fix_capacity_type(claim: NewClaim, capacity_type: str) -> None:
    claim.requirements = merge_requirements(
        claim.requirements, Requirement.from_selector(CAPACITY_TYPE, "In", (capacity_type,))
    )


def _lacking(catalogue: Catalogue, claim: NewClaim) -> list[str]:
    """The labels whose ``minValues`` are no longer met. Where no type is left, none is reported."""
    return [
        key
        for key, requirement in sorted(claim.requirements.items())
        if requirement.min_values is not None
        and len(claim.types)
        and catalogue.distinct(claim.types, key) < requirement.min_values
    ]


def _count_needed_types(catalogue: Catalogue, claim: NewClaim) -> int:
    """How many of the first types it takes to meet all ``minValues``."""
    if all(requirement.min_values is None for requirement in claim.requirements.values()):
        return 0
    for count in range(1, len(claim.types) + 1):
        first = claim.types[:count]
        if all(
            catalogue.distinct(first, key) >= (requirement.min_values or 0)
            for key, requirement in claim.requirements.items()
        ):
            return count
    return len(claim.types)
