"""Candidates for disruption: their price, their disruption cost, and why other nodes are none.

Upstream: NewCandidate in pkg/controllers/disruption/types.go, pkg/utils/disruption, and consolidation.go in
pkg/controllers/nodeclaim/disruption.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import msgspec

from kwhatif.api.core import Pod
from kwhatif.api.node_provisioning import NodeClaim, NodePool
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot
from kwhatif.autoscaling.karpenter.requirements import (
    CAPACITY_TYPE,
    DO_NOT_DISRUPT,
    INSTANCE_TYPE,
    NODE_POOL,
    ZONE,
    incompatible,
)
from kwhatif.autoscaling.karpenter.state import StateNode, is_disruptable, is_reschedulable
from kwhatif.cluster.shapes import start_time
from kwhatif.golang.parsing import Duration

NEVER_DISRUPTED = "Never"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_NON_EMPTY = "WhenEmptyOrUnderutilized"


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A node that may be disrupted. ``row`` is that of its instance type in the catalogue, None if that is no longer
    offered; ``price`` that of its cheapest compatible offering by the hour, None if there is none.
    """

    state: StateNode
    pool: NodePool
    row: int | None
    price: float | None
    cost: float
    pods: tuple[Pod, ...]

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def capacity_type(self) -> str:
        return self.state.labels.get(CAPACITY_TYPE, "")


class CandidateSearch(msgspec.Struct):
    """Candidates, and why other nodes are none."""

    candidates: list[Candidate] = []
    reasons: dict[str, list[str]] = {}

    def record_reason(self, node: StateNode, text: str) -> None:
        name = node.node.name if node.node is not None else node.name
        said = self.reasons.setdefault(name, [])
        if text not in said:
            said.append(text)


def find_candidates(world: KarpenterSnapshot, *, empty: bool) -> CandidateSearch:
    """The nodes that one of the methods may disrupt: empty ones, or underutilized ones where their pool allows it."""
    search = CandidateSearch()
    for node in world.cluster.nodes:
        candidate = _candidate(world, node, search)
        if candidate is None or candidate.pool.spec.replicas is not None:
            continue
        wanted = _of_empty(candidate, search) if empty else _of_any(candidate, search)
        if wanted and is_consolidatable(candidate.state.claim, candidate.pool, world.now):
            search.candidates.append(candidate)
    costs = {other.cost for other in search.candidates}
    world.order.mattered |= len(costs) < len(search.candidates)
    search.candidates.sort(key=lambda other: (other.cost, world.order.rank(other.name), other.name))
    return search


def _of_empty(candidate: Candidate, search: CandidateSearch) -> bool:
    if _consolidates_never(candidate.pool):
        search.record_reason(candidate.state, f'NodePool "{candidate.pool.name}" has consolidation disabled')
        return False
    return not candidate.pods


def _of_any(candidate: Candidate, search: CandidateSearch) -> bool:
    pool, labels = candidate.pool, candidate.state.labels
    if candidate.row is None:
        said = f'Instance Type "{labels.get(INSTANCE_TYPE, "")}" not found'
    elif CAPACITY_TYPE not in labels:
        said = f'Node does not have label "{CAPACITY_TYPE}"'
    elif ZONE not in labels:
        said = f'Node does not have label "{ZONE}"'
    elif _consolidates_never(pool):
        said = f'NodePool "{pool.name}" has consolidation disabled'
    elif pool.spec.disruption.consolidation_policy != _NON_EMPTY:
        said = f'NodePool "{pool.name}" has non-empty consolidation disabled'
    else:
        return True
    search.record_reason(candidate.state, said)
    return False


