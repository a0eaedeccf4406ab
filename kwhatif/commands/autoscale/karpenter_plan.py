"""The plan of Karpenter after a scheduler run: its NodeClaims and consolidation; and what of it depends on map
order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import datetime
from random import Random

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.node_provisioning import NodePool
from kwhatif.api.spelling_hints import suggest_spelling
from kwhatif.autoscaling.karpenter.catalogue import Catalogue
from kwhatif.autoscaling.karpenter.consolidation import METHODS, Command, consolidate, consolidate_each
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot, Offer
from kwhatif.autoscaling.karpenter.map_order import MapOrder
from kwhatif.autoscaling.karpenter.new_claim import NewClaim
from kwhatif.autoscaling.karpenter.node_pool import NodeClaimTemplate
from kwhatif.autoscaling.karpenter.pod_data import PodData
from kwhatif.autoscaling.karpenter.requirements import INSTANCE_TYPE, NODE_POOL, Requirements, merge_requirements
from kwhatif.autoscaling.karpenter.scheduler import Provisioning, provision
from kwhatif.autoscaling.karpenter.state import StateNode, explain_untolerated_taints
from kwhatif.commands.autoscale.karpenter_result import (
    Consolidation,
    KarpenterResult,
    Machine,
    NodeConsolidation,
    NodePlan,
    PodPlan,
    PoolRefusal,
)
from kwhatif.errors import UsageError
from kwhatif.progress import track
from kwhatif.results.amounts import format_count, format_some
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import HOURS_A_MONTH, Chance, Placement, ScaleUp
from kwhatif.simulation.autoscalers.instance_types_document import OfferedCatalogue
from kwhatif.simulation.autoscalers.node_pools import build_karpenter_snapshot, format_exactly
from kwhatif.snapshot.format.model import Snapshot


def add_chance(result: KarpenterResult, world: KarpenterSnapshot, plan: Provisioning, orders: int) -> KarpenterResult:
    """The result of a round, with the results of ``orders`` more map orders.

    Where there never was a choice between equals, no other order is tried, and the whole plan is firm.
    """
    if not world.order.mattered:
        return replace(result, chance=Chance(orders=0))
    others = [world.with_map_order(MapOrder(Random(seed))) for seed in track(range(orders), "Trying", "other orders")]
    rounds = [plan, *(provision(other) for other in others)]
    plans = {_plan(round_, world) for round_ in rounds} - {_plan(plan, world)}
    helped = [_find_helped_pods(round_) for round_ in rounds]
    always = Counter(identity_of(claim) for claim in plan.results.claims)
    for provisioning in rounds[1:]:
        always &= Counter(identity_of(claim) for claim in provisioning.results.claims)
    machines = tuple(
        replace(machine, firm=always[identity_of(claim)] > 0)
        for machine, claim in zip(result.machines, plan.results.claims, strict=True)
    )
    commands = tuple(
        replace(
            consolidation,
            firm=all(_command(consolidate(other, consolidation.method).command) == command for other in others),
        )
        for consolidation in result.consolidations
        for command in [_command(consolidate(world, consolidation.method).command)]
    )
    chance = Chance(
        orders=orders,
        plans=tuple(sorted(plans)),
        pods=tuple(sorted(set[str]().union(*helped) - helped[0].intersection(*helped[1:]))),
    )
    return replace(result, machines=machines, consolidations=commands, chance=chance)


def _plan(provisioning: Provisioning, world: KarpenterSnapshot) -> str:
    """``2 general m.4 (on-demand), 1 spot c.8 (spot)``; ``nothing``."""
    counts: Counter[str] = Counter()
    for claim in provisioning.results.claims:
        cheapest = world.catalogue.cheapest(claim.types, claim.resolve_requirements())
        what = f"{world.catalogue.types[cheapest[0]].name} ({cheapest[1].capacity_type})" if cheapest else "no type"
        counts[f"{claim.template.name} {what}"] += 1
    return ", ".join(f"{number} {what}" for what, number in sorted(counts.items())) or "nothing"


def _find_helped_pods(provisioning: Provisioning) -> set[str]:
    """The pods that have a place in the end."""
    return {*provisioning.results.placed, *(wants.key for claim in provisioning.results.claims for wants in claim.pods)}


def identity_of(claim: NewClaim) -> Hashable:
    """The identity of a new NodeClaim, whatever the order in which they were made."""
    requirements = frozenset(str(resolve_requirement) for resolve_requirement in claim.resolve_requirements().values())
    return claim.template.name, frozenset(wants.key for wants in claim.pods), tuple(claim.types), requirements


def _command(command: Command | None) -> Hashable:
    if command is None:
        return None
    replaced = tuple((claim.template.name, tuple(claim.types)) for claim in command.replacements)
    return frozenset(node.name for node in command.nodes), replaced


def karpenter(
    later: Snapshot,
    placements: Sequence[Placement],
    catalogue: OfferedCatalogue,
    pools: Sequence[NodePool],
    *,
    outcome_after: Callable[[str], Outcome],
    scale_up: ScaleUp | None = None,
    consolidation: bool = False,
    orders: int = 0,
    now: datetime | None = None,
    fidelity: Fidelity,
) -> KarpenterResult:
    """One round, on the cluster after the scheduler's ``placements``.

    ``outcome_after`` makes the outcome of growth alone, with the plan in words before it; ``scale_up`` is that growth.
    ``orders`` more rounds use other map orders, if their order matters, to find out what is left to chance.
    """
    world = build_karpenter_snapshot(later, catalogue, pools, now)
    provisioning = provision(world)
    machines = tuple(_machine(claim, world.catalogue) for claim in provisioning.results.claims)
    prices = [machine.price for machine in machines if machine.price is not None]
    price = sum(prices) if prices and len(prices) == len(machines) else None
    unready = {
        pool.name: "it is not ready, is being deleted, or has a fixed size" for pool in pools if not pool.takes_part
    }
    bought = len(machines) if scale_up is None else len(scale_up.nodes)
    result = KarpenterResult(
        outcome=outcome_after(_words_of(bought, ())),
        catalogue=catalogue.source,
        incomplete=catalogue.incomplete,
        machines=machines,
        price=_round_price(price),
        scale_up=scale_up,
        cost=scale_up.cost if scale_up is not None and scale_up.nodes else None,
        pods=tuple(_pods(placements, provisioning, world)),
        skipped=dict(sorted((unready | provisioning.results.skipped).items())),
        fidelity=fidelity,
    )
    whole = _with_consolidation(result, world) if consolidation else result
    whole = replace(whole, outcome=outcome_after(_words_of(bought, whole.consolidations)))
    return add_chance(whole, world, provisioning, orders) if orders else whole


def _words_of(number: int, consolidations: Sequence[Consolidation]) -> str:
    """``Karpenter buys 3 machines; delete n5``."""
    text = f"Karpenter buys {format_count(number, 'machine') if number else 'no machine'}"
    if consolidations:
        first = next((consolidation for consolidation in consolidations if consolidation.decision != "nothing"), None)
        text += f"; {first.decision} {format_some(first.nodes)}" if first else "; consolidates no node"
    return text


def _round_price(price: float | None) -> float | None:
    return None if price is None else round(price, 6)


def _machine(claim: NewClaim, catalogue: Catalogue) -> Machine:
    requirements = claim.resolve_requirements()
    cheapest = catalogue.cheapest(claim.types, requirements)
    offer = cheapest[1] if cheapest else None
    return Machine(
        node_pool=claim.template.name,
        pods=tuple(wants.key for wants in claim.pods),
        requests={name: format_exactly(name, amount) for name, amount in sorted(claim.requests.items())},
        requirements=tuple(str(requirements[key]) for key in sorted(requirements) if key != INSTANCE_TYPE),
        types=tuple(catalogue.types[row].name for row in claim.types),
        type=catalogue.types[cheapest[0]].name if cheapest else "",
        zone=offer.zone if offer else "",
        capacity_type=offer.capacity_type if offer else "",
        price=_round_price(offer.price) if offer else None,
        cost=(None if offer.price is None else round(offer.price * HOURS_A_MONTH, 2)) if offer else None,
    )


# --- pods


def _pods(placements: Sequence[Placement], provisioning: Provisioning, world: KarpenterSnapshot) -> Iterator[PodPlan]:
    result = provisioning.results
    machines = {wants.key: number for number, claim in enumerate(result.claims, 1) for wants in claim.pods}
    pending = {f"{pod.namespace}/{pod.name}": pod for pod in world.pending}
    seen = {placement.pod for placement in placements}
    for placement in placements:
        if placement.good and placement.node:
            yield PodPlan(pod=placement.pod, outcome="placed", node=placement.node, given_up={})
        elif placement.pod in result.placed or placement.pod in machines:
            yield _sought(placement.pod, provisioning, machines)
        elif placement.pod in result.errors:
            refusals = tuple(_refusals(pending[placement.pod], result.refused[placement.pod], world))
            reasons = "; ".join(result.errors[placement.pod])
            yield PodPlan(pod=placement.pod, outcome="helpless", given_up={}, message=reasons, refusals=refusals)
        elif placement.pod in provisioning.ignored:
            reasons = "; ".join(provisioning.ignored[placement.pod])
            yield PodPlan(pod=placement.pod, outcome="helpless", given_up={}, message=reasons)
        else:
            yield PodPlan(pod=placement.pod, outcome="ignored", given_up={}, message=placement.message)
    # Pods of nodes that are on their way out need another place, too.
    for pod in sorted((machines.keys() | result.placed.keys()) - seen):
        yield _sought(pod, provisioning, machines)


def _sought(pod: str, provisioning: Provisioning, machines: Mapping[str, int]) -> PodPlan:
    """A pod that has found a place, on a node that is there or on a machine to be (pod -> number)."""
    result, number = provisioning.results, machines.get(pod)
    given_up = dict(result.relaxed.get(pod, {}))
    if number is None:
        return PodPlan(pod=pod, outcome="existing", node=result.placed[pod], given_up=given_up)
    pool = result.claims[number - 1].template.name
    return PodPlan(pod=pod, outcome="new", node_pool=pool, machine=number, given_up=given_up)


def _refusals(pod: Pod, refused: Mapping[str, Sequence[str]], world: KarpenterSnapshot) -> Iterator[PoolRefusal]:
    pools = {offer.pool.name: offer for offer in world.offers}
    for name, reasons in refused.items():
        yield PoolRefusal(
            node_pool=name,
            reasons=tuple(reasons),
            nearest=_nearest(world.catalogue, pools[name], PodData.from_pod(pod)),
        )


def _nearest(catalogue: Catalogue, offer: Offer, wants: PodData) -> str:
    """The single requirement or amount, alone or beside taints, that excludes some type. None if there is none."""
    rows, requests = frozenset(offer.types.tolist()), wants.requests
    of_pool, of_pod = NodeClaimTemplate(offer.pool).requirements, wants.strict_requirements
    required = merge_requirements(of_pool, *of_pod.values())

    def left(requirements: Requirements, amounts: Mapping[str, int]) -> list[int]:
        masks = (catalogue.compatible(requirements), catalogue.fitting(amounts), catalogue.find_offered(requirements))
        return [row for row in sorted(rows) if all(mask[row] for mask in masks)]

    taints = explain_untolerated_taints(
        [taint for taint in offer.pool.taints if taint.effect != "PreferNoSchedule"], wants.tolerations
    )
    if left(required, requests):
        return "it does not tolerate the taint; all else fits" if taints else ""
    names = []
    for name in sorted(requests):
        there = left(required, {key: amount for key, amount in requests.items() if key != name})
        if there:
            most = max(catalogue.types[row].allocatable.get(name, 0) for row in there)
            names.append(
                f"{name}: requests {format_exactly(name, requests[name])}, "
                f"the largest type offers {format_exactly(name, most)}"
            )
    for key in sorted(required):
        there = left({amount: value for amount, value in required.items() if amount != key}, requests)
        if there:
            ours, theirs = of_pod.get(key), of_pool.get(key)
            text = f"{ours}, but the NodePool has {theirs}" if ours and theirs else str(required[key])
            names.append(f"{text}: {format_count(len(there), 'type')} would fit without it")
    return f"{'besides the taint, ' if taints and names else ''}{'; '.join(names)}"


# --- consolidation


def _with_consolidation(result: KarpenterResult, world: KarpenterSnapshot) -> KarpenterResult:
    judged = ConsolidationReview(world)
    nodes = [
        NodePlan(
            node=state.name,
            node_pool=state.labels.get(NODE_POOL, ""),
            type=state.labels.get(INSTANCE_TYPE, ""),
            price=candidate.price if candidate else None,
            goes=state.name in judged.going,
            reasons=judged.reasons(state),
        )
        for state, candidate in ((state, judged.candidates.get(state.name)) for state in judged.nodes)
    ]
    return replace(
        result,
        consolidations=tuple(
            _consolidation(method, judged.commands.get(method), world.catalogue) for method in METHODS
        ),
        nodes=tuple(sorted(nodes, key=lambda node: node.node)),
    )


class ConsolidationReview:
    """Consolidation of every node: the first command, and why each other node stays.

    ``able``: where the pods of nodes that could be removed alone would go. ``going`` are the nodes of the first
    command.
    """

    def __init__(self, world: KarpenterSnapshot) -> None:
        self.nodes = [state for state in world.cluster.nodes if state.node is not None]
        methods = {method: consolidate(world, method) for method in METHODS}
        self.commands = {
            method: consolidation.command
            for method, consolidation in methods.items()
            if consolidation.command is not None
        }
        first = next(iter(self.commands.values()), None)
        self.going = {node.name for node in first.nodes} if first else set()
        self._search, self.able, self.budgets = consolidate_each(world)
        self.candidates = {candidate.name: candidate for candidate in self._search.candidates}
        self._of_empty = methods["empty"].search.reasons

    def reasons(self, state: StateNode) -> tuple[str, ...]:
        """Why a node stays, in Karpenter's words where it has some; none for one that goes."""
        name = state.name
        if name in self.going:
            return ()
        if not state.is_managed:
            return ("Karpenter does not manage it",)
        reasons = list(dict.fromkeys((*self._of_empty.get(name, ()), *self._search.reasons.get(name, ()))))
        candidate = self.candidates.get(name)
        if candidate is not None and not self.budgets.get(candidate.pool.name, 0):
            reasons.append(f"the disruption budget of NodePool {candidate.pool.name} allows no more nodes")
        elif name in self.able:
            reasons.append("it could be removed, but another command comes first")
        elif not reasons:
            reasons.append("consolidateAfter has not passed since its pods changed, or it is not initialized")
        return tuple(reasons)


