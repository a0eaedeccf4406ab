"""Karpenter in the loop: its NodePools, one round for pods without a node, and the nodes of its NodeClaims.

A cloud chooses among the types of a NodeClaim; here each is of the cheapest, in the cheapest zone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import structs
from msgspec.structs import replace

from kwhatif.api.core import Condition, Node, NodeSpec, NodeStatus, Pod
from kwhatif.api.meta import ObjectMeta
from kwhatif.api.node_provisioning import NodeClaim, NodeClaimStatus, NodePool, NodePoolStatus
from kwhatif.api.quantity import Quantity
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.autoscaling.karpenter.karpenter_snapshot import KarpenterSnapshot
from kwhatif.autoscaling.karpenter.new_claim import NewClaim
from kwhatif.autoscaling.karpenter.pod_data import Amounts, amounts, subtract, total
from kwhatif.autoscaling.karpenter.requirements import (
    HOSTNAME,
    INITIALIZED,
    INSTANCE_TYPE,
    NODE_POOL,
    NORMALIZED_LABELS,
    REGISTERED,
    ZONE,
)
from kwhatif.autoscaling.karpenter.scheduler import Provisioning, provision
from kwhatif.autoscaling.karpenter.state import NODES
from kwhatif.autoscaling.upcoming_nodes import AutoscalerPlan, UpcomingNode
from kwhatif.clock import read_clock
from kwhatif.cluster.shapes import start_time
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_amount
from kwhatif.results.place import GrownGroup
from kwhatif.simulation.autoscalers.instance_types_document import OfferedCatalogue
from kwhatif.simulation.edits.daemon_pods import start_daemons
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.load import load_snapshot

_READY = Condition(type="Ready", status="True")
_READY_POOL = NodePoolStatus(conditions=[Condition(type="Ready", status="True")])
_INITIALIZED = Condition(type="Initialized", status="True")


class PoolAutoscaler:
    """Karpenter with its NodePools and the cloud's catalogue."""

    name = "Karpenter"

    def __init__(self, catalogue: OfferedCatalogue, pools: Sequence[NodePool]) -> None:
        self.known, self.pools = catalogue, pools
        self._made: dict[str, int] = {}
        self._names: set[str] = set()

    def ask(
        self, session: Session, later: Snapshot, waiting: Sequence[Pod], now: datetime, is_taken: Callable[[str], bool]
    ) -> AutoscalerPlan:
        """The plan of one round; new nodes get names for which ``is_taken`` is false."""
        world = build_karpenter_snapshot(later, self.known, self.pools, now, waiting)
        provisioning = provision(world)
        keys = {pod.key for pod in waiting}
        # Machines for the pods of nodes that are going are not those that were asked about.
        claims = [
            claim for claim in provisioning.results.claims if any(pod_data.key in keys for pod_data in claim.pods)
        ]
        there = {key for node in later.objects.list_all(Node) for key in node.metadata.labels or ()}
        zones = [key for key, name in NORMALIZED_LABELS.items() if name == ZONE and key in there]
        nodes = [self._node(claim, world, is_taken, zones) for claim in claims]
        return AutoscalerPlan(_with_daemons(nodes, later), _why_not(keys, provisioning))

    def sizes(self, snapshot: Snapshot) -> Iterator[GrownGroup]:
        """The NodePools that have grown."""
        capacities: dict[str, list[Amounts]] = {}
        for claim in snapshot.objects.list_all(NodeClaim):
            owner = (claim.metadata.labels or {}).get(NODE_POOL, "")
            capacities.setdefault(owner, []).append({**amounts(claim.status.capacity), NODES: 1000})
        catalogue = self.known.catalogue
        for pool in self.pools:
            new = self._made.get(pool.name, 0)
            if not new:
                continue
            there, limits = capacities.get(pool.name, []), amounts(pool.spec.limits)
            used = total(there)
            left = {name: amount for name, amount in subtract(limits, used).items() if name in limits}
            types = catalogue.within(catalogue.rows(self.known.offered.get(pool.name)), left)
            yield GrownGroup(
                autoscaler=self.name,
                group=pool.name,
                size=len(there) - new,
                to=len(there),
                max=limits[NODES] // 1000 if NODES in limits else None,
                limits=", ".join(
                    f"{name} {format_exactly(name, used.get(name, 0))} of {format_exactly(name, limits[name])}"
                    for name in limits
                ),
                full=not len(types) or left.get(NODES, 1000) < 1000,
            )

    def unknown(self, *, unhelped: bool) -> Iterator[str]:
        """The catalogue's gaps about NodePools that have grown; about all NodePools if pods are ``unhelped``."""
        for gap in self.known.gaps:
            if any(gap.touches(pool) for pool in self.pools if unhelped or pool.name in self._made):
                yield gap.what

    def _node(
        self, claim: NewClaim, world: KarpenterSnapshot, is_taken: Callable[[str], bool], zones: Sequence[str]
    ) -> UpcomingNode:
        """The machine of a NodeClaim, once it has come up and is initialized.

        ``zones`` are the labels of the cluster's nodes that have the zone, too: drivers of volumes set theirs.
        """
        pool = claim.template.pool
        number = self._made[pool.name] = self._made.get(pool.name, 0) + 1
        while (name := f"{pool.name}-new-{number}") in self._names or is_taken(name):
            number += 1
        self._names.add(name)
        catalogue, requirements = world.catalogue, claim.resolve_requirements()
        cheapest = catalogue.cheapest(claim.types, requirements)
        assert cheapest is not None, "a NodeClaim has types that are offered"
        type_, offer = catalogue.types[cheapest[0]], cheapest[1]
        labels = {
            **type_.labels,
            **claim.labels(),
            **catalogue.labels_of(offer),
            **dict.fromkeys(zones, offer.zone),
            INSTANCE_TYPE: type_.name,
            HOSTNAME: name,
            REGISTERED: "true",
            INITIALIZED: "true",
        }
        annotations = pool.spec.template.metadata.annotations
        meta = ObjectMeta(name=name, uid=name, labels=labels, annotations=annotations)
        capacity, allocatable = type_.capacity, _quantities(type_.allocatable)
        provider_id = f"kwhatif:///{name}"
        node = Node(
            metadata=meta,
            spec=NodeSpec(provider_id=provider_id, taints=pool.taints or None),
            status=NodeStatus(capacity=capacity, allocatable=allocatable, conditions=[_READY]),
        )
        bought = NodeClaim(
            metadata=meta,
            spec=pool.spec.template.spec,
            status=NodeClaimStatus(
                provider_id=provider_id, capacity=capacity, allocatable=allocatable, conditions=[_INITIALIZED]
            ),
        )
        types = [catalogue.types[row].name for row in claim.types]
        return UpcomingNode(pool.name, node, others=[bought], types=types, price=offer.price)


