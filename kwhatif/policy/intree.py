"""Facts about kube-scheduler's own plugins, by minor: which exist, what they extend, what is on by default.

Upstream: scheduler/apis/config/v1/default_plugins.go, the registry in scheduler/framework/plugins/registry.go, and
the extension points that each plugin's Go type has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from kwhatif.policy.args import ARGS, LEGACY_ARGS, Args
from kwhatif.policy.older import legacy
from kwhatif.versions import Features

__all__ = ["InTree", "in_tree"]


@dataclass(frozen=True, slots=True)
class InTree:
    """One minor with its gates. ``default_plugins`` are multiPoint's, in order, with weights (0: none is set).

    ``points`` maps each plugin to the extension points it has. ``filter_timeout`` and ``binding_timeout`` are
    seconds, None where the feature gate is off.
    """

    features: Features
    default_plugins: tuple[tuple[str, int], ...]
    points: Mapping[str, tuple[str, ...]]
    filter_timeout: int | None
    binding_timeout: int | None

    @property
    def arguments(self) -> Mapping[str, type[Args]]:
        """The plugins that take arguments."""
        known = {**ARGS, **LEGACY_ARGS}
        return {name: known[name] for name in known if name in self.points and name not in self.without_arguments}

    @property
    def without_arguments(self) -> frozenset[str]:
        """Plugins that take arguments only in later minors: theirs are left as they are."""
        return frozenset() if self.features.dynamic_resources_has_arguments else frozenset({"DynamicResources"})

    @property
    def unknown_fields(self) -> frozenset[tuple[str, str]]:
        """(Struct, field) pairs that only later minors know."""
        unknown = set()
        if not self.features.pod_group_placement:
            unknown |= {("Plugins", "placementGenerate"), ("Plugins", "placementScore")}
        if not self.features.dynamic_resources_has_binding_timeout:
            unknown.add(("DynamicResourcesArgs", "bindingTimeout"))
        if not self.features.multi_point:
            unknown |= {("Plugins", "multiPoint"), ("Plugins", "preEnqueue")}
        if not self.features.profiles_have_percentages:
            unknown.add(("KubeSchedulerProfile", "percentageOfNodesToScore"))
        return frozenset(unknown)

    @property
    def shape_allowed(self) -> bool:
        """Whether VolumeBinding scores by capacity, and so may be given a shape."""
        return self.features.storage_capacity_scoring or self.features.volume_capacity_priority


@cache
def in_tree(features: Features) -> InTree:
    """The facts under the rules of ``features``."""
    binding = features.dra_device_binding_conditions and features.dra_resource_claim_device_status
    return InTree(
        features=features,
        default_plugins=tuple(_defaults(features)),
        points=dict(sorted(dict(_points(features)).items())),
        filter_timeout=10 if features.dra_scheduler_filter_timeout else None,
        binding_timeout=600 if binding else None,
    )


def _defaults(features: Features) -> Iterator[tuple[str, int]]:
    if features.scheduling_gates_come_first:
        yield "SchedulingGates", 0
    yield "PrioritySort", 0
    yield "NodeUnschedulable", 0
    yield "NodeName", 0
    yield "TaintToleration", 3
    yield "NodeAffinity", 2
    yield "NodePorts", 0
    yield "NodeResourcesFit", 1
    yield "VolumeRestrictions", 0
    if features.in_tree_volume_limits_by_default:
        yield "EBSLimits", 0
        yield "GCEPDLimits", 0
    yield "NodeVolumeLimits", 0
    if features.in_tree_volume_limits_by_default:
        yield "AzureDiskLimits", 0
    yield "VolumeBinding", 0
    yield "VolumeZone", 0
    yield "PodTopologySpread", 2
    yield "InterPodAffinity", 2
    if features.dynamic_resource_allocation:
        # Before DefaultPreemption: giving back an idle claim is gentler than evicting a pod.
        yield "DynamicResources", 2 if features.dynamic_resources_scores else 0
    yield "DefaultPreemption", 0
    yield "NodeResourcesBalancedAllocation", 1
    yield "ImageLocality", 1
    yield "DefaultBinder", 0
    if not features.scheduling_gates_come_first and features.pod_scheduling_readiness:
        yield "SchedulingGates", 0
    if features.node_declared_features:
        yield "NodeDeclaredFeatures", 0
    if features.gang_scheduling:
        yield "GangScheduling", 0
    if features.topology_aware_workload_scheduling:
        yield "TopologyPlacementGenerator", 0
        yield "PodGroupPodsCount", 1


_ALWAYS: Mapping[str, tuple[str, ...]] = {
    "DefaultBinder": ("bind",),
    "ImageLocality": ("score",),
    "InterPodAffinity": ("preFilter", "filter", "preScore", "score"),
    "NodeAffinity": ("preFilter", "filter", "preScore", "score"),
    "NodeName": ("filter",),
    "NodePorts": ("preFilter", "filter"),
    "NodeResourcesBalancedAllocation": ("preScore", "score"),
    "NodeUnschedulable": ("filter",),
    "NodeVolumeLimits": ("preFilter", "filter"),
    "PodTopologySpread": ("preFilter", "filter", "preScore", "score"),
    "PrioritySort": ("queueSort",),
    "TaintToleration": ("filter", "preScore", "score"),
    "VolumeRestrictions": ("preFilter", "filter"),
    "VolumeZone": ("preFilter", "filter"),
}
"""What did not change."""


def _points(features: Features) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield from _ALWAYS.items()
    if features.legacy_plugins:
        yield from legacy().points.items()
        return
    yield "SchedulingGates", ("preEnqueue",)
    early = ("preEnqueue",) if features.preemption_holds_preemptors_back else ()
    yield "DefaultPreemption", (*early, "postFilter")
    yield "DynamicResources", _dynamic_resources(features)
    placed = ("placementScore",) if features.pod_group_placement else ()
    yield "NodeResourcesFit", ("preFilter", "filter", "preScore", "score", *placed)
    pre_score = ("preScore",) if features.volume_binding_skips_score else ()
    yield "VolumeBinding", ("preFilter", "filter", *pre_score, "score", "reserve", "preBind")
    if features.in_tree_volume_limits:
        for name in ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"):
            yield name, ("preFilter", "filter")
    if features.gang_scheduling_plugin:
        reserve = () if features.pod_group_placement else ("reserve",)
        yield "GangScheduling", ("preEnqueue", *reserve, "permit")
        yield "NodeDeclaredFeatures", ("preFilter", "filter")
    if features.pod_group_placement:
        yield "PodGroupPodsCount", ("placementScore",)
        yield "TopologyPlacementGenerator", ("placementGenerate",)


def _dynamic_resources(features: Features) -> tuple[str, ...]:
    points = ["preEnqueue", "preFilter", "filter", "postFilter"]
    if features.control_plane_controller_allocates:
        points.append("preScore")
    if features.dynamic_resources_scores:
        points.append("score")
    points.append("reserve")
    if features.structured_parameters:
        points.append("preBind")
    if features.control_plane_controller_allocates:
        points.append("postBind")
    return tuple(points)
