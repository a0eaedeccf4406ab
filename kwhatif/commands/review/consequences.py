"""What a change does once it is rolled out: requests, pods, disruption budgets and quotas, before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set

from kwhatif.admission.object_store import name_of, namespace_of
from kwhatif.admission.plugins.resource_quota import Quotas
from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.cluster.cluster import Cluster
from kwhatif.commands.gate.context import Context
from kwhatif.commands.gate.units import subject_of_budget
from kwhatif.commands.review.commands import Commands
from kwhatif.commands.review.result import BudgetChange, EvictedByChange, QuotaChange, RequestChange, WorkloadPlacement
from kwhatif.scheduling.budget_status import with_statuses
from kwhatif.simulation.expansion.snapshot_objects import build_object_store
from kwhatif.simulation.node_pools import pool_of, resource_order_of
from kwhatif.snapshot.format.model import Snapshot

NO_POOL = "<none>"


def changed_requests(context: Context) -> Iterator[RequestChange]:
    """The requests of running pods by namespace and by pool, where the change alters them."""
    before, after = context.before, context.cluster
    spaces = _requests(before, _namespaces_of(before)), _requests(after, _namespaces_of(after))
    pools = _requests(before, _pools_of(before)), _requests(after, _pools_of(after))
    room = _room(after)
    for scope, (was, now) in (("namespace", spaces), ("pool", pools)):
        for name, resource in sorted(was.keys() | now.keys(), key=lambda key: (key[0], resource_order_of(key[1]))):
            key = name, resource
            if was[key] != now[key]:
                yield RequestChange(
                    scope=scope,  # type: ignore[arg-type]
                    name=name,
                    resource=resource,
                    before=was[key],
                    after=now[key],
                    room=room.get(key) if scope == "pool" else None,
                )


def _namespaces_of(cluster: Cluster) -> Iterator[tuple[str, int, int]]:
    return ((info.pod.namespace, info.shape.index, 1) for info, _ in cluster.pods())


def _pools_of(cluster: Cluster) -> Iterator[tuple[str, int, int]]:
    nodes = cluster.columns.nodes
    names = [pool_of(node) or NO_POOL for node in nodes]
    return ((names[row], info.shape.index, 1) for info, row in cluster.pods())


def _requests(cluster: Cluster, pods: Iterable[tuple[str, int, int]]) -> Counter[tuple[str, str]]:
    """(name, resource) -> what the pods of a name request; pods come by shape, of which each is looked up once."""
    counts: Counter[tuple[str, int]] = Counter()
    for name, shape, count in pods:
        counts[name, shape] += count
    requests: Counter[tuple[str, str]] = Counter()
    resources = cluster.shapes.resources.names
    for (name, shape), count in counts.items():
        for resource, amount in zip(resources, cluster.shapes.requests[shape].tolist(), strict=True):
            requests[name, resource] += amount * count
        requests[name, "pods"] += count
    return requests


def _room(cluster: Cluster) -> Mapping[tuple[str, str], int]:
    columns = cluster.columns
    room: Counter[tuple[str, str]] = Counter()
    for row, node in enumerate(columns.nodes):
        pool = pool_of(node) or NO_POOL
        for resource, amount in zip(cluster.shapes.resources.names, columns.allocatable[row].tolist(), strict=True):
            room[pool, resource] += amount
        room[pool, "pods"] += int(columns.allowed_pods[row])
    return room


def placed_workloads(context: Context, commands: Commands) -> Iterator[WorkloadPlacement]:
    """The workloads of the change that have new pods, those that wait first."""
    pools = {node.name: pool_of(node) or NO_POOL for node in context.cluster.columns.given}
    rows = []
    for unit in context.units:
        if unit.placements:
            placed = [placement for placement in unit.placements if placement.good]
            first = next(iter(unit.pending), None)
            rows.append(
                WorkloadPlacement(
                    workload="/".join(filter(None, (unit.subject.kind, unit.subject.namespace, unit.subject.name))),
                    pods=len(unit.placements),
                    placed=len(placed),
                    pools=dict(
                        sorted(
                            Counter(
                                pools.get(placement.node, NO_POOL) for placement in placed if placement.node
                            ).items()
                        )
                    ),
                    why=first.reason if first else "",
                    pod=first.pod if first else "",
                    command=commands.explain(first.pod) if first else "",
                )
            )
    yield from sorted(rows, key=lambda placement: placement.placed == placement.pods)


def evicted_pods(context: Context) -> Iterator[EvictedByChange]:
    """The pods that leave their nodes for pods of the change, and those of workloads that Kueue evicts for it."""
    queues = context.session.queues
    waiting = {pending_pod.pod for pending_pod in queues.pending}
    for pod in queues.evicted:
        yield EvictedByChange(pod=pod.pod, taken_by="Kueue", replacement=pod.pod if pod.pod in waiting else "")
    victims = ((placement, victim) for placement in context.run.placements for victim in placement.victims)
    # One that is evicted twice counts once, as in the verdict.
    for placement, victim in {victim.pod: (placement, victim) for placement, victim in victims}.values():
        yield EvictedByChange(
            pod=victim.pod, taken_by=placement.pod, replacement=victim.replacement, lands_on=victim.lands_on
        )


def changed_budgets(before: Snapshot, after: Snapshot) -> Iterator[BudgetChange]:
    """The disruption budgets that allow more or fewer disruptions than before."""
    allowed_before, allowed = _disruptions_by_budget(before), _disruptions_by_budget(after)
    for subject in dict.fromkeys((*allowed_before, *allowed)):
        if allowed_before.get(subject) != allowed.get(subject):
            yield BudgetChange(budget=subject, before=allowed_before.get(subject), after=allowed.get(subject))


def _disruptions_by_budget(snapshot: Snapshot) -> dict[str, int]:
    running = [pod for pod in snapshot.objects.list_all(Pod) if not pod.is_finished]
    budgets = with_statuses(snapshot.objects.list_all(PodDisruptionBudget), running)
    named = ((subject_of_budget(budget), budget.status.disruptions_allowed or 0) for budget in budgets)
    return {f"{subject.namespace}/{subject.name}": allowed for subject, allowed in named}


def changed_quotas(context: Context, before: Snapshot, after: Snapshot) -> Iterator[QuotaChange]:
    """What pods use of the quotas of the namespaces in which the change has workloads, or quotas."""
    changed = [change.subject for change in context.changes if change.subject.kind == "ResourceQuota"]
    spaces = {subject.namespace for subject in (*changed, *(unit.subject for unit in context.units))}
    if not after.whole.get("ResourceQuota") or not spaces:
        return
    usage_before = _usage(context, before, spaces)
    for key, (used, hard) in _usage(context, after, spaces).items():
        was, hard_before = usage_before.get(key, (used, ""))
        if (was, hard_before) != (used, hard):
            yield QuotaChange(
                quota=key[0], resource=key[1], before=was, after=used, hard=hard, hard_before=hard_before or None
            )


def _usage(context: Context, snapshot: Snapshot, spaces: Set[str]) -> dict[tuple[str, str], tuple[str, str]]:
    world = build_object_store(snapshot, spaces)
    quotas = Quotas(world, context.setup.features)
    return {
        (f"{namespace_of(quota)}/{name_of(quota)}", resource): (str(used), str(hard))
        for quota in world.all("ResourceQuota")
        for resource, (used, hard) in sorted(quotas.used_by_pods(quota).items())
    }
