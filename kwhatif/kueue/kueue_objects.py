"""What Kueue reads of a cluster, and its state made of it: quota trees, queues, workloads, topologies.

Upstream: the event handlers of pkg/controller/core and pkg/controller/tas, which fill the caches.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from kwhatif.api import kueue as api
from kwhatif.api.core import Namespace, Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import Objects
from kwhatif.api.objects import part_of, section
from kwhatif.api.quantity import Quantity
from kwhatif.errors import InputError
from kwhatif.kueue.cluster_queue import ClusterQueue
from kwhatif.kueue.configuration import Configuration
from kwhatif.kueue.flavor_match import FlavorMatcher
from kwhatif.kueue.pending_queue import PendingQueue
from kwhatif.kueue.pod_amounts import NamespaceLimits, PodCounter, spec_requests
from kwhatif.kueue.quota_tree import CohortNode, QuotaForest
from kwhatif.kueue.topology.flavor_topology import FlavorTopology
from kwhatif.kueue.workload import Usage, Workload, copy_workloads

DEEPEST = 100
"""Cohorts above one another."""

_TOPOLOGY_ANNOTATIONS = tuple(
    f"kueue.x-k8s.io/podset-{name}"
    for name in (
        "preferred-topology",
        "required-topology",
        "slice-required-topology",
        "slice-required-topology-constraints",
        "unconstrained-topology",
    )
)


@dataclass(slots=True)
class KueueObjects:
    """Objects as the API server stores them; LimitRanges and RuntimeClasses as plain values."""

    configuration: Configuration = field(default_factory=Configuration)
    flavors: Sequence[api.ResourceFlavor] = ()
    topologies: Sequence[api.Topology] = ()
    cohorts: Sequence[api.Cohort] = ()
    cluster_queues: Sequence[api.ClusterQueue] = ()
    local_queues: Sequence[api.LocalQueue] = ()
    checks: Sequence[api.AdmissionCheck] = ()
    priority_classes: Sequence[api.WorkloadPriorityClass] = ()
    workloads: Sequence[api.KueueWorkload] = ()
    namespaces: Sequence[Namespace] = ()
    nodes: Sequence[Node] = ()
    pods: Sequence[Pod] = ()
    limit_ranges: Sequence[Mapping[str, Any]] = ()
    runtime_classes: Sequence[Mapping[str, Any]] = ()


def kueue_objects(
    objects: Objects, plain: Mapping[str, Sequence[Mapping[str, Any]]], configuration: Mapping[str, Any]
) -> KueueObjects:
    """What of a cluster's objects concerns Kueue; ``plain`` has LimitRanges and RuntimeClasses. Raises InputError."""
    return KueueObjects(
        configuration=convert(configuration, Configuration),
        flavors=objects.list_all(api.ResourceFlavor),
        topologies=objects.list_all(api.Topology),
        cohorts=objects.list_all(api.Cohort),
        cluster_queues=objects.list_all(api.ClusterQueue),
        local_queues=objects.list_all(api.LocalQueue),
        checks=objects.list_all(api.AdmissionCheck),
        priority_classes=objects.list_all(api.WorkloadPriorityClass),
        workloads=objects.list_all(api.KueueWorkload),
        namespaces=objects.list_all(Namespace),
        nodes=objects.list_all(Node),
        pods=objects.list_all(Pod),
        limit_ranges=plain.get("LimitRange", ()),
        runtime_classes=plain.get("RuntimeClass", ()),
    )


