"""What is refused in a plugin's arguments.

Upstream: scheduler/apis/config/validation/validation_pluginargs.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kwhatif.api.core import TopologySpreadConstraint
from kwhatif.golang.duration import SECOND
from kwhatif.golang.field_errors import Path
from kwhatif.golang.label_syntax import qualified_name
from kwhatif.policy.args import (
    LEAST_ALLOCATED,
    LIST_DEFAULTING,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    SYSTEM_DEFAULTING,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeLabelArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioArgs,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from kwhatif.policy.intree import InTree
from kwhatif.policy.validation_affinity import validate_added_affinity

__all__ = ["validate_args"]

_STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


def validate_args(path: Path, args: Any, facts: InTree) -> Iterator[str]:
    """Every reason to refuse ``args``; none for arguments of plugins from elsewhere."""
    match args:
        case DefaultPreemptionArgs():
            yield from _default_preemption(path, args)
        case InterPodAffinityArgs():
            weight = args.hard_pod_affinity_weight
            if not 0 <= weight <= 100:
                yield path.child("hardPodAffinityWeight").invalid(weight, "not in valid range [0, 100]")
        case NodeAffinityArgs():
            if args.added_affinity is not None:
                yield from validate_added_affinity(path.child("addedAffinity"), args.added_affinity)
        case NodeResourcesBalancedAllocationArgs():
            yield from _balanced_allocation(path.child("resources"), args)
        case NodeResourcesFitArgs():
            yield from _fit(path, args, facts)
        case NodeLabelArgs():
            yield from _conflicts(path, "presentLabels", args.present_labels, "absentLabels", args.absent_labels)
            wishes = args.present_labels_preference, args.absent_labels_preference
            yield from _conflicts(path, "presentLabelsPreference", wishes[0], "absentLabelsPreference", wishes[1])
        case NodeResourcesLeastAllocatedArgs() | NodeResourcesMostAllocatedArgs():
            yield from _resource_weights(path.child("resources"), args.resources)
        case RequestedToCapacityRatioArgs():
            yield from _shape(path.child("shape"), args.shape, facts)
            for index, resource in enumerate(args.resources):
                if resource.weight < 1:
                    problem = f"resource weight of {resource.name} not in valid range [1, inf)"
                    yield path.child("resources").index(index).child("weight").invalid(resource.weight, problem)
        case PodTopologySpreadArgs():
            yield from _topology_spread(path, args)
        case VolumeBindingArgs():
            yield from _volume_binding(path, args, facts)
        case DynamicResourcesArgs():
            yield from _dynamic_resources(path, args, facts)


def _default_preemption(path: Path, args: DefaultPreemptionArgs) -> Iterator[str]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path, absolute_path = (
        path.child("minCandidateNodesPercentage"),
        path.child("minCandidateNodesAbsolute"),
    )
    if not 0 <= percentage <= 100:
        yield percentage_path.invalid(percentage, "not in valid range [0, 100]")
    if absolute < 0:
        yield absolute_path.invalid(absolute, "not in valid range [0, inf)")
    if percentage == absolute == 0:
        yield percentage_path.invalid(0, "cannot be zero at the same time as minCandidateNodesAbsolute")
        yield absolute_path.invalid(0, "cannot be zero at the same time as minCandidateNodesPercentage")


def _balanced_allocation(path: Path, args: NodeResourcesBalancedAllocationArgs) -> Iterator[str]:
    seen = set()
    for index, resource in enumerate(args.resources):
        if resource.name in seen:
            yield path.index(index).child("name").duplicate(resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            yield path.index(index).child("weight").invalid(resource.weight, "must be 1")


def _fit(path: Path, args: NodeResourcesFitArgs, facts: InTree) -> Iterator[str]:
    for index, name in enumerate(args.ignored_resources):
        yield from _label_name(path.child("ignoredResources").index(index), name)
    for index, group in enumerate(args.ignored_resource_groups):
        at = path.child("ignoredResourceGroups").index(index)
        if "/" in group:
            yield at.invalid(group, "resource group name can't contain '/'")
        yield from _label_name(at, group)
    yield from _strategy(path.child("scoringStrategy"), args.scoring_strategy, facts)


def _label_name(path: Path, name: str) -> Iterator[str]:
    return (path.invalid(name, problem) for problem in qualified_name(name))


def _strategy(path: Path, strategy: ScoringStrategy, facts: InTree) -> Iterator[str]:
    if strategy.type not in _STRATEGIES:
        yield path.child("type").unsupported(strategy.type, _STRATEGIES)
    yield from _resource_weights(path.child("resources"), strategy.resources)
    ratio, at = strategy.requested_to_capacity_ratio, path.child("requestedToCapacityRatio")
    if not facts.features.ratio_shape_must_match_strategy:
        if ratio is not None:
            yield from _shape(path.child("shape"), ratio.shape, facts)
    elif strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        if ratio is None:
            yield at.required("must be specified when type is RequestedToCapacityRatio")
        else:
            yield from _shape(at.child("shape"), ratio.shape, facts)
    elif ratio is not None:
        yield at.forbidden("must be nil when type is not RequestedToCapacityRatio")


def _resource_weights(path: Path, resources: tuple[ResourceSpec, ...]) -> Iterator[str]:
    for index, resource in enumerate(resources):
        if not 0 < resource.weight <= 100:
            problem = f"resource weight of {resource.name} not in valid range (0, 100]"
            yield path.index(index).child("weight").invalid(resource.weight, problem)


def _conflicts(path: Path, name: str, present: Sequence[str], other: str, absent: Sequence[str]) -> Iterator[str]:
    """Labels that nodes are to have and not to have."""
    for index, label in enumerate(absent):
        if label in present:
            where = len(present) - 1 - present[::-1].index(label)
            yield path.child(name).index(where).invalid(label, f"conflict with {path.child(other).index(index).text}")


def _shape(path: Path, shape: tuple[UtilizationShapePoint, ...], facts: InTree) -> Iterator[str]:
    if not shape:
        yield path.required("at least one point must be specified")
        return
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            at = path.index(index).child("utilization")
            what = "values" if facts.features.terse_shape_errors else "utilization values"
            yield at.invalid(shape[index].utilization, f"{what} must be sorted in increasing order")
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            yield (path.index(index).child("utilization").invalid(point.utilization, "not in valid range [0, 100]"))
        if not 0 <= point.score <= 10:
            yield path.index(index).child("score").invalid(point.score, "not in valid range [0, 10]")


def _topology_spread(path: Path, args: PodTopologySpreadArgs) -> Iterator[str]:
    kind, at = args.defaulting_type, path.child("defaultingType")
    if kind not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
        yield at.unsupported(kind, (SYSTEM_DEFAULTING, LIST_DEFAULTING))
    elif kind == SYSTEM_DEFAULTING and args.default_constraints:
        yield at.invalid(kind, "when .defaultConstraints are not empty")
    seen = set()
    for index, constraint in enumerate(args.default_constraints):
        at = path.child("defaultConstraints").index(index)
        yield from _constraint(at, constraint)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield at.duplicate(f"{{{pair[0]}, {pair[1]}}}")
        seen.add(pair)


def _constraint(path: Path, constraint: TopologySpreadConstraint) -> Iterator[str]:
    if constraint.max_skew <= 0:
        yield path.child("maxSkew").invalid(constraint.max_skew, "not in valid range (0, inf)")
    at = path.child("topologyKey")
    if constraint.topology_key:
        yield from _label_name(at, constraint.topology_key)
    else:
        yield at.required("can not be empty")
    action, at = constraint.when_unsatisfiable, path.child("whenUnsatisfiable")
    if not action:
        yield at.required("can not be empty")
    elif action not in _ACTIONS:
        yield at.unsupported(action, _ACTIONS)
    if constraint.label_selector is not None:
        problem = "constraint must not define a selector, as they deduced for each pod"
        yield path.child("labelSelector").forbidden(problem)


def _volume_binding(path: Path, args: VolumeBindingArgs, facts: InTree) -> Iterator[str]:
    if args.bind_timeout_seconds < 0:
        problem = "invalid BindTimeoutSeconds, should not be a negative value"
        yield path.child("bindTimeoutSeconds").invalid(args.bind_timeout_seconds, problem)
    if facts.shape_allowed:
        yield from _shape(path.child("shape"), args.shape or (), facts)
    elif args.shape is not None:
        # Go prints the points by their internal names.
        points = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        gate = "VolumeCapacityPriority" if facts.features.capacity_shape_rises else "StorageCapacityScoring"
        problem = f"unexpected field `shape`, remove it or turn on the feature gate {gate}"
        yield path.child("shape").invalid(points, problem)


def _dynamic_resources(path: Path, args: DynamicResourcesArgs, facts: InTree) -> Iterator[str]:
    timeout, at = args.filter_timeout, path.child("filterTimeout")
    if timeout is not None:
        if facts.filter_timeout is None:
            yield at.forbidden("DRASchedulingFilterTimeout feature gate is disabled")
        elif timeout < 0:
            yield at.invalid(str(timeout), "must be zero or positive")
    timeout, at = args.binding_timeout, path.child("bindingTimeout")
    if timeout is not None:
        if facts.binding_timeout is None:
            yield at.forbidden("DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled")
        elif timeout < SECOND:
            yield at.invalid(str(timeout), "must be at least 1 second")
