"""One provisioning round: each pod goes to an existing node, to a new NodeClaim of this round, or to another new one.

Upstream: pkg/controllers/provisioning/provisioner.go, and in its scheduling package scheduler.go, existingnode.go and
queue.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.node_provisioning import NodePool
from kwhatif.autoscaling.karpenter.catalogue import Reservations, Types
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot
from kwhatif.autoscaling.karpenter.map_order import GO_INSERTION_SORT_LENGTH
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
        expected = total([*(pod_data.requests for pod_data in daemons), {"pods": 0}])
        missing = {
            name: max(amount, 0)
            for name, amount in total([expected, {n: -a for n, a in node.daemon_requests.items()}]).items()
        }
        self._available = subtract(node.available, missing)
        host = Requirement.from_selector(HOSTNAME, "In", (node.hostname,))
        self._requirements = merge_requirements(node.requirements, host)
        self._ports = node.ports.copy()
        self._volumes = node.volumes.copy()
        # What a shape of pods was refused for lack of room, labels or tolerations, it always will be.
        self._never: set[int] = set()
        topology.register_host(node.hostname)

    def add(self, pod_data: PodData, volume_requirements: Sequence[Requirements], volumes: Used) -> bool:
        """Add the pod if it fits."""
        if not self._passes_static_checks(pod_data):
            return False
        if self._volumes.excess(volumes) or self._ports.clash(pod_data.key, pod_data.ports):
            return False
        required = merge_requirements(self._requirements, *pod_data.requirements.values())
        for alternative in volume_requirements or (None,):
            requirements = self._requirements_with(pod_data, required, alternative)
            if requirements is not None:
                self._place(pod_data, requirements, volumes)
                return True
        return False

    def never_takes(self, pod_data: PodData) -> bool:
        """Whether pods of this shape never fit."""
        return pod_data.shape in self._never

    def _passes_static_checks(self, pod_data: PodData) -> bool:
        if pod_data.shape in self._never:
            return False
        if (
            not fits(pod_data.requests, self._available)
            or explain_untolerated_taints(self.state.taints, pod_data.tolerations)
            or incompatible(self._requirements, pod_data.requirements)
        ):
            self._never.add(pod_data.shape)
            return False
        return True

    def _requirements_with(
        self, pod_data: PodData, pod_requirements: Requirements, alternative: Requirements | None
    ) -> Requirements | None:
        if alternative is not None:
            if incompatible(pod_requirements, alternative):
                return None
            pod_requirements = merge_requirements(pod_requirements, *alternative.values())
        narrowed, complaint = self._topology.add_requirements(pod_data, self.state.taints, pod_requirements)
        if complaint or incompatible(pod_requirements, narrowed):
            return None
        return merge_requirements(pod_requirements, *narrowed.values())

    def _place(self, pod_data: PodData, requirements: Requirements, volumes: Used) -> None:
        self.pods.append(pod_data)
        self._available = subtract(self._available, pod_data.requests)
        self._requirements = requirements
        self._topology.record(pod_data, self.state.taints, requirements)
        self._ports.take(pod_data.key, pod_data.ports)
        self._volumes.add(volumes)


class Queue:
    """Pods by falling CPU, then memory, then age, then UID.

    It ends when the next pod was put back at the queue's present length: all were tried since, and none was placed.
    """

    def __init__(self, pods: Iterable[PodData]) -> None:
        self._pods = deque(sorted(pods, key=_size))
        self._length_then: dict[int, int] = {}

    def pop(self) -> PodData | None:
        if not self._pods or self._length_then.get(id(self._pods[0].pod)) == len(self._pods):
            return None
        return self._pods.popleft()

    def push(self, pod_data: PodData) -> None:
        self._pods.append(pod_data)
        self._length_then[id(pod_data.pod)] = len(self._pods)


def _size(pod_data: PodData) -> tuple[int, int, str, str]:
    metadata = pod_data.pod.metadata
    requests = pod_data.requests
    return (-requests.get("cpu", 0), -requests.get("memory", 0), metadata.creation_timestamp or "", metadata.uid or "")


class SchedulingResults(msgspec.Struct):
    """The outcome of a round. ``errors`` are in Karpenter's words, ``refused`` has them by NodePool; ``relaxed`` counts
    relaxed preferences.
    """

    placed: dict[str, str] = {}
    on_nodes: list[ExistingNode] = []
    claims: list[NewClaim] = []
    errors: dict[str, tuple[str, ...]] = {}
    refused: dict[str, Mapping[str, Sequence[str]]] = {}
    relaxed: dict[str, Mapping[str, int]] = {}
    skipped: dict[str, str] = {}


_TOLD_EVERY = 64
"""Attempts after which a round reports its progress; those of consolidation are shorter, and many."""

_NONE_LEFT = "NodePool requirements filtered out all compatible available instance types"


class Scheduler:
    """Simulates one round for these pods, on these nodes and new NodeClaims."""

    def __init__(
        self, world: KarpenterSnapshot, nodes: Sequence[StateNode], pods: Sequence[Pod], *, strict: bool
    ) -> None:
        options, catalogue = world.options, world.catalogue
        shapes: dict[Hashable, int] = {}
        self._pods = [
            PodData.from_pod(pod, ignores_preferences=options.ignores_preferences, shapes=shapes) for pod in pods
        ]
        self._options = options
        self._order = world.order
        self._catalogue = catalogue
        self._volumes = world.cluster.volumes
        self._volume_requirements: dict[int, Sequence[Requirements]] = {}
        self._used: dict[int, Used | None] = {}
        # Constraints of a pod whose volumes lead nowhere are unknown until it fails for the first time.
        counted = [pod_data for pod_data in self._pods if self._find_volume_requirements(pod_data)]
        self._topology = Topology(world.cluster, nodes, world.domains, counted, world.order)
        rows = {int(row) for offer in world.offers for row in offer.types}
        self._world = RoundContext(
            catalogue,
            self._topology,
            Reservations(catalogue.reservations(sorted(rows))),
            options.feature_gates.reserved_capacity,
            strict,
        )
        self.results = SchedulingResults()
        pools = [offer.pool for offer in world.offers]
        self._relaxes_prefer_no_schedule = any(
            taint.effect == "PreferNoSchedule" for pool in pools for taint in pool.taints
        )
        self._templates: list[tuple[NodeClaimTemplate, Types]] = []
        for offer in world.offers:
            self._consider(offer.pool, offer.types)
        self._remaining_limits = {
            pool.name: amounts(pool.spec.limits) for pool in pools if pool.spec.limits is not None
        }
        daemons = list(world.daemons)
        # Upstream sums requests and reads ports in two passes over the same daemon pods. The first has relaxed them in
        # place, so that a pool may find other ones in the second.
        with_requests, with_ports = (
            [_compatible_daemons_relaxing(template, daemons, catalogue.known.labels) for template, _ in self._templates]
            for _ in range(2)
        )
        self._daemons = {
            template.name: _daemon_overhead(requested, listening)
            for (template, _), requested, listening in zip(self._templates, with_requests, with_ports, strict=True)
        }
        self._nodes = [self._existing(node, daemons) for node in nodes]
        self._nodes.sort(key=lambda node: (not node.state.is_initialized, node.state.name))
        self._nodes_by_shape: dict[int, list[ExistingNode]] = {}
        self._made = 0

    def _find_volume_requirements(self, pod_data: PodData) -> bool:
        """Whether the topology of the pod's volumes is known."""
        self._used[id(pod_data.pod)] = self._volumes.of_pod(pod_data.pod)
        try:
            self._volume_requirements[id(pod_data.pod)] = self._volumes.requirements_of(pod_data.pod)
        except VolumeNotFound:
            self._volume_requirements[id(pod_data.pod)] = ()
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
                relax_minimum=self._options.best_effort_minimum,
            )
        except IncompatibleError as error:
            short = " due to minValues incompatibility" if error.reasons[0].startswith("minValues") else ""
            self.results.skipped[pool.name] = f"{_NONE_LEFT}{short}"
            return
        self._templates.append((template, left))

    def _existing(self, node: StateNode, daemons: Iterable[PodData]) -> ExistingNode:
        labels = node.requirements
        expected = [
            pod_data
            for pod_data in daemons
            if not explain_untolerated_taints(node.taints, pod_data.tolerations)
            and not incompatible(labels, pod_data.strict_requirements)
        ]
        if node.pool in self._remaining_limits:
            self._remaining_limits[node.pool] = subtract(self._remaining_limits[node.pool], node.capacity)
        return ExistingNode(node, self._topology, expected)

    # --- the round

    def solve(self) -> SchedulingResults:
        """Try all pods until there is no more progress."""
        queue = Queue(self._pods)
        errors: dict[str, IncompatibleError] = {}
        tried = 0
        while (pod_data := queue.pop()) is not None:
            tried += 1
            if tried % _TOLD_EVERY == 0:
                report_progress("Finding machines", "attempts", tried)
            problem = self._try(pod_data)
            if problem is None:
                errors.pop(pod_data.key, None)
                continue
            errors[pod_data.key] = problem
            self._topology.update(pod_data)
            queue.push(pod_data)
        for claim in self.results.claims:
            claim.finalize()
        self.results.errors = {key: error.reasons for key, error in errors.items()}
        self.results.refused = {key: error.by_pool for key, error in errors.items()}
        self.results.on_nodes = [node for node in self._nodes if node.pods]
        return self.results

    def _try(self, pod_data: PodData) -> IncompatibleError | None:
        while True:
            try:
                self._add(pod_data)
            except IncompatibleError as problem:
                if problem.reserved:
                    # A machine of this round may yet give its reservation back, so no preference is given up for it.
                    return problem
                relaxed = pod_data.relax(taints=self._relaxes_prefer_no_schedule)
                if relaxed is None:
                    return problem
                pod_data = relaxed
                self._topology.update(pod_data)
                continue
            if pod_data.given_up:
                self.results.relaxed[pod_data.key] = pod_data.given_up
            return None

    def _add(self, pod_data: PodData) -> None:
        volume_requirements, volumes = self._volume_requirements[id(pod_data.pod)], self._used[id(pod_data.pod)]
        if volumes is not None:
            nodes = self._nodes_by_shape.setdefault(pod_data.shape, self._nodes)
            index = next(
                (index for index, node in enumerate(nodes) if node.add(pod_data, volume_requirements, volumes)),
                len(nodes),
            )
            # Those before it refused the pod; some would refuse every pod of its shape.
            kept = [node for node in nodes[:index] if not node.never_takes(pod_data)]
            if len(kept) < index:
                self._nodes_by_shape[pod_data.shape] = kept + nodes[index:]
            if index < len(nodes):
                self.results.placed[pod_data.key] = nodes[index].state.name
                return
        claims = self.results.claims
        if len(claims) > GO_INSERTION_SORT_LENGTH:
            # Upstream's sort may now swap claims with equally many pods.
            self._order.mattered = True
            claims.sort(key=lambda claim: (len(claim.pods), self._order.rank(claim.hostname)))
        else:
            claims.sort(key=lambda claim: len(claim.pods))
        concerned = self._topology.applies_to(pod_data)
        for claim in claims:
            if claim.can_never_add(pod_data):
                continue
            refused, for_good = self._topology.refuses(pod_data, claim.requirements)
            if refused:
                if for_good:
                    claim.rule_out(pod_data)
                continue
            try:
                claim.add(pod_data, volume_requirements)
            except IncompatibleError as problem:
                # A claim's requirements only get tighter. What may change is what topology and reservations allow; and
                # pods of one shape may differ in their volumes.
                if problem.for_good or not (concerned or volume_requirements or problem.reserved):
                    claim.rule_out(pod_data)
                continue
            return
        if not self._templates:
            raise IncompatibleError("nodepool requirements filtered out all available instance types")
        self._open(pod_data, volume_requirements)

    def _open(self, pod_data: PodData, volume_requirements: Sequence[Requirements]) -> None:
        """Put the pod on a new NodeClaim."""
        reasons_by_pool: dict[str, Sequence[str]] = {}
        for template, types in self._templates:
            remaining = self._remaining_limits.get(template.name)
            if remaining is not None:
                if remaining.get(NODES) == 0:
                    reasons_by_pool[template.name] = (
                        f"node limits have been exhausted for nodepool (NodePool={template.name})",
                    )
                    continue
                types = self._catalogue.within(types, remaining)
                if not len(types):
                    text = f"all available instance types exceed limits for nodepool (NodePool={template.name})"
                    reasons_by_pool[template.name] = (text,)
                    continue
            self._made += 1
            host = f"hostname-placeholder-{self._made:04d}"
            claim = NewClaim(template, self._world, self._daemons[template.name], types, host)
            try:
                claim.add(pod_data, volume_requirements, relax_minimum=self._options.best_effort_minimum)
            except IncompatibleError as problem:
                reasons_by_pool[template.name] = problem.reasons
                if problem.reserved:
                    # No NodePool of a lower weight takes a pod that waits for reserved capacity.
                    raise IncompatibleError(by_pool=reasons_by_pool, reserved=True) from None
                continue
            self.results.claims.append(claim)
            for new_claim in self.results.claims:
                # Claims of one pool share their annotations: what is noted of the last is noted of all.
                if new_claim.template.name == template.name:
                    new_claim.lowered_minimum = claim.lowered_minimum
            if remaining is not None:
                largest = self._catalogue.largest(claim.types)
                self._remaining_limits[template.name] = subtract(remaining, largest)
            return
        raise IncompatibleError(by_pool=reasons_by_pool)


