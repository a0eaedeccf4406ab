"""What lets a waiting workload start: whose end frees the quota, and changes, each tried on a copy of the run."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from kwhatif.api import kueue as api
from kwhatif.api.core import Toleration
from kwhatif.api.quantity import Quantity
from kwhatif.api.times import format_time
from kwhatif.commands.queue.result import FreeingWorkload, QueueFix
from kwhatif.golang.parsing import SECOND
from kwhatif.kueue.amounts import add, clamp, limit_of, quantity_text, subtract
from kwhatif.kueue.cluster_queue import ClusterQueue, Group
from kwhatif.kueue.cycle import PREEMPTING
from kwhatif.kueue.preemption.candidates import Target
from kwhatif.kueue.room import holders_below, room_at
from kwhatif.kueue.run import KueueRun, RecordedCycle
from kwhatif.kueue.workload import ADMITTED, Workload
from kwhatif.results.amounts import format_count, format_some
from kwhatif.simulation.queueing.decisions import MOST_WORKLOADS, Decisions

_MOST_FREED, _MOST_OF_A_SORT, _MOST_BEFORE = 20, 4, 15


class Remedies:
    """Tries what would help one workload. What is said to help was seen to help."""

    def __init__(self, decisions: Decisions, workload: Workload) -> None:
        self._decisions, self._state, self._workload = decisions, decisions.state, workload
        self._source = next(targets for targets in decisions.workloads if targets.key == workload.key)
        self._queue = self._state.queues.get(self._state.queue_name_of(workload))
        self._was_preempted = {target.workload.key for targets in decisions.preempted.values() for target in targets}

    @property
    def is_small(self) -> bool:
        return len(self._decisions.objects.workloads) <= MOST_WORKLOADS

    # --- whose end helps

    def freed_by(self) -> tuple[FreeingWorkload, ...]:
        """The fewest of those that run whose end lets it start, in the order in which they are likely to end."""
        order = self._holders()
        run = copy.deepcopy(self._decisions.run)
        gone: list[Workload] = []
        for holder in order[:_MOST_FREED]:
            run.finish([holder.key])
            run.rest()
            gone.append(holder)
            if self._starts(run):
                break
        else:
            return ()
        for holder in gone[:-1]:
            without = [workload for workload in gone if workload is not holder]
            if self._start_after(without):
                gone = without
        return tuple(
            FreeingWorkload(
                workload=workload.key,
                cluster_queue=workload.cluster_queue,
                since=format_time(workload.conditions[ADMITTED].time // SECOND),
                ends_within=workload.source.spec.maximum_execution_time_seconds,
            )
            for workload in gone
        )

    def _start_after(self, holders: Sequence[Workload]) -> bool:
        run = copy.deepcopy(self._decisions.run)
        run.finish([holder.key for holder in holders])
        run.rest()
        return self._starts(run)

    def _holders(self) -> list[Workload]:
        """Who has what it lacks: those with a time limit by their end, then the others, the longest running first."""
        holders: dict[str, Workload] = {}
        if self._queue is not None:
            for group, flavor in _flavors_of(self._queue):
                for resource in group.covered:
                    key = flavor, resource
                    room = room_at(self._queue, key)
                    if self._asks(resource) > room.amount:
                        holders |= {holder.key: holder for _, holder in holders_below(room.node, key)}
        return sorted((workload for workload in holders.values() if workload.status == "admitted"), key=_likely_end)

    # --- what changes help

    def fixes(self) -> Iterator[QueueFix]:
        """Changes that let it start, the cheaper first; of each sort the smallest."""
        for sort in (
            self._other_queues,
            self._partial,
            self._fewer_pods,
            self._tolerations,
            self._other_classes,
            self._more_quota,
        ):
            yield from sort()

    def _try(self, change: str, spec: api.WorkloadSpec, quotas: Sequence[api.ResourceGroup] = ()) -> QueueFix | None:
        """With another spec, or other quotas of its ClusterQueue."""
        run = copy.deepcopy(self._decisions.before)
        cycles: list[RecordedCycle] = []
        if quotas and self._queue is not None:
            run.set_quotas(self._queue.name, quotas)
            cycles += run.rest()
        changed = replace(self._source, spec=spec)
        run.create(
            changed if kueue_workload is self._source else kueue_workload
            for kueue_workload in self._decisions.workloads
        )
        cycles += run.rest()
        if not self._starts(run):
            return None
        workload = run.state.workloads[self._workload.key]
        lost = {target.workload.key for cycle in cycles for target in _targets_in(cycle)}
        return QueueFix(
            change=change,
            cluster_queue=workload.cluster_queue,
            pods=sum(admission.count for admission in workload.admission or ()),
            preempts=tuple(sorted(lost - self._was_preempted)),
        )

    def _starts(self, run: KueueRun) -> bool:
        return run.state.workloads[self._workload.key].holds_quota

    def _other_queues(self) -> Iterator[QueueFix]:
        own = self._state.local_queues.get(self._workload.queue_key)
        seen = {"" if own is None else own.spec.cluster_queue}
        for local in self._state.local_queues.values():
            if local.namespace == self._workload.namespace and local.spec.cluster_queue not in seen:
                seen.add(local.spec.cluster_queue)
                change = f"LocalQueue {local.name} instead of {self._workload.queue_name}"
                if fix := self._try(change, replace(self._source.spec, queue_name=local.name)):
                    yield fix

    def _partial(self) -> Iterator[QueueFix]:
        """Kueue itself looks for the most pods that fit; upstream has it of one pod set alone."""
        pod_sets = self._source.spec.pod_sets or []
        if len(pod_sets) == 1 and pod_sets[0].count > 1 and pod_sets[0].min_count is None:
            spec = replace(self._source.spec, pod_sets=[replace(pod_sets[0], min_count=1)])
            if fix := self._try("partial admission", spec):
                yield replace(fix, change=f"partial admission: {fix.pods} of {pod_sets[0].count} pods")

    def _fewer_pods(self) -> Iterator[QueueFix]:
        """The most pods of the largest pod set that start."""
        pod_sets = list(self._source.spec.pod_sets or ())
        if not pod_sets:
            return
        index = max(range(len(pod_sets)), key=lambda place: pod_sets[place].count)
        best, low, high = None, 1, pod_sets[index].count - 1
        while low <= high:
            middle = (low + high) // 2
            smaller = [
                *pod_sets[:index],
                replace(pod_sets[index], count=middle, min_count=None),
                *pod_sets[index + 1 :],
            ]
            of = f" of pod set {pod_sets[index].name}" if len(pod_sets) > 1 else ""
            change = f"{format_count(middle, 'pod')}{of} instead of {pod_sets[index].count}"
            if fix := self._try(change, replace(self._source.spec, pod_sets=smaller)):
                best, low = fix, middle + 1
            else:
                high = middle - 1
        if best is not None:
            yield best

    def _tolerations(self) -> Iterator[QueueFix]:
        """The taints of each flavor in turn."""
        for _, name in _flavors_of(self._queue) if self._queue is not None else ():
            flavor = self._state.flavors.get(name)
            taints = [
                node_taint
                for node_taint in (flavor.spec.node_taints if flavor else None) or ()
                if node_taint.effect != "PreferNoSchedule"
            ]
            if not taints:
                continue
            more = [
                Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect) for taint in taints
            ]
            made = []
            for pod_set in self._source.spec.pod_sets or ():
                pod = pod_set.template.spec
                pod = replace(pod, tolerations=[*(pod.tolerations or ()), *more])
                made.append(replace(pod_set, template=replace(pod_set.template, spec=pod)))
            words = format_some([f"{taint.key}={taint.value or ''}:{taint.effect}" for taint in taints])
            if fix := self._try(f"tolerate {words} of flavor {name}", replace(self._source.spec, pod_sets=made)):
                yield fix

    def _other_classes(self) -> Iterator[QueueFix]:
        """The lowest WorkloadPriorityClass that helps."""
        classes = sorted(
            self._decisions.objects.priority_classes,
            key=lambda workload_priority_class: (workload_priority_class.value, workload_priority_class.name),
        )
        for priority_class in classes:
            if priority_class.value > self._workload.priority:
                change = f"priority class {priority_class.name} ({priority_class.value})"
                if fix := self._try(change, replace(self._source.spec, priority=priority_class.value)):
                    yield fix
                    return

    def _more_quota(self) -> Iterator[QueueFix]:
        """What is missing of a flavor, added to the nominal quota of its own ClusterQueue."""
        queue = self._queue
        if queue is None:
            return
        for group, flavor in list(_flavors_of(queue))[:_MOST_OF_A_SORT]:
            missing = {
                resource: subtract(self._asks(resource), room.amount)
                for resource in sorted(group.covered)
                if self._asks(resource) > (room := room_at(queue, (flavor, resource))).amount
            }
            if missing and (fix := self._least_raise(queue, flavor, missing)):
                yield fix

    def _least_raise(self, queue: ClusterQueue, flavor: str, missing: Mapping[str, int]) -> QueueFix | None:
        """What is missing, and as much as it asks for once more for some of those before it."""
        best, low, high = None, 0, 0
        while best is None and high <= _MOST_BEFORE:
            best = self._raise(queue, flavor, missing, high)
            low, high = (low, high) if best is not None else (high + 1, high * 2 + 1)
        while best is not None and low < high:
            middle = (low + high) // 2
            if fix := self._raise(queue, flavor, missing, middle):
                best, high = fix, middle
            else:
                low = middle + 1
        return best

    def _raise(self, queue: ClusterQueue, flavor: str, missing: Mapping[str, int], others: int) -> QueueFix | None:
        more = {name: add(amount, clamp(self._asks(name) * others)) for name, amount in missing.items()}
        words = ", ".join(f"{quantity_text(name, amount)} more {name}" for name, amount in more.items())
        change = f"{words} of {flavor} in ClusterQueue {queue.name}"
        return self._try(change, self._source.spec, _raise_quotas(queue, flavor, more))

    def _asks(self, resource: str) -> int:
        total = 0
        for pod_set in self._workload.total_requests:
            total = add(total, pod_set.requests.get(resource, 0))
        return total


def _flavors_of(queue: ClusterQueue) -> Iterator[tuple[Group, str]]:
    return ((group, flavor) for group in queue.groups for flavor in group.flavors)


def _targets_in(cycle: RecordedCycle) -> Iterator[Target]:
    return (target for entry in cycle.entries if entry.result == PREEMPTING for target in entry.targets)


def _likely_end(workload: Workload) -> tuple[bool, int, str]:
    began = workload.conditions[ADMITTED].time
    limit = workload.source.spec.maximum_execution_time_seconds
    return limit is None, began + (limit or 0) * SECOND, workload.key


def _raise_quotas(queue: ClusterQueue, flavor: str, more: Mapping[str, int]) -> list[api.ResourceGroup]:
    return [
        replace(
            group,
            flavors=[
                _raise_flavor(flavor_quotas, more) if flavor_quotas.name == flavor else flavor_quotas
                for flavor_quotas in group.flavors or ()
            ],
        )
        for group in queue.source.spec.resource_groups or ()
    ]


def _raise_flavor(flavor: api.FlavorQuotas, more: Mapping[str, int]) -> api.FlavorQuotas:
    raised = []
    for resource in flavor.resources or ():
        amount = add(limit_of(resource.name, resource.nominal_quota), more.get(resource.name, 0))
        raised.append(replace(resource, nominal_quota=Quantity.parse(quantity_text(resource.name, amount))))
    return replace(flavor, resources=raised)
