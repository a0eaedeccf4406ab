"""A Policy made into the profile that kube-scheduler made of it.

Upstream, until 1.22: createFromPolicy in pkg/scheduler/factory.go, legacy_registry.go beside the plugins, and
ValidatePolicy in pkg/scheduler/apis/config/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kwhatif.golang.field_errors import ROOT
from kwhatif.golang.spelling import go_quote
from kwhatif.legacy.policy_names import (
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    EQUAL_PRIORITY,
    FOREIGN_PRIORITIES,
    MANDATORY_PREDICATES,
    OLD_PREDICATES,
    OLD_PRIORITIES,
    PREDICATES,
    PRIORITIES,
    Use,
)
from kwhatif.legacy.policy_structs import Policy, PredicatePolicy, PriorityPolicy
from kwhatif.policy.args import (
    Args,
    InterPodAffinityArgs,
    NodeLabelArgs,
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    PodTopologySpreadArgs,
    RequestedToCapacityRatioArgs,
    ResourceSpec,
    ServiceAffinityArgs,
)
from kwhatif.policy.structs import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)

__all__ = ["RefusedPolicyError", "as_configuration"]

_MOST_WEIGHT = (2**63 - 1) // 10
_EVENLY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))
_ALIASES = {"PodFitsPorts": "PodFitsHostPorts"}


class RefusedPolicyError(Exception):
    """What kube-scheduler 1.22 says of a Policy that it does not start with; one line for each problem."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


@dataclass
class _Producer:
    """The profile in the making: which plugins are where, their weights and arguments."""

    points: dict[str, dict[str, int]] = field(default_factory=dict)
    labels: NodeLabelArgs | None = None
    services: ServiceAffinityArgs | None = None
    ratio: RequestedToCapacityRatioArgs | None = None
    args: dict[str, Args] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def put(self, use: Use, weight: int = 0) -> None:
        for point in use.points:
            # A plugin that two priorities share keeps the weight of the first: upstream raises that of a copy.
            self.points.setdefault(point, {}).setdefault(use.plugin, weight if point == "score" else 0)


def as_configuration(policy: Policy, *, tolerant: bool) -> tuple[KubeSchedulerConfiguration, tuple[str, ...]]:
    """The configuration with the one profile that a Policy amounts to, and what is to be said of it.

    If ``tolerant``, names that older schedulers knew, and 1.22 did not, are understood. Raises RefusedPolicyError.
    """
    problems = list(_problems(policy))
    if problems:
        raise RefusedPolicyError(*problems)
    producer = _Producer()
    predicates = set(DEFAULT_PREDICATES)
    if policy.predicates is not None:
        predicates = {_predicate(each, producer, tolerant=tolerant) for each in policy.predicates}
    priorities: dict[str, int] = dict(DEFAULT_PRIORITIES)
    if policy.priorities is not None:
        named = [each for each in policy.priorities if each.name != EQUAL_PRIORITY]
        if tolerant:
            foreign = [each.name for each in named if each.name in FOREIGN_PRIORITIES and each.argument is None]
            producer.notes += [f"priority {name}: kube-scheduler never had it, so it is left out" for name in foreign]
            named = [each for each in named if each.name not in foreign]
        priorities = {_priority(each, producer, tolerant=tolerant): each.weight for each in named}
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


def _put_priorities(priorities: Mapping[str, int], producer: _Producer) -> None:
    for name in sorted(priorities):
        use = PRIORITIES.get(name) or OLD_PRIORITIES[name]
        weight = priorities[name]
        if name == "NodeLabel":
            labels = producer.labels
            if labels is None:
                raise RefusedPolicyError(f"priority {name} has no arguments: kube-scheduler 1.22 crashes")
            weight *= len(labels.present_labels_preference) + len(labels.absent_labels_preference)
        if name == "ServiceAffinity":
            if producer.services is None:
                raise RefusedPolicyError(f"priority {name} has no arguments: kube-scheduler 1.22 crashes")
            weight *= len(producer.services.anti_affinity_labels_preference)
        producer.put(use, _int32(weight))


def _put_arguments(priorities: Mapping[str, int], producer: _Producer) -> None:
    """Arguments that a Policy gives; those of other plugins are the defaults."""
    used = {plugin for plugins in producer.points.values() for plugin in plugins}
    for name, args in (
        ("NodeLabel", producer.labels),
        ("ServiceAffinity", producer.services),
        ("RequestedToCapacityRatio", producer.ratio),
        ("NodeResourcesLeastAllocated", NodeResourcesLeastAllocatedArgs(resources=_EVENLY)),
        ("NodeResourcesMostAllocated", NodeResourcesMostAllocatedArgs(resources=_EVENLY)),
    ):
        if name in used and args is not None:
            producer.args[name] = args
    if "SelectorSpreadPriority" in priorities:
        producer.args["PodTopologySpread"] = PodTopologySpreadArgs(defaulting_type="System")
    elif "EvenPodsSpreadPriority" in priorities:
        producer.args["PodTopologySpread"] = PodTopologySpreadArgs(defaulting_type="List")


