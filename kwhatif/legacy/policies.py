"""Converts a Policy into the profile that kube-scheduler made of it.

Upstream, until 1.22: createFromPolicy in pkg/scheduler/factory.go, legacy_registry.go beside the plugins, and
ValidatePolicy in pkg/scheduler/apis/config/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.framework.declaration import Args
from kwhatif.golang.field_validation import ROOT
from kwhatif.golang.formatting import go_quote
from kwhatif.legacy.plugins.node_label import NodeLabelArgs
from kwhatif.legacy.plugins.resource_scorer import (
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
)
from kwhatif.legacy.plugins.service_affinity import ServiceAffinityArgs
from kwhatif.legacy.policy_structs import (
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    EQUAL_PRIORITY,
    FOREIGN_PRIORITIES,
    MANDATORY_PREDICATES,
    OLD_PREDICATES,
    OLD_PRIORITIES,
    PREDICATES,
    PRIORITIES,
    PluginUse,
    Policy,
    PredicatePolicy,
    PriorityPolicy,
)
from kwhatif.plugins.inter_pod_affinity import InterPodAffinityArgs
from kwhatif.plugins.shared.node_resources import ResourceSpec
from kwhatif.plugins.shared.spread_constraints import PodTopologySpreadArgs
from kwhatif.policy.structs import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)

_MOST_WEIGHT = (2**63 - 1) // 10
_EVENLY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))
_WISHES = {
    "NodeLabel": ("present_labels_preference", "absent_labels_preference"),
    "ServiceAffinity": ("anti_affinity_labels_preference",),
}
"""The arguments whose labels a priority's weight is multiplied by."""


