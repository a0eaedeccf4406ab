"""Translates a configuration of 1.22 for a later minor, as far as that can express it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import (
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
)
from kwhatif.api.objects import part_of
from kwhatif.framework.declaration import Args
from kwhatif.golang.config_struct import ConfigStruct
from kwhatif.legacy.plugins.node_label import NodeLabelArgs
from kwhatif.legacy.plugins.resource_scorer import (
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
)
from kwhatif.legacy.plugins.service_affinity import ServiceAffinityArgs
from kwhatif.plugins.node_affinity import NodeAffinityArgs
from kwhatif.plugins.node_resources_fit import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ScoringStrategy,
)
from kwhatif.plugins.shared.node_resources import ResourceSpec
from kwhatif.plugins.shared.spread_constraints import LIST_DEFAULTING, SYSTEM_DEFAULTING, PodTopologySpreadArgs
from kwhatif.policy.defaults import default_args, with_defaults
from kwhatif.policy.in_tree import InTreePlugins, in_tree
from kwhatif.policy.legacy_formats import Conversion
from kwhatif.policy.profile import PluginRef, Profile, SchedulerConfiguration
from kwhatif.policy.render import args_document, plain_struct
from kwhatif.policy.structs import KubeSchedulerConfiguration
from kwhatif.versions import LEGACY_MINOR, Features, features_of

_FIT, _AFFINITY, _SPREAD = "NodeResourcesFit", "NodeAffinity", "PodTopologySpread"
_STRATEGIES = ("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio")
_DISKS = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
_SYSTEM_DEFAULTS = (("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5))
_MOST_WEIGHT = 100
"""No resource of a scoring strategy, and no preference, may weigh more."""


def translate_configuration(configuration: SchedulerConfiguration, features: Features) -> Conversion:
    """A configuration of 1.22, complete with its defaults, for a minor that has multiPoint."""
    facts = in_tree(features)
    changes: list[str] = []
    lost: list[str] = []
    profiles = []
    for profile in configuration.profiles:
        made = _Profile(profile, facts)
        profiles.append(made.document())
        prefix = f"profile {profile.scheduler_name}: " if len(configuration.profiles) > 1 else ""
        changes += [prefix + change for change in made.changes]
        lost += [prefix + change for change in made.lost]
    if configuration.all_filters:
        changes.append(
            "alwaysCheckAllPredicates has no successor: a node is said to be out for the first plugin's reasons alone; "
            "where pods go does not change"
        )
    document: dict[str, Any] = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    document |= dict(_settings(configuration, facts, changes))
    document["profiles"] = profiles
    if configuration.extenders:
        document["extenders"] = [plain_struct(extender) for extender in configuration.extenders]
    changes.append(f"everything else follows the rules of Kubernetes {features.minor} in place of {LEGACY_MINOR}'s")
    return Conversion(document, tuple(changes), tuple(lost))


def _settings(
    configuration: SchedulerConfiguration, facts: InTreePlugins, changes: list[str]
) -> Iterator[tuple[str, Any]]:
    """The fields beside profiles and extenders that are not the defaults anyway."""
    usual = with_defaults(KubeSchedulerConfiguration(), facts)
    election = configuration.leader_election
    if election.resource_lock != "leases":
        changes.append(f"leaderElection.resourceLock {election.resource_lock} is leases: there is no other lock now")
        election = replace(election, resource_lock="leases")
    keys = dict(zip(usual.__struct_fields__, usual.__struct_encode_fields__, strict=True))
    for attribute in (
        *("parallelism", "leader_election", "client_connection", "enable_profiling", "enable_contention_profiling"),
        *("percentage_of_nodes_to_score", "pod_initial_backoff_seconds", "pod_max_backoff_seconds"),
    ):
        value = election if attribute == "leader_election" else getattr(configuration, attribute)
        if value != getattr(usual, attribute):
            yield keys[attribute], plain_struct(value) if isinstance(value, ConfigStruct) else value


class _Profile(msgspec.Struct):
    """One profile in the making; every plugin is put where it was, and where it needs to be besides."""

    old: Profile
    facts: InTreePlugins
    points: dict[str, list[dict[str, Any]]] = {}
    args: dict[str, Any] = {}
    changes: list[str] = []
    lost: list[str] = []

    def document(self) -> dict[str, Any]:
        self.args = {
            name: args for name, args in self.old.args.items() if self._lives(name) or name not in _legacy_points()
        }
        for point in ("queueSort", "preFilter"):
            self._carry(point)
        self._filters()
        self._carry("postFilter")
        self._scores()
        for point in ("reserve", "permit", "preBind", "bind", "postBind"):
            self._carry(point)
        if self._has("postFilter", "DefaultPreemption") and "preEnqueue" in self._points_of("DefaultPreemption"):
            self._put("preEnqueue", "DefaultPreemption")
        fresh = [name for name, _ in self.facts.default_plugins if name not in _legacy_points()]
        if fresh:
            self.changes.append(f"plugins that came since are on, too: {', '.join(fresh)}")
        return self._to_dict(fresh)

    def _to_dict(self, fresh: Iterable[str]) -> dict[str, Any]:
        weights = dict(self.facts.default_plugins)
        everywhere = [_plugin(name, weights[name]) for name in fresh]
        plugins: dict[str, Any] = {"multiPoint": {"enabled": everywhere, "disabled": [{"name": "*"}]}}
        plugins |= {point: {"enabled": enabled} for point, enabled in self.points.items()}
        shown: dict[str, Any] = {"schedulerName": self.old.scheduler_name, "plugins": plugins}
        configs = []
        for name, args in sorted(self.args.items()):
            if not isinstance(args, Args):
                configs.append({"name": name, "args": args})
            elif args != default_args(name, self.facts):
                configs.append({"name": name, "args": _drop_type_meta(args_document(args, "v1"))})
        if configs:
            shown["pluginConfig"] = configs
        return shown

    def _lose(self, what: str) -> None:
        self.changes.append(what)
        self.lost.append(what)

    # --- where plugins are

    def _plugins_at(self, point: str) -> tuple[PluginRef, ...]:
        plugin = self.old.plugins.get(point)
        return plugin.enabled if plugin is not None else ()

    def _points_of(self, name: str) -> tuple[str, ...]:
        return self.facts.points.get(name, ())

    def _lives(self, name: str) -> bool:
        refused = self.facts.features.in_tree_volume_limits_are_refused and name in _DISKS
        return name in self.facts.points and not refused

    def _has(self, point: str, name: str) -> bool:
        return any(part_of(plugin, "name") == name for plugin in self.points.get(point, ()))

    def _put(self, point: str, name: str, weight: int = 0) -> None:
        if not self._has(point, name):
            self.points.setdefault(point, []).append(_plugin(name, weight))

    def _carry(self, point: str) -> None:
        """Plugins from outside the tree, and those that still have the point."""
        for ref in self._plugins_at(point):
            if ref.name not in _legacy_points() or (self._lives(ref.name) and point in self._points_of(ref.name)):
                self._put(point, ref.name)

    # --- filters

    def _filters(self) -> None:
        for ref in self._plugins_at("filter"):
            name = ref.name
            if name == "NodeLabel":
                self._require_labels()
            elif name == "ServiceAffinity":
                self._lose_service_affinity()
            elif name in _DISKS and not self._lives(name):
                self._lose(f"{name} is gone: disks count for NodeVolumeLimits, on nodes where their CSI driver runs")
            else:
                self._put("filter", name)
                if name in _legacy_points() and "preFilter" in self._points_of(name):
                    self._put("preFilter", name)

    def _require_labels(self) -> None:
        args = self._args_of("NodeLabel", NodeLabelArgs())
        wanted = _presence(args.present_labels, args.absent_labels)
        if not wanted:
            return
        affinity = self._args_of(_AFFINITY, NodeAffinityArgs())
        added = affinity.added_affinity or NodeAffinity()
        required = added.required_during_scheduling_ignored_during_execution
        terms = [
            replace(term, match_expressions=[*(term.match_expressions or ()), *wanted])
            for term in (required.node_selector_terms if required else None) or [NodeSelectorTerm()]
        ]
        added = replace(
            added, required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=terms)
        )
        self.args[_AFFINITY] = replace(affinity, added_affinity=added)
        alone = all(ref.name != _AFFINITY for ref in self._plugins_at("filter"))
        for point in ("preFilter", "filter"):
            self._put(point, _AFFINITY)
        besides = "; pods' own node affinity and node selector count now, too" if alone else ""
        self.changes.append(
            "NodeLabel's required labels are addedAffinity of NodeAffinity: the message is "
            f'"node(s) didn\'t match scheduler-enforced node affinity"{besides}'
        )

    def _lose_service_affinity(self) -> None:
        labels = self._args_of("ServiceAffinity", ServiceAffinityArgs()).affinity_labels
        if labels:
            self._lose(
                f"ServiceAffinity is gone: nothing keeps the pods of a service on nodes with the same "
                f"{', '.join(labels)}; pod affinity in the pods comes close"
            )

    # --- scores

    def _scores(self) -> None:
        refs = self._plugins_at("score")
        rating = (*_STRATEGIES, _FIT)
        best = max((ref for ref in refs if ref.name in rating), key=lambda ref: ref.weight, default=None)
        for ref in refs:
            match ref.name:
                case name if name in rating:
                    self._rate_resources(ref, best)
                case "NodeLabel":
                    self._prefer_labels(ref.weight)
                case "ServiceAffinity":
                    self._spread_services(ref.weight)
                case "SelectorSpread":
                    self._score(_SPREAD, ref.weight)
                    self.changes.append(f"SelectorSpread is {_SPREAD} with its default constraints: scores differ")
                case "NodePreferAvoidPods":
                    self._lose(
                        "NodePreferAvoidPods is gone: the annotation scheduler.alpha.kubernetes.io/preferAvoidPods "
                        "of nodes counts no more; a taint with PreferNoSchedule comes close"
                    )
                case "NodeResourceLimits":
                    self._lose("NodeResourceLimits is gone: pods' limits count no more")
                case name if name in _legacy_points():
                    self._score(name, ref.weight)
                case name:
                    self._put("score", name, ref.weight)
        for ref in self._plugins_at("preScore"):
            if ref.name not in _legacy_points():
                self._put("preScore", ref.name)

    def _score(self, name: str, weight: int) -> None:
        if "preScore" in self._points_of(name):
            self._put("preScore", name)
        self._put("score", name, weight)

    def _rate_resources(self, ref: PluginRef, best: PluginRef | None) -> None:
        """One of the strategies of NodeResourcesFit, which can have but one."""
        if best is None or ref.name != best.name:
            self._lose(f"{ref.name} is left out: {_FIT} scores by one strategy only, that of {best}")
            return
        self._score(_FIT, ref.weight)
        if ref.name == _FIT:
            return
        fit = self._args_of(_FIT, NodeResourcesFitArgs())
        self.args[_FIT] = replace(fit, scoring_strategy=self._strategy(self.old.args_of(ref.name)))
        self.changes.append(f"{ref.name} is a strategy of {_FIT}, which counts all of a pod's overhead")

    def _strategy(self, args: object) -> ScoringStrategy:
        match args:
            case NodeResourcesMostAllocatedArgs():
                return ScoringStrategy(type=MOST_ALLOCATED, resources=args.resources)
            case RequestedToCapacityRatioArgs():
                return ScoringStrategy(
                    type=REQUESTED_TO_CAPACITY_RATIO,
                    resources=self._scale_weights(args.resources),
                    requested_to_capacity_ratio=RequestedToCapacityRatioParam(shape=args.shape),
                )
        resources = args.resources if isinstance(args, NodeResourcesLeastAllocatedArgs) else ()
        return ScoringStrategy(type=LEAST_ALLOCATED, resources=resources)

    def _scale_weights(self, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        most = max((spec.weight for spec in resources), default=0)
        if most <= _MOST_WEIGHT:
            return resources
        self.changes.append(f"weights of resources were scaled down from {most} to {_MOST_WEIGHT} at most")
        return tuple(replace(spec, weight=max(spec.weight * _MOST_WEIGHT // most, 1)) for spec in resources)

    def _prefer_labels(self, weight: int) -> None:
        args = self._args_of("NodeLabel", NodeLabelArgs())
        wishes = _presence(args.present_labels_preference, args.absent_labels_preference)
        if not wishes:
            return
        affinity = self._args_of(_AFFINITY, NodeAffinityArgs())
        added = affinity.added_affinity or NodeAffinity()
        before = added.preferred_during_scheduling_ignored_during_execution or []
        terms = [
            PreferredSchedulingTerm(weight=_MOST_WEIGHT, preference=NodeSelectorTerm(match_expressions=[wish]))
            for wish in wishes
        ]
        added = replace(added, preferred_during_scheduling_ignored_during_execution=[*before, *terms])
        self.args[_AFFINITY] = replace(affinity, added_affinity=added)
        self._score(_AFFINITY, weight)
        self.changes.append(
            "NodeLabel's preferred labels are addedAffinity of NodeAffinity: they are weighed together with pods' own "
            "preferences, and the best node always gets 100"
        )

    def _spread_services(self, weight: int) -> None:
        labels = self._args_of("ServiceAffinity", ServiceAffinityArgs()).anti_affinity_labels_preference
        if not labels:
            return
        spread = self._args_of(_SPREAD, PodTopologySpreadArgs(defaulting_type=LIST_DEFAULTING))
        keys = {constraint.topology_key: constraint for constraint in spread.default_constraints}
        spreads = any(ref.name == _SPREAD for ref in self._plugins_at("score"))
        if spreads and spread.defaulting_type == SYSTEM_DEFAULTING:
            keys = {key: _loosely(key, skew) for key, skew in _SYSTEM_DEFAULTS}
        keys |= {label: _loosely(label, 1) for label in labels}
        self.args[_SPREAD] = PodTopologySpreadArgs(
            default_constraints=tuple(keys.values()), defaulting_type=LIST_DEFAULTING
        )
        self._score(_SPREAD, weight)
        self.changes.append(
            f"ServiceAffinity is gone: {_SPREAD} spreads pods over {', '.join(labels)} by default constraints, which "
            "count the pods of all services and controllers of a pod and do not hold for pods with their own"
        )

    def _args_of(self, name: str, otherwise: Any) -> Any:
        arg = self.args.get(name)
        if arg is None:
            arg = self.old.args_of(name)
        return otherwise if arg is None else arg


def _legacy_points() -> Mapping[str, tuple[str, ...]]:
    """The plugins of 1.22 and their extension points; all others are from outside the tree."""
    return in_tree(features_of(LEGACY_MINOR)).points


def _presence(present: Iterable[str], absent: Iterable[str]) -> list[NodeSelectorRequirement]:
    return [
        *(NodeSelectorRequirement(key=key, operator="Exists") for key in present),
        *(NodeSelectorRequirement(key=key, operator="DoesNotExist") for key in absent),
    ]


def _loosely(key: str, skew: int) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(max_skew=skew, topology_key=key, when_unsatisfiable="ScheduleAnyway")


def _plugin(name: str, weight: int = 0) -> dict[str, Any]:
    return {"name": name, "weight": weight} if weight else {"name": name}


def _drop_type_meta(args: dict[str, Any]) -> dict[str, Any]:
    """Arguments without what their place in the file says already."""
    return {key: value for key, value in args.items() if key not in ("apiVersion", "kind")}