class KueueState:
    """Everything that Kueue knows between two scheduling cycles."""

    def __init__(self, objects: KueueObjects) -> None:
        self.configuration = objects.configuration
        self.pods = PodCounter(
            NamespaceLimits(objects.limit_ranges), _overheads(objects.runtime_classes), self.configuration.resources
        )
        self.namespaces = {namespace.name: namespace.metadata.labels or {} for namespace in objects.namespaces}
        self.flavors = {flavor.name: flavor for flavor in objects.flavors}
        self.matcher = FlavorMatcher(self.flavors)
        self.topologies = _topologies(objects, self.flavors)
        self.queues, self.cohorts = _quota_trees(objects)
        checks = {check.name: check for check in objects.checks}
        for queue in self.queues.values():
            queue.set_up(self.flavors, self.topologies, checks)
        self.local_queues = {
            queue_.key: queue_ for queue_ in sorted(objects.local_queues, key=lambda local_queue: local_queue.key)
        }
        self.pending = {name: PendingQueue(queue.strategy) for name, queue in self.queues.items()}
        self.items: dict[str, set[str]] = {
            key: set() for key, local_queue in self.local_queues.items() if not local_queue.spec.is_stopped
        }
        """The workloads that wait in each LocalQueue that is not stopped."""
        self.workloads: dict[str, Workload] = {}
        self._counted: dict[str, frozenset[str]] = {}
        """The workloads whose usage counts, with their flavors."""

    def __deepcopy__(self, memo: dict[int, Any]) -> KueueState:
        """What the cluster has besides queues, quotas, workloads and topologies is shared."""
        made = copy.copy(self)
        made.workloads = copy_workloads(self.workloads, memo)
        for name in ("topologies", "queues", "cohorts", "pending"):
            setattr(made, name, copy.deepcopy(getattr(self, name), memo))
        made.items = {key: set(waiting) for key, waiting in self.items.items()}
        made._counted = dict(self._counted)
        return made

    def make_workload(self, source: api.KueueWorkload) -> Workload:
        try:
            return Workload(source, self.pods)
        except InputError as error:
            raise error.with_source(f"workload {source.key}") from None

    def add(self, workload: Workload, now: int) -> None:
        """A workload appears: in its queue, or with the quota that it holds."""
        self.workloads[workload.key] = workload
        if workload.is_admissible:
            self.enqueue(workload, now)
        else:
            self.hold_quota(workload)

    # --- queues

    def queue_of(self, workload: Workload) -> ClusterQueue | None:
        """The ClusterQueue that it should wait in; None if there is none or its LocalQueue is stopped."""
        name = self.queue_name_of(workload)
        return self.queues.get(name) if name else None

    def queue_name_of(self, workload: Workload) -> str:
        """The name of that ClusterQueue, whether it exists or not; empty without a LocalQueue that is open."""
        local = self.local_queues.get(workload.queue_key)
        return local.spec.cluster_queue if local is not None and workload.queue_key in self.items else ""

    def enqueue(self, workload: Workload, now: int) -> None:
        if workload.queue_key not in self.items:
            return
        self.items[workload.queue_key].add(workload.key)
        if (queue := self.queue_of(workload)) is not None:
            self.pending[queue.name].push(workload, now)

    def dequeue(self, workload: Workload) -> None:
        if workload.queue_key in self.items:
            self.items[workload.queue_key].discard(workload.key)
            if (queue := self.queue_of(workload)) is not None:
                self.pending[queue.name].delete(workload)

    def bring_back(self, roots: Iterable[str], now: int) -> int:
        """Put workloads set aside back in line, in all ClusterQueues of these trees; how many came back."""
        wanted = set(roots)
        count = 0
        for name, queue in self.queues.items():
            if self.root_of(queue) in wanted:

                def is_selected(workload: Workload, queue: ClusterQueue = queue) -> bool:
                    labels = self.namespaces.get(workload.namespace)
                    return labels is not None and queue.selector.matches(labels)

                count += self.pending[name].bring_back(is_selected, now)
        return count

    @staticmethod
    def root_of(queue: ClusterQueue) -> str:
        """A name for the tree of a ClusterQueue."""
        return f"queue {queue.name}" if queue.parent is None else f"cohort {queue.parent.root.name}"

    # --- quota

    def set_quotas(self, name: str, groups: Sequence[api.ResourceGroup]) -> None:
        """Give a ClusterQueue other quotas of the same flavors."""
        queue = self.queues[name]
        queue.set_quotas(groups)
        queue.generation += 1
        if queue.parent is not None:
            queue.parent.root.accumulate()
        queue.root.memo.clear()

    def hold_quota(self, workload: Workload) -> None:
        """Count what it uses, if it holds quota."""
        queue = self.queues.get(workload.cluster_queue)
        if not workload.counts or queue is None or workload.key in self._counted:
            return
        flavors = frozenset([flavor for flavor, _ in (*workload.used_flavors, *workload.usage.quota)])
        self._counted[workload.key] = flavors
        queue.workloads[workload.key] = workload
        queue.root.forget(flavors)
        for key, amount in workload.usage.quota.items():
            queue.add_usage(key, amount)
        self._count_topology(workload.usage, 1)

    def release_quota(self, workload: Workload, queue: ClusterQueue | None, usage: Usage) -> None:
        """No longer count it; ``queue`` and ``usage`` are those that it had."""
        if queue is None or workload.key not in self._counted:
            return
        queue.root.forget(self._counted.pop(workload.key))
        del queue.workloads[workload.key]
        for key, amount in usage.quota.items():
            queue.remove_usage(key, amount)
        self._count_topology(usage, -1)
        queue.generation += 1

    def _count_topology(self, usage: Usage, sign: int) -> None:
        """Nodes may belong to several flavors: what is used there counts for all that end in nodes."""
        for flavor, uses in usage.topology.items():
            topology = self.topologies.get(flavor)
            if topology is None:
                continue
            if not topology.tree.ends_in_nodes:
                topology.count(uses, sign)
                continue
            for other in self.topologies.values():
                if other.tree.ends_in_nodes:
                    other.count(uses, sign)