def _with_daemons(nodes: Sequence[UpcomingNode], later: Snapshot) -> list[UpcomingNode]:
    """The nodes with the pods that daemon sets start there: known by the daemon sets, or by a node of the same pool."""
    # One draft for all NodePools: pods of a daemon set are numbered through.
    draft = Draft(later)
    before = len(draft.pods)
    for group in dict.fromkeys(node.group for node in nodes):
        like = (node for node in draft.nodes if (node.metadata.labels or {}).get(NODE_POOL) == group)
        start_daemons(draft, [node.node for node in nodes if node.group == group], next(like, Node()), "")
    pods: dict[str, list[Pod]] = {}
    for pod in draft.pods[before:]:
        pods.setdefault(pod.spec.node_name or "", []).append(pod)
    return [structs.replace(node, pods=pods.get(node.node.name, ())) for node in nodes]


def _why_not(keys: set[str], provisioning: Provisioning) -> dict[str, Mapping[str, Sequence[str]]]:
    """Why no NodePool helps a pod."""
    result = provisioning.results
    why: dict[str, Mapping[str, Sequence[str]]] = {
        pod: {"": [f"it is expected to fit on {node}"]} for pod, node in result.placed.items() if pod in keys
    }
    for pod, reasons in result.errors.items():
        said = {
            pool: [reason.partition(", requirements=")[0] for reason in of] for pool, of in result.refused[pod].items()
        }
        why[pod] = said or {"": reasons}
    why.update({pod: {"": reasons} for pod, reasons in provisioning.ignored.items()})
    return {pod: reasons for pod, reasons in why.items() if pod in keys}


def _quantities(some: Amounts) -> dict[str, Quantity]:
    return {
        name: Quantity.from_milli(amount) if amount % 1000 else Quantity.from_units(amount // 1000)
        for name, amount in some.items()
    }


def pools_of(snapshot: Snapshot, files: Sequence[str]) -> list[NodePool]:
    """The NodePools of the files, or of the snapshot where no file is named. One without conditions is assumed to be
    ready. Raises InputError, and UsageError if there is none.
    """
    pools = (load_snapshot(files) if files else snapshot).objects.list_all(NodePool)
    if not pools:
        where = ", ".join(files) or snapshot.source or "the snapshot"
        raise UsageError(f"{where}: expected NodePools, found none (--node-pools FILE reads some)")
    return [pool if pool.status.conditions else replace(pool, status=_READY_POOL) for pool in pools]


def build_karpenter_snapshot(
    later: Snapshot,
    catalogue: OfferedCatalogue,
    pools: Sequence[NodePool],
    now: datetime | None = None,
    waiting: Sequence[Pod] | None = None,
) -> KarpenterSnapshot:
    """Karpenter's view of a cluster in which the scheduler has given up on all waiting pods, or on those given."""
    seen = now.astimezone(UTC).isoformat() if now else later.taken_at or read_clock().isoformat()
    return KarpenterSnapshot(
        start_time(seen.replace("+00:00", "Z")),
        later.objects,
        [pod for pod in later.objects.list_all(Pod) if not pod.spec.node_name] if waiting is None else waiting,
        pools,
        catalogue.catalogue,
        catalogue.offered,
        catalogue.options,
        later.whole.get("DaemonSet", ()),
        later.objects.list_all(PodDisruptionBudget),
    )


def format_exactly(name: str, thousandths: int) -> str:
    """An amount of a resource that is known in thousandths."""
    return format_amount(name, thousandths if name == "cpu" else -(-thousandths // 1000))
