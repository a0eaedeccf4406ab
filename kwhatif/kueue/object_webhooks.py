"""What Kueue's webhooks refuse of its own objects.

What only a status or a change of an object can violate is not looked at. Upstream: pkg/webhooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kwhatif.api import kueue as api
from kwhatif.api.quantity import Quantity
from kwhatif.golang.field_validation import ROOT, Path, label_value, qualified_name
from kwhatif.kueue.admission_gates import gate_problems
from kwhatif.kueue.cluster_queue import NEVER, TRY_NEXT
from kwhatif.kueue.configuration import ELASTIC
from kwhatif.kueue.namespace_selectors import selector_problems

_SPEC = ROOT.child("spec")
_NEGATIVE = "must be greater than or equal to 0"
_MOST_OF_A_QUEUE, _MOST_OF_A_GROUP = 256, 512


def cluster_queue_problems(queue: api.ClusterQueue) -> Iterator[str]:
    """Upstream: ValidateClusterQueue."""
    spec, groups = queue.spec, queue.spec.resource_groups or ()
    yield from _group_problems(groups, "cohort", spec.parent)
    yield from selector_problems(_SPEC.child("namespaceSelector"), spec.namespace_selector)
    yield from _preemption_problems(spec.preemption)
    yield from _fungibility_problems(spec.flavor_fungibility)
    yield from _fair_sharing_problems(spec.fair_sharing)
    yield from _size_problems(groups)
    flavors = sorted({flavor.name for group in groups for flavor in group.flavors or ()})
    rules = spec.admission_checks_strategy.admission_checks if spec.admission_checks_strategy else None
    for index, rule in enumerate(rules or ()):
        path = _SPEC.child("admissionChecksStrategy", "admissionChecks").index(index).child("onFlavors")
        for place, flavor in enumerate(rule.on_flavors or ()):
            if flavor not in flavors:
                yield path.index(place).not_supported(flavor, flavors)


def cohort_problems(cohort: api.Cohort) -> Iterator[str]:
    """Upstream: validateCohort."""
    yield from _fair_sharing_problems(cohort.spec.fair_sharing)
    parent = cohort.spec.parent_name or cohort.spec.parent or ""
    yield from _group_problems(cohort.spec.resource_groups or (), "parent", parent)


def flavor_problems(flavor: api.ResourceFlavor) -> Iterator[str]:
    """Upstream: ValidateResourceFlavor."""
    yield from _label_problems(_SPEC.child("nodeLabels"), flavor.spec.node_labels or {})
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(flavor.spec.node_taints or ()):
        path = _SPEC.child("nodeTaints").index(index)
        yield from (path.child("key").invalid(taint.key, problem) for problem in qualified_name(taint.key))
        if wrong := label_value(taint.value or ""):
            yield path.child("value").invalid(taint.value, ";".join(wrong))
        if (taint.key, taint.effect) in seen:
            value = {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
            yield f"{path.duplicate(value)}: taints must be unique by key and effect pair"
        seen.add((taint.key, taint.effect))
    for index, toleration in enumerate(flavor.spec.tolerations or ()):
        path = _SPEC.child("tolerations").index(index).child("key")
        if toleration.key:
            yield from (path.invalid(toleration.key, problem) for problem in qualified_name(toleration.key))


def workload_problems(workload: api.KueueWorkload) -> Iterator[str]:
    """Of ValidateWorkload what a new one can violate."""
    pod_sets, annotations = workload.spec.pod_sets or (), workload.metadata.annotations or {}
    path = _SPEC.child("podSets")
    for index, pod_set in enumerate(pod_sets):
        yield from _pod_set_problems(path.index(index), pod_set)
    variable = sum(workload_pod_set.min_count is not None for workload_pod_set in pod_sets)
    if variable > 1:
        yield path.invalid(variable, "at most one podSet can use minCount")
    if variable and annotations.get(ELASTIC) == "true":
        yield path.invalid(variable, "partial admission and elastic job cannot be used together")
    yield from gate_problems(annotations)


def _pod_set_problems(path: Path, pod_set: api.WorkloadPodSet) -> Iterator[str]:
    metadata, spec, template = pod_set.template.metadata, pod_set.template.spec, path.child("template")
    yield from _label_problems(template.child("metadata", "labels"), metadata.labels or {})
    for key in sorted(metadata.annotations or {}):
        where = template.child("metadata", "annotations")
        yield from (where.invalid(key, problem) for problem in qualified_name(key.lower()))
    for name, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for place, container in enumerate(containers or ()):
            where = template.child("spec", name).index(place).child("resources")
            yield from _resource_problems(where, container.resources)
    yield from _resource_problems(template.child("spec", "resources"), spec.resources)
    if pod_set.topology_request is not None:
        yield from _slice_problems(path.child("topologyRequest"), pod_set.topology_request)


def _slice_problems(path: Path, request: api.PodSetTopologyRequest) -> Iterator[str]:
    """Upstream: validateTASSliceSize."""
    topology, size, where = (
        request.pod_set_slice_required_topology,
        request.pod_set_slice_size,
        path.child("podSetSliceSize"),
    )
    if topology is None and size is not None:
        yield where.forbidden("may not be set when podSetSliceRequiredTopology is not specified")
    elif topology is not None and size is None:
        yield where.required("must be set when podSetSliceRequiredTopology is specified")
    elif size is not None and size <= 0:
        yield where.invalid(size, "must be greater than 0")
    for index, layer in enumerate(request.slice_required_topology_constraints or ()):
        if layer.size <= 0:
            where = path.child("podsetSliceRequiredTopologyConstraints").index(index).child("size")
            yield where.invalid(layer.size, "must be greater than 0")


def _label_problems(path: Path, labels: Mapping[str, str]) -> Iterator[str]:
    for key, value in sorted(labels.items()):
        yield from (path.invalid(key, problem) for problem in qualified_name(key))
        yield from (path.invalid(value, problem) for problem in label_value(value))


def _resource_problems(path: Path, resources: Any) -> Iterator[str]:
    for name in ("requests", "limits"):
        for resource, quantity in sorted(((getattr(resources, name) if resources else None) or {}).items()):
            where = path.child(name).index(resource)
            if resource == "pods":
                yield where.invalid("pods", "the key is reserved for internal kueue use")
            yield from _quantity_problems(where, quantity)


PROBLEMS: Mapping[type, tuple[str, Callable[[Any], Iterator[str]]]] = {
    api.ClusterQueue: ("vclusterqueue.kb.io", cluster_queue_problems),
    api.Cohort: ("vcohort.kb.io", cohort_problems),
    api.ResourceFlavor: ("vresourceflavor.kb.io", flavor_problems),
    api.KueueWorkload: ("vworkload.kb.io", workload_problems),
}
"""By type: the name of the webhook, and what it refuses."""


def _group_problems(groups: Sequence[api.ResourceGroup], above: str, parent: str) -> Iterator[str]:
    """``above`` is what Kueue calls what is above, in whose absence there are no limits."""
    resources: set[str] = set()
    flavors: set[str] = set()
    for index, group in enumerate(groups):
        path = _SPEC.child("resourceGroups").index(index)
        covered = group.covered_resources or ()
        for place, name in enumerate(covered):
            where = path.child("coveredResources").index(place)
            yield from (where.invalid(name, problem) for problem in qualified_name(name))
            if name in resources:
                yield where.duplicate(name)
            resources.add(name)
        for place, flavor in enumerate(group.flavors or ()):
            where = path.child("flavors").index(place)
            for number, (quota, name) in enumerate(zip(flavor.resources or (), covered, strict=False)):
                yield from _quota_problems(where.child("resources").index(number), quota, name, above, parent)
            if flavor.name in flavors:
                yield where.child("name").duplicate(flavor.name)
            flavors.add(flavor.name)


def _quota_problems(path: Path, quota: api.FlavorResourceQuota, covered: str, above: str, parent: str) -> Iterator[str]:
    if quota.name != covered:
        yield path.child("name").invalid(quota.name, "must match the name in coveredResources")
    nominal = quota.nominal_quota or Quantity.parse("0")
    yield from _quantity_problems(path.child("nominalQuota"), nominal)
    alone = f"must be nil when {above} is empty"
    if (limit := quota.borrowing_limit) is not None:
        where = path.child("borrowingLimit")
        if not parent:
            yield where.invalid(limit.canonical, alone)
        yield from _quantity_problems(where, limit)
    if (limit := quota.lending_limit) is not None:
        where = path.child("lendingLimit")
        yield from _quantity_problems(where, limit)
        if not parent:
            yield where.invalid(limit.canonical, alone)
        if above == "cohort" and limit.nano() > nominal.nano():
            yield where.invalid(limit.canonical, "must be less than or equal to the nominalQuota")


def _quantity_problems(path: Path, quantity: Quantity) -> Iterator[str]:
    if quantity.nano() < 0:
        yield path.invalid(quantity.canonical, _NEGATIVE)


def _preemption_problems(preemption: api.ClusterQueuePreemption | None) -> Iterator[str]:
    if preemption is None or (preemption.reclaim_within_cohort or NEVER) != NEVER:
        return
    borrow = preemption.borrow_within_cohort
    if borrow is not None and (borrow.policy or NEVER) != NEVER:
        threshold = borrow.max_priority_threshold
        value = {
            "reclaimWithinCohort": NEVER,
            "borrowWithinCohort": {
                "policy": borrow.policy,
                **({} if threshold is None else {"maxPriorityThreshold": threshold}),
            },
            "withinClusterQueue": preemption.within_cluster_queue or NEVER,
        }
        detail = "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"
        yield _SPEC.child("preemption").invalid(value, detail)


def _fungibility_problems(fungibility: api.FlavorFungibility | None) -> Iterator[str]:
    if fungibility is None or fungibility.preference is None:
        return
    # What is not said is MayStopSearch where borrowing is meant, and TryNextFlavor where preemption is.
    if fungibility.when_can_borrow == TRY_NEXT and (fungibility.when_can_preempt or TRY_NEXT) == TRY_NEXT:
        return
    detail = f'preference "{fungibility.preference}" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor'
    yield _SPEC.child("flavorFungibility", "preference").invalid(fungibility.preference, detail)


def _fair_sharing_problems(sharing: api.FairSharing | None) -> Iterator[str]:
    if sharing is None or sharing.weight is None:
        return
    weight, path = sharing.weight, _SPEC.child("fairSharing")
    yield from _quantity_problems(path, weight)
    if 0 < weight.nano() <= 1:
        yield path.invalid(weight.canonical, "When not 0, weight must be > 10e-9")


def _size_problems(groups: Sequence[api.ResourceGroup]) -> Iterator[str]:
    path, across = _SPEC.child("resourceGroups"), "across all resourceGroups must be ≤"
    for what, total in (
        ("flavors", sum(len(group.flavors or ()) for group in groups)),
        ("covered resources", sum(len(group.covered_resources or ()) for group in groups)),
    ):
        if total > _MOST_OF_A_QUEUE:
            yield path.invalid(total, f"total number of {what} {across} {_MOST_OF_A_QUEUE}, got {total}")
    for index, group in enumerate(groups):
        total = sum(len(flavor.resources or ()) for flavor in group.flavors or ())
        if total > _MOST_OF_A_GROUP:
            detail = f"number of flavor-resource combinations in a resourceGroup must be ≤ {_MOST_OF_A_GROUP}"
            yield path.index(index).invalid(total, f"{detail}, got {total}")
