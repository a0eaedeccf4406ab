"""How many copies of the workloads of manifests Kueue lets in one after the other, the first included."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.api.kueue import KueueWorkload
from kwhatif.kueue.cycle import PREEMPTING
from kwhatif.kueue.kueue_objects import KueueState
from kwhatif.kueue.room import room_at
from kwhatif.kueue.run import RecordedCycle
from kwhatif.kueue.workload import QUOTA_RESERVED, Workload
from kwhatif.simulation.queueing.admitted_pods import domains_of
from kwhatif.simulation.queueing.decisions import Decisions
from kwhatif.simulation.queueing.queued_pods import QueuedCopies

_MOST = 1_000


def count_copies(decisions: Decisions) -> QueuedCopies | None:
    """As many as are admitted in the flavors of the first and evict nobody.

    None where the first one is not admitted, and where a thousand are, whatever their domains: then Kueue is no limit.
    """
    first = [decisions.state.workloads[key] for key in decisions.keys]
    if not first or any(workload.admission is None for workload in first):
        return None
    has_topology = any(workload.usage.topology for workload in first)
    domains: list[dict[str, dict[str, str]]] = []
    run = copy.deepcopy(decisions.run)
    for number in range(2, _MOST + 1):
        sources = [_copy_of(workload, number) for workload in decisions.workloads]
        run.create(sources)
        cycles = run.rest()
        for original, source in zip(first, sources, strict=True):
            made, queue = run.state.workloads[source.key], original.cluster_queue
            if made.admission is None or _evicts(cycles, made):
                return QueuedCopies(number - 1, queue, _shortage(run.state, original, made), domains)
            if made.used_flavors != original.used_flavors:
                flavors = ", ".join(sorted({flavor for flavor, _ in made.used_flavors}))
                return QueuedCopies(number - 1, queue, f"the next copy goes to {flavors}", domains, flavors)
        if has_topology:
            domains.append(_domains_of_copy(decisions, run.state, sources))
    return QueuedCopies(_MOST, first[0].cluster_queue, f"no copy after {_MOST} is tried", domains) if domains else None


def _domains_of_copy(
    decisions: Decisions, state: KueueState, sources: Sequence[KueueWorkload]
) -> dict[str, dict[str, str]]:
    """The labels of the domain of each pod of a copy, by the pod of the first that it is a copy of."""
    domains: dict[str, dict[str, str]] = {}
    copies = {workload.key: source.key for workload, source in zip(decisions.workloads, sources, strict=True)}
    for job in decisions.jobs:
        if job.workload is not None:
            admissions = state.workloads[copies[job.workload.key]].admission or ()
            left = {admission.name: domains_of(admission) for admission in admissions}
            domains |= {pod: next(left[name], {}) for pod, name in job.pods.items() if name in left}
    return domains


def _copy_of(source: KueueWorkload, number: int) -> KueueWorkload:
    metadata = source.metadata
    name, uid = f"{metadata.name}-copy-{number}", f"{metadata.uid}-copy-{number}"
    return replace(source, metadata=replace(metadata, name=name, uid=uid))


def _evicts(cycles: Sequence[RecordedCycle], workload: Workload) -> bool:
    return any(entry.workload is workload and entry.result == PREEMPTING for cycle in cycles for entry in cycle.entries)


def _shortage(state: KueueState, original: Workload, workload: Workload) -> str:
    """What the next copy lacks of the quotas that the first one has, else Kueue's message."""
    queue = state.queues[original.cluster_queue]
    for key, amount in sorted(original.usage.quota.items()):
        if room_at(queue, key).amount < amount:
            return f"{key[1]} in {key[0]}"
    reserved = workload.conditions.get(QUOTA_RESERVED)
    return "" if reserved is None else reserved.message