def _overheads(classes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Quantity]]:
    overheads = {}
    for class_ in classes:
        overhead = convert(section(class_, "overhead"), dict[str, Any]).get("podFixed")
        overheads[str(part_of(class_, "metadata", "name"))] = convert(overhead or {}, dict[str, Quantity])
    return overheads


def _topologies(objects: KueueObjects, flavors: Mapping[str, api.ResourceFlavor]) -> dict[str, FlavorTopology]:
    by_name = {definition.name: definition for definition in objects.topologies}
    topologies = {}
    for name, flavor in sorted(flavors.items()):
        topology = by_name.get(flavor.spec.topology_name or "")
        if topology is not None and topology.spec.levels:
            topologies[name] = FlavorTopology(flavor, topology, objects.nodes)
    if topologies:
        for pod in objects.pods:
            annotations = pod.metadata.annotations or {}
            gone = pod.is_finished
            if not pod.spec.node_name or gone or any(key in annotations for key in _TOPOLOGY_ANNOTATIONS):
                continue
            requests = spec_requests(pod.spec)
            for flavor_topology in topologies.values():
                flavor_topology.take(pod.spec.node_name, requests)
    return topologies


def _quota_trees(objects: KueueObjects) -> tuple[dict[str, ClusterQueue], dict[str, CohortNode]]:
    """All ClusterQueues by name, and the Cohorts. A queue below a Cohort that is its own ancestor has no parent."""
    cohorts = {
        cohort_.name: CohortNode(cohort_.name, cohort_.spec.resource_groups or (), cohort_.spec.fair_sharing)
        for cohort_ in sorted(objects.cohorts, key=lambda cohort: cohort.name)
    }
    parents = {cohort.name: cohort.spec.parent_name or cohort.spec.parent or "" for cohort in objects.cohorts}
    forest: QuotaForest[ClusterQueue] = QuotaForest(cohorts, dict(sorted(parents.items())))
    queues: dict[str, ClusterQueue] = {}
    for source in sorted(objects.cluster_queues, key=lambda cluster_queue: cluster_queue.name):
        queue = queues[source.name] = ClusterQueue(source)
        if source.spec.parent in forest.circular:
            queue.is_in_circle = True
        elif source.spec.parent:
            forest.add_member(queue, source.spec.parent)
    for name in forest.circular:
        # Nothing is lent in a circle, so that it has neither a root nor a quota above.
        forest.cohorts[name].parent = None
    for node in (*forest.cohorts.values(), *queues.values()):
        if sum(1 for _ in islice(node.ancestors, DEEPEST + 1)) > DEEPEST:
            sort = "Cohort" if isinstance(node, CohortNode) else "ClusterQueue"
            raise InputError(f"{sort} {node.name} has more than {DEEPEST} cohorts above it")
    forest.accumulate()
    return queues, forest.cohorts