def _candidate(world: KarpenterSnapshot, node: StateNode, search: CandidateSearch) -> Candidate | None:
    if node.claim is None:
        return None
    blocked = _blocking_reason_of(node)
    pool = next((node_pool for node_pool in world.pools if node_pool.name == node.pool), None)
    types = None if pool is None else world.catalogue.rows(world.offered.get(pool.name))
    if blocked is None and (pool is None or types is None or not len(types)):
        blocked = f"NodePool not found (NodePool={node.pool})"
    pods = [] if node.node is None else list(world.cluster.pods_on(node.node.name))
    if blocked is None:
        blocked = _pod_reason_of(world, pods)
    if blocked is not None or pool is None or types is None:
        search.record_reason(node, blocked or "")
        return None
    name = node.labels.get(INSTANCE_TYPE, "")
    row = next((int(type_row) for type_row in types if world.catalogue.types[type_row].name == name), None)
    return Candidate(
        node,
        pool,
        row,
        _price(world, node, row),
        sum(map(_eviction_cost, pods)) * _lifetime_left(node.claim, world.now),
        tuple(pod for pod in pods if is_reschedulable(pod)),
    )


def _blocking_reason_of(node: StateNode) -> str | None:
    if node.node is None:
        return "Nodeclaim does not have an associated node"
    if not node.is_initialized:
        return "Node isn't initialized"
    if node.is_deleting:
        return "Node is deleting or marked for deletion"
    if node.annotations.get(DO_NOT_DISRUPT) == "true":
        return f'Disruption is blocked through the "{DO_NOT_DISRUPT}" annotation'
    if NODE_POOL not in node.labels:
        return f"Node doesn't have required label (label={NODE_POOL})"
    return None


def _pod_reason_of(world: KarpenterSnapshot, pods: Iterable[Pod]) -> str | None:
    pods = list(pods)
    for pod in pods:
        if not is_disruptable(pod, world.now):
            return f'Pod has "{DO_NOT_DISRUPT}" annotation (Pod={pod.namespace}/{pod.name})'
    budgets = world.pod_budgets.blocking(pods)
    if budgets is None:
        return None
    shown = f"[{' '.join(budgets)}]"
    if len(budgets) > 1:
        return f"Eviction does not support multiple PDBs (PodDisruptionBudget(s)={shown})"
    return f"Pdb prevents pod evictions (PodDisruptionBudget={shown})"


def _price(world: KarpenterSnapshot, node: StateNode, row: int | None) -> float | None:
    """The price of the cheapest offering of its type that its labels suit, available or not."""
    if row is None:
        return None
    labels = node.requirements
    prices = [
        offering.price
        for offering in world.catalogue.types[row].offerings
        if not incompatible(labels, world.catalogue.requirements[offering], world.catalogue.known.labels)
    ]
    return min(prices, default=None)


def _eviction_cost(pod: Pod) -> float:
    """1, plus or minus up to 10 by the pod's deletion cost and priority."""
    cost = 1.0
    text = (pod.metadata.annotations or {}).get(_DELETION_COST)
    if text is not None:
        with contextlib.suppress(ValueError):
            cost += float(text) / 2**27
    if pod.spec.priority is not None:
        cost += pod.spec.priority / 2**25
    return min(max(cost, -10.0), 10.0)


def _lifetime_left(claim: NodeClaim, now: int) -> float:
    """The share of a node's lifetime that is left."""
    text = claim.spec.expire_after
    if text is None or text == NEVER_DISRUPTED:
        return 1.0
    whole = Duration.parse(text)
    age = now - start_time(claim.metadata.creation_timestamp or "1970-01-01T00:00:00Z")
    # Upstream divides floating-point numbers, of which none is refused: of no life at all nothing is left.
    return min(max((whole - age) / whole, 0.0), 1.0) if whole > 0 else 0.0


def _consolidates_never(pool: NodePool) -> bool:
    return pool.spec.disruption.consolidate_after == NEVER_DISRUPTED


def is_consolidatable(claim: NodeClaim | None, pool: NodePool, now: int) -> bool:
    """Whether no pod event has happened on the node for ``consolidateAfter``."""
    after = pool.spec.disruption.consolidate_after
    if claim is None or after == NEVER_DISRUPTED:
        return False
    initialized = next(
        (condition for condition in claim.status.conditions or () if condition.type == "Initialized"), None
    )
    if initialized is None or initialized.status != "True":
        return False
    since = claim.status.last_pod_event_time or initialized.last_transition_time
    return since is None or now - start_time(since) >= Duration.parse(after or "0s")
