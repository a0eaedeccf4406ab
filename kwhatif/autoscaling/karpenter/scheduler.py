"""One simulated round: each pod to an existing node, to a new NodeClaim of this round, or to one more.

Upstream: pkg/controllers/provisioning/scheduling/scheduler.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif.api.core import Pod
from kwhatif.api.node_pools import NodePool
from kwhatif.autoscaling.karpenter.batch_queue import Queue
from kwhatif.autoscaling.karpenter.catalogue import Types
from kwhatif.autoscaling.karpenter.exact_amounts import Amounts, amounts, less, total
from kwhatif.autoscaling.karpenter.existing_node import ExistingNode
from kwhatif.autoscaling.karpenter.host_ports import HostPorts
from kwhatif.autoscaling.karpenter.karpenter_world import KarpenterWorld
from kwhatif.autoscaling.karpenter.map_order import STABLE
from kwhatif.autoscaling.karpenter.new_claim import Daemons, NewClaim, Unsuitable, World, left_of
from kwhatif.autoscaling.karpenter.node_pool import NodeClaimTemplate
from kwhatif.autoscaling.karpenter.requirements import Requirements, incompatible
from kwhatif.autoscaling.karpenter.reservations import Reservations
from kwhatif.autoscaling.karpenter.state import NODES, StateNode
from kwhatif.autoscaling.karpenter.taints import untolerated
from kwhatif.autoscaling.karpenter.topology import Topology
from kwhatif.autoscaling.karpenter.volume_topology import Missing, Used
from kwhatif.autoscaling.karpenter.wants import Wants
from kwhatif.progress import reached


@dataclass
class Round:
    """What a round came to. ``errors`` are in Karpenter's words, ``refused`` has them
    by NodePool; ``relaxed`` counts what pods gave up."""

    placed: dict[str, str] = field(default_factory=dict)
    on_nodes: list[ExistingNode] = field(default_factory=list)
    claims: list[NewClaim] = field(default_factory=list)
    errors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refused: dict[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    relaxed: dict[str, Mapping[str, int]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


_TOLD_EVERY = 64
"""Attempts after which it is told how far a round has come; those of consolidation are shorter, and many."""

_NONE_LEFT = "NodePool requirements filtered out all compatible available instance types"


class Scheduler:
    """Simulates one round for these pods, on these nodes and what may be bought besides."""

    def __init__(self, world: KarpenterWorld, nodes: Sequence[StateNode], pods: Sequence[Pod], *, strict: bool) -> None:
        settings, catalogue = world.settings, world.catalogue
        shapes: dict[Hashable, int] = {}
        self._pods = [Wants.of(pod, ignores_preferences=settings.ignores_preferences, shapes=shapes) for pod in pods]
        self._settings = settings
        self._order = world.order
        self._catalogue = catalogue
        self._volumes = world.cluster.volumes
        self._places: dict[int, Sequence[Requirements]] = {}
        self._used: dict[int, Used | None] = {}
        # Constraints of a pod whose volumes lead nowhere are unknown until it fails for the first time.
        counted = [wants for wants in self._pods if self._find_places(wants)]
        self._topology = Topology(world.cluster, nodes, world.domains, counted, world.order)
        rows = {int(row) for offer in world.offers for row in offer.types}
        self._world = World(
            catalogue,
            self._topology,
            Reservations(catalogue.reservations(sorted(rows))),
            settings.reserved_capacity,
            strict,
        )
        self.found = Round()
        pools = [offer.pool for offer in world.offers]
        self._learns = any(taint.effect == "PreferNoSchedule" for pool in pools for taint in pool.taints)
        self._templates: list[tuple[NodeClaimTemplate, Types]] = []
        for offer in world.offers:
            self._consider(offer.pool, offer.types)
        self._left = {pool.name: amounts(pool.spec.limits) for pool in pools if pool.spec.limits is not None}
        willing = list(world.daemons)
        requests = [_suiting(template, willing, catalogue.known.labels) for template, _ in self._templates]
        # They are asked once more for their ports, and by then are content with what the last pool wanted of them.
        ports = [_suiting(template, willing, catalogue.known.labels) for template, _ in self._templates]
        self._daemons = {
            template.name: _together(asked, taking)
            for (template, _), asked, taking in zip(self._templates, requests, ports, strict=True)
        }
        self._nodes = [self._existing(node, willing) for node in nodes]
        self._nodes.sort(key=lambda node: (not node.state.initialized, node.state.name))
        self._willing: dict[int, list[ExistingNode]] = {}
        self._made = 0

    def _find_places(self, wants: Wants) -> bool:
        """Whether it is known where the pod's volumes may be."""
        self._used[id(wants.pod)] = self._volumes.of_pod(wants.pod)
        try:
            self._places[id(wants.pod)] = self._volumes.places(wants.pod)
        except Missing:
            self._places[id(wants.pod)] = ()
            return False
        return True

    def _consider(self, pool: NodePool, types: Types) -> None:
        template = NodeClaimTemplate(pool)
        try:
            left, _ = left_of(
                self._catalogue,
                types,
                template.requirements,
                {},
                relax_minimum=self._settings.best_effort_minimum,
            )
        except Unsuitable as error:
            short = " due to minValues incompatibility" if error.reasons[0].startswith("minValues") else ""
            self.found.skipped[pool.name] = f"{_NONE_LEFT}{short}"
            return
        self._templates.append((template, left))

    def _existing(self, node: StateNode, daemons: Iterable[Wants]) -> ExistingNode:
        labels = node.requirements
        expected = [
            wants
            for wants in daemons
            if not untolerated(node.taints, wants.tolerations) and not incompatible(labels, wants.strict_requirements)
        ]
        if node.pool in self._left:
            self._left[node.pool] = less(self._left[node.pool], node.capacity)
        return ExistingNode(node, self._topology, expected)

    # --- the round

    def solve(self) -> Round:
        """Try all pods until nothing gets any further."""
        queue = Queue(self._pods)
        errors: dict[str, Unsuitable] = {}
        asked = 0
        while (wants := queue.pop()) is not None:
            asked += 1
            if asked % _TOLD_EVERY == 0:
                reached("Finding machines", "attempts", asked)
            problem = self._try(wants)
            if problem is None:
                errors.pop(wants.key, None)
                continue
            errors[wants.key] = problem
            self._topology.update(wants)
            queue.push(wants)
        for claim in self.found.claims:
            claim.settle()
        self.found.errors = {key: error.reasons for key, error in errors.items()}
        self.found.refused = {key: error.by_pool for key, error in errors.items()}
        self.found.on_nodes = [node for node in self._nodes if node.pods]
        return self.found

    def _try(self, wants: Wants) -> Unsuitable | None:
        while True:
            try:
                self._add(wants)
            except Unsuitable as problem:
                if problem.reserved:
                    return problem
                relaxed = wants.relaxed(taints=self._learns)
                if relaxed is None:
                    return problem
                wants = relaxed
                self._topology.update(wants)
                continue
            if wants.given_up:
                self.found.relaxed[wants.key] = wants.given_up
            return None

    def _add(self, wants: Wants) -> None:
        places, volumes = self._places[id(wants.pod)], self._used[id(wants.pod)]
        if volumes is not None:
            willing = self._willing.setdefault(wants.shape, self._nodes)
            place = next(
                (place for place, node in enumerate(willing) if node.add(wants, places, volumes)), len(willing)
            )
            asked = willing[:place]
            # Those before it refused the pod; some would refuse every pod of its shape.
            kept = [node for node in asked if not node.never_takes(wants)]
            if len(kept) < len(asked):
                self._willing[wants.shape] = kept + willing[place:]
            if place < len(willing):
                self.found.placed[wants.key] = willing[place].state.name
                return
        claims = self.found.claims
        if len(claims) > STABLE:
            self._order.mattered = True
            claims.sort(key=lambda claim: (len(claim.pods), self._order.rank(claim.hostname)))
        else:
            claims.sort(key=lambda claim: len(claim.pods))
        concerned = self._topology.concerns(wants)
        for claim in claims:
            if claim.hopeless(wants):
                continue
            refused, for_good = self._topology.refuses(wants, claim.requirements)
            if refused:
                if for_good:
                    claim.never(wants)
                continue
            try:
                claim.add(wants, places)
            except Unsuitable as problem:
                if problem.for_good or not (concerned or places or problem.reserved):
                    claim.never(wants)
                continue
            return
        if not self._templates:
            raise Unsuitable("nodepool requirements filtered out all available instance types")
        self._open(wants, places)

    def _open(self, wants: Wants, places: Sequence[Requirements]) -> None:
        """Put the pod on a NodeClaim of its own."""
        said: dict[str, Sequence[str]] = {}
        for template, types in self._templates:
            left = self._left.get(template.name)
            if left is not None:
                if left.get(NODES) == 0:
                    said[template.name] = (f"node limits have been exhausted for nodepool (NodePool={template.name})",)
                    continue
                types = self._catalogue.within(types, left)
                if not len(types):
                    text = f"all available instance types exceed limits for nodepool (NodePool={template.name})"
                    said[template.name] = (text,)
                    continue
            self._made += 1
            host = f"hostname-placeholder-{self._made:04d}"
            claim = NewClaim(template, self._world, self._daemons[template.name], types, host)
            try:
                claim.add(wants, places, relax_minimum=self._settings.best_effort_minimum)
            except Unsuitable as problem:
                said[template.name] = problem.reasons
                if problem.reserved:
                    raise Unsuitable(by_pool=said, reserved=True) from None
                continue
            self.found.claims.append(claim)
            for each in self.found.claims:
                # Claims of one pool share their annotations: what is noted of the last is noted of all.
                if each.template.name == template.name:
                    each.lowered_minimum = claim.lowered_minimum
            if left is not None:
                largest = self._catalogue.largest(claim.types)
                self._left[template.name] = less(left, largest)
            return
        raise Unsuitable(by_pool=said)


def _suiting(template: NodeClaimTemplate, daemons: list[Wants], known: frozenset[str]) -> list[Wants]:
    """The daemon pods that could run on some machine of the pool.

    Asking changes the pods: they tolerate PreferNoSchedule from then on, and have given up the terms that did not suit.
    """
    found = []
    for place, wants in enumerate(daemons):
        if not wants.tolerates_preferences:
            wants = wants.tolerating()
        suits = not untolerated(template.pool.taints, wants.tolerations)
        while suits and incompatible(template.requirements, wants.strict_requirements, known):
            rest = wants.without_first_term()
            suits = rest is not None
            wants = rest or wants
        daemons[place] = wants
        if suits:
            found.append(wants)
    return found


def _together(asked: Sequence[Wants], taking: Sequence[Wants]) -> Daemons:
    ports = HostPorts()
    for wants in taking:
        ports.take(wants.key, wants.ports)
    requests: Amounts = total([{"pods": 0}, *(wants.requests for wants in asked)])
    return Daemons([wants.quantities for wants in asked], requests, ports)
