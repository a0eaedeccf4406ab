"""One provisioning round: each pod goes to an existing node, to a new NodeClaim of this round, or to another new one.

Upstream: pkg/controllers/provisioning/provisioner.go, and in its scheduling package scheduler.go, existingnode.go and
queue.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kwhatif.api.core import Pod
from kwhatif.api.node_provisioning import NodePool
from kwhatif.autoscaling.karpenter.catalogue import Reservations, Types
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot
from kwhatif.autoscaling.karpenter.map_order import STABLE
from kwhatif.autoscaling.karpenter.new_claim import (
    Daemons,
    IncompatibleError,
    NewClaim,
    RoundContext,
    filter_instance_types,
)
from kwhatif.autoscaling.karpenter.node_pool import NodeClaimTemplate
from kwhatif.autoscaling.karpenter.pod_data import Amounts, HostPorts, PodData, amounts, fits, subtract, total
from kwhatif.autoscaling.karpenter.requirements import (
    HOSTNAME,
    Requirement,
    Requirements,
    incompatible,
    merge_requirements,
)
from kwhatif.autoscaling.karpenter.state import NODES, StateNode, explain_untolerated_taints
from kwhatif.autoscaling.karpenter.topology import Topology
from kwhatif.autoscaling.karpenter.volume_topology import Used, VolumeNotFound
from kwhatif.progress import report_progress


class ExistingNode:
    """What is available on a node in this round. Room for daemon pods that are still to come is reserved."""

    def __init__(self, node: StateNode, topology: Topology, daemons: Iterable[PodData]) -> None:
        self.state = node
        self.pods: list[PodData] = []
        self._topology = topology
        expected = total([*(wants.requests for wants in daemons), {"pods": 0}])
        missing = {
            name: max(amount, 0)
            for name, amount in total([expected, {n: -a for n, a in node.daemon_requests.items()}]).items()
        }
        self._left = subtract(node.available, missing)
        host = Requirement.from_selector(HOSTNAME, "In", (node.hostname,))
        self._requirements = merge_requirements(node.requirements, host)
        self._ports = node.ports.copy()
        self._volumes = node.volumes.copy()
        # What a shape of pods was refused for lack of room, labels or tolerations, it always will be.
        self._never: set[int] = set()
        topology.register_host(node.hostname)

    def add(self, wants: PodData, places: Sequence[Requirements], volumes: Used) -> bool:
        """Add the pod if it fits."""
        if not self._may(wants):
            return False
        if self._volumes.excess(volumes) or self._ports.clash(wants.key, wants.ports):
            return False
        required = merge_requirements(self._requirements, *wants.requirements.values())
        for place in places or (None,):
            found = self._suiting(wants, required, place)
            if found is not None:
                self._take(wants, found, volumes)
                return True
        return False

    def never_takes(self, wants: PodData) -> bool:
        """Whether pods of this shape never fit."""
        return wants.shape in self._never

    def _may(self, wants: PodData) -> bool:
        if wants.shape in self._never:
            return False
        if (
            not fits(wants.requests, self._left)
            or explain_untolerated_taints(self.state.taints, wants.tolerations)
            or incompatible(self._requirements, wants.requirements)
        ):
            self._never.add(wants.shape)
            return False
        return True

    def _suiting(
        self, wants: PodData, pod_requirements: Requirements, place: Requirements | None
    ) -> Requirements | None:
        if place is not None:
            if incompatible(pod_requirements, place):
                return None
            pod_requirements = merge_requirements(pod_requirements, *place.values())
        narrowed, complaint = self._topology.add_requirements(wants, self.state.taints, pod_requirements)
        if complaint or incompatible(pod_requirements, narrowed):
            return None
        return merge_requirements(pod_requirements, *narrowed.values())

    def _take(self, wants: PodData, requirements: Requirements, volumes: Used) -> None:
        self.pods.append(wants)
        self._left = subtract(self._left, wants.requests)
        self._requirements = requirements
        self._topology.record(wants, self.state.taints, requirements)
        self._ports.take(wants.key, wants.ports)
        self._volumes.add(volumes)


class Queue:
    """Pods by falling CPU, then memory, then age, then UID. The round ends when a pod comes up again while the queue is
    as long as when the pod was put back.
    """

    def __init__(self, pods: Iterable[PodData]) -> None:
        self._pods = deque(sorted(pods, key=_size))
        self._length_then: dict[int, int] = {}

    def pop(self) -> PodData | None:
        if not self._pods or self._length_then.get(id(self._pods[0].pod)) == len(self._pods):
            return None
        return self._pods.popleft()

    def push(self, wants: PodData) -> None:
        self._pods.append(wants)
        self._length_then[id(wants.pod)] = len(self._pods)


def _size(wants: PodData) -> tuple[int, int, str, str]:
    metadata = wants.pod.metadata
    requests = wants.requests
    return (-requests.get("cpu", 0), -requests.get("memory", 0), metadata.creation_timestamp or "", metadata.uid or "")


@dataclass
class SchedulingResults:
    """The outcome of a round. ``errors`` are in Karpenter's words, ``refused`` has them by NodePool; ``relaxed`` counts
    relaxed preferences.
    """

    placed: dict[str, str] = field(default_factory=dict)
    on_nodes: list[ExistingNode] = field(default_factory=list)
    claims: list[NewClaim] = field(default_factory=list)
    errors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refused: dict[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    relaxed: dict[str, Mapping[str, int]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


_TOLD_EVERY = 64
"""Attempts after which a round reports its progress; those of consolidation are shorter, and many."""

_NONE_LEFT = "NodePool requirements filtered out all compatible available instance types"


class Scheduler:
    """Simulates one round for these pods, on these nodes and new NodeClaims."""

    def __init__(
        self, world: KarpenterSnapshot, nodes: Sequence[StateNode], pods: Sequence[Pod], *, strict: bool
    ) -> None:
        settings, catalogue = world.settings, world.catalogue
        shapes: dict[Hashable, int] = {}
        self._pods = [
            PodData.from_pod(pod, ignores_preferences=settings.ignores_preferences, shapes=shapes) for pod in pods
        ]
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
        self._world = RoundContext(
            catalogue,
            self._topology,
            Reservations(catalogue.reservations(sorted(rows))),
            settings.reserved_capacity,
            strict,
        )
        self.found = SchedulingResults()
        pools = [offer.pool for offer in world.offers]
        self._learns = any(taint.effect == "PreferNoSchedule" for pool in pools for taint in pool.taints)
        self._templates: list[tuple[NodeClaimTemplate, Types]] = []
        for offer in world.offers:
            self._consider(offer.pool, offer.types)
        self._left = {pool.name: amounts(pool.spec.limits) for pool in pools if pool.spec.limits is not None}
        willing = list(world.daemons)
        requests = [_suiting(template, willing, catalogue.known.labels) for template, _ in self._templates]
        # Upstream reads their ports again, when they tolerate what the last pool required of them.
        ports = [_suiting(template, willing, catalogue.known.labels) for template, _ in self._templates]
        self._daemons = {
            template.name: _together(daemon_requests, taking)
            for (template, _), daemon_requests, taking in zip(self._templates, requests, ports, strict=True)
        }
        self._nodes = [self._existing(node, willing) for node in nodes]
        self._nodes.sort(key=lambda node: (not node.state.is_initialized, node.state.name))
        self._willing: dict[int, list[ExistingNode]] = {}
        self._made = 0

    def _find_places(self, wants: PodData) -> bool:
        """Whether the topology of the pod's volumes is known."""
        self._used[id(wants.pod)] = self._volumes.of_pod(wants.pod)
        try:
            self._places[id(wants.pod)] = self._volumes.places(wants.pod)
        except VolumeNotFound:
            self._places[id(wants.pod)] = ()
            return False
        return True

    def _consider(self, pool: NodePool, types: Types) -> None:
        template = NodeClaimTemplate(pool)
        try:
            left, _ = filter_instance_types(
                self._catalogue,
                types,
                template.requirements,
                {},
                relax_minimum=self._settings.best_effort_minimum,
            )
        except IncompatibleError as error:
            short = " due to minValues incompatibility" if error.reasons[0].startswith("minValues") else ""
            self.found.skipped[pool.name] = f"{_NONE_LEFT}{short}"
            return
        self._templates.append((template, left))

    def _existing(self, node: StateNode, daemons: Iterable[PodData]) -> ExistingNode:
        labels = node.requirements
        expected = [
            wants
            for wants in daemons
            if not explain_untolerated_taints(node.taints, wants.tolerations)
            and not incompatible(labels, wants.strict_requirements)
        ]
        if node.pool in self._left:
            self._left[node.pool] = subtract(self._left[node.pool], node.capacity)
        return ExistingNode(node, self._topology, expected)

    # --- the round

    def solve(self) -> SchedulingResults:
        """Try all pods until there is no more progress."""
        queue = Queue(self._pods)
        errors: dict[str, IncompatibleError] = {}
        tried = 0
        while (wants := queue.pop()) is not None:
            tried += 1
            if tried % _TOLD_EVERY == 0:
                report_progress("Finding machines", "attempts", tried)
            problem = self._try(wants)
            if problem is None:
                errors.pop(wants.key, None)
                continue
            errors[wants.key] = problem
            self._topology.update(wants)
            queue.push(wants)
        for claim in self.found.claims:
            claim.finalize()
        self.found.errors = {key: error.reasons for key, error in errors.items()}
        self.found.refused = {key: error.by_pool for key, error in errors.items()}
        self.found.on_nodes = [node for node in self._nodes if node.pods]
        return self.found

    def _try(self, wants: PodData) -> IncompatibleError | None:
        while True:
            try:
                self._add(wants)
            except IncompatibleError as problem:
                if problem.reserved:
                    return problem
                relaxed = wants.relax(taints=self._learns)
                if relaxed is None:
                    return problem
                wants = relaxed
                self._topology.update(wants)
                continue
            if wants.given_up:
                self.found.relaxed[wants.key] = wants.given_up
            return None

    def _add(self, wants: PodData) -> None:
        places, volumes = self._places[id(wants.pod)], self._used[id(wants.pod)]
        if volumes is not None:
            willing = self._willing.setdefault(wants.shape, self._nodes)
            place = next(
                (place for place, node in enumerate(willing) if node.add(wants, places, volumes)), len(willing)
            )
            tried = willing[:place]
            # Those before it refused the pod; some would refuse every pod of its shape.
            kept = [node for node in tried if not node.never_takes(wants)]
            if len(kept) < len(tried):
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
        concerned = self._topology.applies_to(wants)
        for claim in claims:
            if claim.can_never_add(wants):
                continue
            refused, for_good = self._topology.refuses(wants, claim.requirements)
            if refused:
                if for_good:
                    claim.rule_out(wants)
                continue
            try:
                claim.add(wants, places)
            except IncompatibleError as problem:
                if problem.for_good or not (concerned or places or problem.reserved):
                    claim.rule_out(wants)
                continue
            return
        if not self._templates:
            raise IncompatibleError("nodepool requirements filtered out all available instance types")
        self._open(wants, places)

    def _open(self, wants: PodData, places: Sequence[Requirements]) -> None:
        """Put the pod on a new NodeClaim."""
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
            except IncompatibleError as problem:
                said[template.name] = problem.reasons
                if problem.reserved:
                    raise IncompatibleError(by_pool=said, reserved=True) from None
                continue
            self.found.claims.append(claim)
            for each in self.found.claims:
                # Claims of one pool share their annotations: what is noted of the last is noted of all.
                if each.template.name == template.name:
                    each.lowered_minimum = claim.lowered_minimum
            if left is not None:
                largest = self._catalogue.largest(claim.types)
                self._left[template.name] = subtract(left, largest)
            return
        raise IncompatibleError(by_pool=said)