def _compatible_daemons_relaxing(
    template: NodeClaimTemplate, daemons: list[PodData], labels: frozenset[str]
) -> list[PodData]:
    """The daemon pods that could run on some machine of the pool.

    This changes the pods: afterwards they tolerate PreferNoSchedule, and terms that did not suit are relaxed.
    """
    compatible = []
    for index, pod_data in enumerate(daemons):
        if not pod_data.tolerates_preferences:
            pod_data = pod_data.with_prefer_no_schedule_toleration()
        suits = not explain_untolerated_taints(template.pool.taints, pod_data.tolerations)
        while suits and incompatible(template.requirements, pod_data.strict_requirements, labels):
            rest = pod_data.without_first_term()
            suits = rest is not None
            pod_data = rest or pod_data
        daemons[index] = pod_data
        if suits:
            compatible.append(pod_data)
    return compatible


def _daemon_overhead(pods: Sequence[PodData], with_ports: Sequence[PodData]) -> Daemons:
    ports = HostPorts()
    for pod_data in with_ports:
        ports.take(pod_data.key, pod_data.ports)
    requests: Amounts = total([{"pods": 0}, *(pod_data.requests for pod_data in pods)])
    return Daemons([pod_data.quantities for pod_data in pods], requests, ports)


class Provisioning(msgspec.Struct, frozen=True):
    """A round, and the pods that are not part of it."""

    results: SchedulingResults
    ignored: Mapping[str, Sequence[str]] = {}
    not_pending: Sequence[str] = ()


def provision(world: KarpenterSnapshot) -> Provisioning:
    """One round for all pending pods, and for those of nodes that are being deleted."""
    pods = [*world.waiting, *world.leaving]
    results = simulate_round(world, world.staying, pods, strict=True) if pods else SchedulingResults()
    return Provisioning(results, world.refusals_by_pod, world.unprovisionable_pods)


def simulate_round(
    world: KarpenterSnapshot, nodes: Sequence[StateNode], pods: Sequence[Pod], *, strict: bool
) -> SchedulingResults:
    """A round on these nodes. Without a NodePool that takes part nothing happens at all."""
    return Scheduler(world, nodes, pods, strict=strict).solve() if world.offers else SchedulingResults()