def explain_nodes(world: KarpenterSnapshot, names: Sequence[str]) -> Iterator[NodeConsolidation]:
    """Why each of these nodes goes or stays. Raises UsageError for one that is not there."""
    judged = ConsolidationReview(world)
    states = {state.name: state for state in judged.nodes}
    for name in names:
        state = states.get(name)
        if state is None:
            raise UsageError(f"the cluster has no node {name}{suggest_spelling(name, states)}")
        candidate, command = judged.candidates.get(name), judged.able.get(name)
        if name in judged.going:
            command = next(option for option in judged.commands.values() if name in {one.name for one in option.nodes})
        decision = _consolidation("", command, world.catalogue)
        yield NodeConsolidation(
            node=name,
            node_pool=state.labels.get(NODE_POOL, ""),
            type=state.labels.get(INSTANCE_TYPE, ""),
            price=candidate.price if candidate else None,
            cost=round(candidate.cost, 4) if candidate else None,
            budget=judged.budgets.get(candidate.pool.name, 0) if candidate else None,
            decision="keep" if command is None else decision.decision,
            now=name in judged.going,
            reasons=judged.reasons(state),
            moves=decision.moves,
            replacements=decision.replacements,
            monthly=decision.monthly,
        )


def _consolidation(method: str, command: Command | None, catalogue: Catalogue) -> Consolidation:
    if command is None:
        return Consolidation(method=method, decision="nothing", moves={})
    savings = command.savings(catalogue)
    return Consolidation(
        method=method,
        decision=command.decision,
        nodes=tuple(node.name for node in command.nodes),
        moves=dict(sorted(command.placed.items())),
        replacements=tuple(_machine(claim, catalogue) for claim in command.replacements),
        savings=round(savings, 6),
        monthly=round(savings * HOURS_A_MONTH, 2),
    )