def _suiting(template: NodeClaimTemplate, daemons: list[PodData], known: frozenset[str]) -> list[PodData]:
    """The daemon pods that could run on some machine of the pool.

    This changes the pods: afterwards they tolerate PreferNoSchedule, and terms that did not suit are relaxed.
    """
    found = []
    for place, wants in enumerate(daemons):
        if not wants.tolerates_preferences:
            wants = wants.with_prefer_no_schedule_toleration()
        suits = not explain_untolerated_taints(template.pool.taints, wants.tolerations)
        while suits and incompatible(template.requirements, wants.strict_requirements, known):
            rest = wants.without_first_term()
            suits = rest is not None
            wants = rest or wants
        daemons[place] = wants
        if suits:
            found.append(wants)
    return found


def _together(pods: Sequence[PodData], taking: Sequence[PodData]) -> Daemons:
    ports = HostPorts()
    for wants in taking:
        ports.take(wants.key, wants.ports)
    requests: Amounts = total([{"pods": 0}, *(wants.requests for wants in pods)])
    return Daemons([wants.quantities for wants in pods], requests, ports)


@dataclass(frozen=True)
class Provisioning:
    """A round, and the pods that are not part of it."""

    results: SchedulingResults
    ignored: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_pending: Sequence[str] = ()


def provision(world: KarpenterSnapshot) -> Provisioning:
    """One round for all pending pods, and for those of nodes that are being deleted."""
    pods = [*world.waiting, *world.leaving]
    found = simulate_round(world, world.staying, pods, strict=True) if pods else SchedulingResults()
    return Provisioning(found, world.refusals_by_pod, world.unprovisionable_pods)


def simulate_round(
    world: KarpenterSnapshot, nodes: Sequence[StateNode], pods: Sequence[Pod], *, strict: bool
) -> SchedulingResults:
    """A round on these nodes. Without a NodePool that takes part nothing happens at all."""
    return Scheduler(world, nodes, pods, strict=strict).solve() if world.offers else SchedulingResults()