class RefusedPolicyError(Exception):
    """The error of kube-scheduler 1.22 for a Policy that it refuses; one line for each problem."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


class _ProfileBuilder(msgspec.Struct):
    """The profile in the making: which plugins are where, their weights and arguments."""

    points: dict[str, dict[str, int]] = {}
    custom: dict[str, Any] = {}
    args: dict[str, Args] = {}
    notes: list[str] = []

    def put(self, use: PluginUse, weight: int = 0) -> None:
        for point in use.points:
            # A plugin that two priorities share keeps the weight of the first: upstream raises that of a copy.
            self.points.setdefault(point, {}).setdefault(use.plugin, weight if point == "score" else 0)

    def add(self, struct: type[Args], **labels: tuple[str, ...]) -> None:
        """Add labels to arguments that all custom predicates and priorities of a plugin share."""
        plugin = struct.__name__.removesuffix("Args")
        before = self.custom.get(plugin, struct())
        more = {name: (*getattr(before, name), *added) for name, added in labels.items()}
        self.custom[plugin] = replace(before, **more)


def as_configuration(policy: Policy, *, tolerant: bool) -> tuple[KubeSchedulerConfiguration, tuple[str, ...]]:
    """The configuration with the one profile that a Policy amounts to, and notes about it.

    If ``tolerant``, names that older schedulers knew, and 1.22 did not, are understood. Raises RefusedPolicyError.
    """
    problems = list(_problems(policy))
    if problems:
        raise RefusedPolicyError(*problems)
    producer = _ProfileBuilder()
    predicates = set(DEFAULT_PREDICATES)
    if policy.predicates is not None:
        predicates = {_predicate(predicate, producer, tolerant=tolerant) for predicate in policy.predicates}
    priorities: dict[str, int] = dict(DEFAULT_PRIORITIES)
    if policy.priorities is not None:
        named = [priority for priority in policy.priorities if priority.name != EQUAL_PRIORITY]
        if tolerant:
            foreign = [
                priority_policy.name
                for priority_policy in named
                if priority_policy.name in FOREIGN_PRIORITIES and priority_policy.argument is None
            ]
            producer.notes += [f"priority {name}: kube-scheduler never had it, so it is left out" for name in foreign]
            named = [priority_policy for priority_policy in named if priority_policy.name not in foreign]
        priorities = {
            _priority(priority_policy, producer, tolerant=tolerant): priority_policy.weight for priority_policy in named
        }
    if policy.hard_pod_affinity_symmetric_weight and "InterPodAffinityPriority" in priorities:
        weight = policy.hard_pod_affinity_symmetric_weight
        producer.args["InterPodAffinity"] = InterPodAffinityArgs(hard_pod_affinity_weight=weight)
    for name in PREDICATES:
        if name in predicates | MANDATORY_PREDICATES:
            for use in PREDICATES[name]:
                producer.put(use)
    _put_priorities(priorities, producer)
    _put_arguments(priorities, producer)
    profile = KubeSchedulerProfile(
        scheduler_name="default-scheduler",
        plugins=_plugins(producer.points),
        plugin_config=tuple(PluginConfig(name=name, args=args) for name, args in producer.args.items()),
    )
    return KubeSchedulerConfiguration(profiles=(profile,), extenders=policy.extenders), tuple(producer.notes)


def _plugins(points: Mapping[str, Mapping[str, int]]) -> Plugins:
    """These plugins and no default ones."""
    nothing_else = (Plugin(name="*"),)
    given = {
        "queueSort": {"PrioritySort": 0},
        "postFilter": {"DefaultPreemption": 0},
        "bind": {"DefaultBinder": 0},
        **points,
    }
    sets = {}
    for attribute, point in zip(Plugins.__struct_fields__, Plugins.__struct_encode_fields__, strict=True):
        enabled = tuple(Plugin(name=name, weight=weight or None) for name, weight in given.get(point, {}).items())
        if enabled or point in _WITH_DEFAULTS:
            sets[attribute] = PluginSet(enabled=enabled, disabled=nothing_else)
    return Plugins(**sets)


_WITH_DEFAULTS = frozenset(
    {"queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "preBind", "bind"}
)


def _put_priorities(priorities: Mapping[str, int], producer: _ProfileBuilder) -> None:
    for name in sorted(priorities):
        weight = priorities[name]
        if name in _WISHES:
            if name not in producer.custom:
                raise RefusedPolicyError(f"priority {name} has no arguments: kube-scheduler 1.22 crashes")
            weight *= sum(len(getattr(producer.custom[name], wishes)) for wishes in _WISHES[name])
        producer.put(PRIORITIES.get(name) or OLD_PRIORITIES[name], _int32(weight))


def _put_arguments(priorities: Mapping[str, int], producer: _ProfileBuilder) -> None:
    """Arguments that a Policy gives; those of other plugins are the defaults."""
    used = {plugin for plugins in producer.points.values() for plugin in plugins}
    given = {
        "NodeResourcesLeastAllocated": NodeResourcesLeastAllocatedArgs(resources=_EVENLY),
        "NodeResourcesMostAllocated": NodeResourcesMostAllocatedArgs(resources=_EVENLY),
        **producer.custom,
    }
    for name in ("NodeLabel", "ServiceAffinity", "RequestedToCapacityRatio", *given):
        if name in used and name in given:
            producer.args[name] = given[name]
    if "SelectorSpreadPriority" in priorities:
        producer.args["PodTopologySpread"] = PodTopologySpreadArgs(defaulting_type="System")
    elif "EvenPodsSpreadPriority" in priorities:
        producer.args["PodTopologySpread"] = PodTopologySpreadArgs(defaulting_type="List")


def _int32(number: int) -> int:
    """As Go cuts a number off."""
    return (number + 2**31) % 2**32 - 2**31


def _predicate(policy: PredicatePolicy, producer: _ProfileBuilder, *, tolerant: bool) -> str:
    old = {name: (successor, f"read as {successor} ({why})") for name, (successor, why) in OLD_PREDICATES.items()}
    name = "PodFitsHostPorts" if policy.name == "PodFitsPorts" else policy.name
    if known := _own("predicate", name, policy, PREDICATES, old if tolerant else {}, producer):
        return known
    argument = policy.argument
    assert argument is not None
    if argument.service_affinity is not None:
        producer.add(ServiceAffinityArgs, affinity_labels=argument.service_affinity.labels)
        return "CheckServiceAffinity"
    assert argument.labels_presence is not None
    which = "present_labels" if argument.labels_presence.presence else "absent_labels"
    producer.add(NodeLabelArgs, **{which: argument.labels_presence.labels})
    return "CheckNodeLabelPresence"


def _priority(policy: PriorityPolicy, producer: _ProfileBuilder, *, tolerant: bool) -> str:
    old = {name: (name, f"plugin {use.plugin} is that of 1.19") for name, use in OLD_PRIORITIES.items()}
    name = "SelectorSpreadPriority" if policy.name == "ServiceSpreadingPriority" else policy.name
    if known := _own("priority", name, policy, PRIORITIES, old if tolerant else {}, producer):
        return known
    argument = policy.argument
    assert argument is not None
    if argument.service_anti_affinity is not None:
        producer.add(ServiceAffinityArgs, anti_affinity_labels_preference=(argument.service_anti_affinity.label,))
        return "ServiceAffinity"
    if argument.label_preference is not None:
        which = "present_labels_preference" if argument.label_preference.presence else "absent_labels_preference"
        producer.add(NodeLabelArgs, **{which: (argument.label_preference.label,)})
        return "NodeLabel"
    ratio = argument.requested_to_capacity_ratio_arguments
    assert ratio is not None
    producer.custom["RequestedToCapacityRatio"] = RequestedToCapacityRatioArgs(
        shape=ratio.shape, resources=ratio.resources
    )
    return "RequestedToCapacityRatio"


def _own(
    what: str,
    name: str,
    policy: PredicatePolicy | PriorityPolicy,
    names: Container[str],
    old: Mapping[str, tuple[str, str]],
    producer: _ProfileBuilder,
) -> str:
    """The name of a predicate or priority of kube-scheduler's own; empty for a custom one, which has one argument.

    ``old`` names stand for others. Raises RefusedPolicyError.
    """
    argument = policy.argument
    if argument is not None:
        given = sum(getattr(argument, kind) is not None for kind in argument.__struct_fields__)
        if given != 1:
            raise RefusedPolicyError(f"exactly 1 {what} argument is required, numArgs: {given}, {what} {policy.name}")
    if name in names:
        if argument is not None:
            producer.notes.append(
                f"{what} {name} is one of kube-scheduler's own, so its argument is ignored, as by kube-scheduler: "
                "give it another name"
            )
        return name
    if argument is not None:
        return ""
    if name not in old:
        raise RefusedPolicyError(f"{what} type not found for {go_quote(name)}")
    successor, how = old[name]
    producer.notes.append(f"{what} {name}: kube-scheduler 1.22 refuses it; {how}")
    return successor


# --- validation


def _problems(policy: Policy) -> Iterator[str]:
    first: dict[str, PriorityPolicy] = {}
    for priority in policy.priorities or ():
        if not 0 < priority.weight < _MOST_WEIGHT:
            yield f"priority {priority.name} should have a positive weight applied to it or it has overflown"
        yield from _check_redeclared(priority, first)
    weight = policy.hard_pod_affinity_symmetric_weight
    if not 0 <= weight <= 100:
        yield ROOT.child("hardPodAffinitySymmetricWeight").invalid(weight, "not in valid range [0-100]")


def _check_redeclared(priority: PriorityPolicy, first: dict[str, PriorityPolicy]) -> Iterator[str]:
    """Custom priorities of one kind share one plugin, and so one weight."""
    argument = priority.argument
    if argument is None:
        return
    if argument.label_preference is not None:
        kind = "LabelPreference"
    elif argument.service_anti_affinity is not None:
        kind = "ServiceAntiAffinity"
    elif argument.requested_to_capacity_ratio_arguments is not None:
        kind = "RequestedToCapacityRatio"
    else:
        yield f"no priority arguments set for priority {priority.name}"
        return
    before = first.get(kind)
    if before is None:
        first[kind] = priority
    elif kind == "RequestedToCapacityRatio":
        names = f"{go_quote(kind)}, from: {go_quote(before.name)}"
        yield f"priority {go_quote(priority.name)} redeclares custom priority {names}"
    elif before.weight != priority.weight:
        yield f"{kind}  priority {go_quote(priority.name)} has a different weight with {go_quote(before.name)}"