def _int32(number: int) -> int:
    """As Go cuts a number off."""
    return (number + 2**31) % 2**32 - 2**31


def _predicate(policy: PredicatePolicy, producer: _Producer, *, tolerant: bool) -> str:
    argument = policy.argument
    if argument is not None:
        given = sum(each is not None for each in (argument.service_affinity, argument.labels_presence))
        if given != 1:
            raise RefusedPolicyError(
                f"exactly 1 predicate argument is required, numArgs: {given}, predicate {policy.name}"
            )
    name = _ALIASES.get(policy.name, policy.name)
    if name in PREDICATES:
        if argument is not None:
            producer.notes.append(
                f"predicate {name} is one of kube-scheduler's own, so its argument is ignored, as by kube-scheduler: "
                "give it another name"
            )
        return name
    if argument is None:
        if name in OLD_PREDICATES and tolerant:
            successor, why = OLD_PREDICATES[name]
            producer.notes.append(f"predicate {name}: kube-scheduler 1.22 refuses it; read as {successor} ({why})")
            return successor
        raise RefusedPolicyError(f"predicate type not found for {go_quote(name)}")
    if argument.service_affinity is not None:
        before = producer.services or ServiceAffinityArgs()
        labels = (*before.affinity_labels, *argument.service_affinity.labels)
        producer.services = ServiceAffinityArgs(
            affinity_labels=labels, anti_affinity_labels_preference=before.anti_affinity_labels_preference
        )
        return "CheckServiceAffinity"
    assert argument.labels_presence is not None
    present = argument.labels_presence.presence
    producer.labels = _with_labels(
        producer.labels, "present_labels" if present else "absent_labels", argument.labels_presence.labels
    )
    return "CheckNodeLabelPresence"


def _with_labels(args: NodeLabelArgs | None, attribute: str, labels: tuple[str, ...]) -> NodeLabelArgs:
    fields = {name: getattr(args or NodeLabelArgs(), name) for name in NodeLabelArgs.__struct_fields__}
    return NodeLabelArgs(**{**fields, attribute: (*fields[attribute], *labels)})


def _priority(policy: PriorityPolicy, producer: _Producer, *, tolerant: bool) -> str:
    argument = policy.argument
    if argument is not None:
        given = sum(getattr(argument, name) is not None for name in argument.__struct_fields__)
        if given != 1:
            raise RefusedPolicyError(
                f"exactly 1 priority argument is required, numArgs: {given}, priority {policy.name}"
            )
    name = "SelectorSpreadPriority" if policy.name == "ServiceSpreadingPriority" else policy.name
    if name in PRIORITIES:
        if argument is not None:
            producer.notes.append(
                f"priority {name} is one of kube-scheduler's own, so its argument is ignored, as by kube-scheduler: "
                "give it another name"
            )
        return name
    if argument is None:
        if name in OLD_PRIORITIES and tolerant:
            plugin = OLD_PRIORITIES[name].plugin
            producer.notes.append(f"priority {name}: kube-scheduler 1.22 refuses it; plugin {plugin} is that of 1.19")
            return name
        raise RefusedPolicyError(f"priority type not found for {go_quote(name)}")
    if argument.service_anti_affinity is not None:
        before = producer.services or ServiceAffinityArgs()
        labels = (*before.anti_affinity_labels_preference, argument.service_anti_affinity.label)
        producer.services = ServiceAffinityArgs(
            affinity_labels=before.affinity_labels, anti_affinity_labels_preference=labels
        )
        return "ServiceAffinity"
    if argument.label_preference is not None:
        wanted = argument.label_preference
        attribute = f"{'present' if wanted.presence else 'absent'}_labels_preference"
        producer.labels = _with_labels(producer.labels, attribute, (wanted.label,))
        return "NodeLabel"
    ratio = argument.requested_to_capacity_ratio_arguments
    assert ratio is not None
    producer.ratio = RequestedToCapacityRatioArgs(shape=ratio.shape, resources=ratio.resources)
    return "RequestedToCapacityRatio"


# --- validation


def _problems(policy: Policy) -> Iterator[str]:
    first: dict[str, PriorityPolicy] = {}
    for priority in policy.priorities or ():
        if not 0 < priority.weight < _MOST_WEIGHT:
            problem = "should have a positive weight applied to it or it has overflown"
            yield f"priority {priority.name} {problem}"
        yield from _redeclared(priority, first)
    weight = policy.hard_pod_affinity_symmetric_weight
    if not 0 <= weight <= 100:
        yield ROOT.child("hardPodAffinitySymmetricWeight").invalid(weight, "not in valid range [0-100]")


def _redeclared(priority: PriorityPolicy, first: dict[str, PriorityPolicy]) -> Iterator[str]:
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
