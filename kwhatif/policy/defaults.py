"""What kube-scheduler fills in for fields left out (upstream: scheduler/apis/config/v1/defaults.go).

Constants that depend on nothing else are the defaults of the Structs themselves.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kwhatif.golang.duration import Duration
from kwhatif.policy.args import (
    ARGS,
    LEGACY_ARGS,
    Args,
    DynamicResourcesArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    NodeResourcesLeastAllocatedArgs,
    NodeResourcesMostAllocatedArgs,
    RequestedToCapacityRatioArgs,
    ResourceSpec,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from kwhatif.policy.intree import InTree
from kwhatif.policy.merge import append_plugins, merge_plugins
from kwhatif.policy.older import legacy
from kwhatif.policy.structs import (
    EXTENSION_POINTS,
    ClientConnectionConfiguration,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugin,
    PluginConfig,
    Plugins,
    PluginSet,
)

__all__ = ["DEFAULT_SCHEDULER_NAME", "default_args", "default_plugins", "enabled_names", "with_defaults"]

DEFAULT_SCHEDULER_NAME = "default-scheduler"
_CPU_AND_MEMORY = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))
_FALLING_SHAPE = (
    UtilizationShapePoint(utilization=0, score=10),
    UtilizationShapePoint(utilization=100, score=0),
)
_RISING_SHAPE = (
    UtilizationShapePoint(utilization=0, score=0),
    UtilizationShapePoint(utilization=100, score=10),
)


def default_plugins(facts: InTree) -> Plugins:
    """The plugins of a profile that says nothing: all of them through multiPoint, once there was that."""
    if not facts.features.multi_point:
        return legacy().default_plugins(facts.features)
    enabled = tuple(Plugin(name=name, weight=weight or None) for name, weight in facts.default_plugins)
    return Plugins(multi_point=PluginSet(enabled=enabled))


def with_defaults(
    config: KubeSchedulerConfiguration, facts: InTree, older: Plugins | None = None
) -> KubeSchedulerConfiguration:
    """``config`` as kube-scheduler completes it; ``args`` must be decoded already.

    ``older`` are the default plugins of a format before v1beta2, to which profiles add theirs.
    """
    profiles = config.profiles or (KubeSchedulerProfile(),)
    if len(profiles) == 1 and profiles[0].scheduler_name is None:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention = config.enable_contention_profiling
    return replace(
        config,
        profiles=tuple(_profile(profile, facts, older) for profile in profiles),
        leader_election=_leader_election(config.leader_election),
        client_connection=_client_connection(config.client_connection),
        enable_contention_profiling=config.enable_profiling if contention is None else contention,
    )


def _profile(profile: KubeSchedulerProfile, facts: InTree, older: Plugins | None) -> KubeSchedulerProfile:
    if older is None:
        plugins = merge_plugins(default_plugins(facts), profile.plugins)
    else:
        plugins = append_plugins(older, profile.plugins)
    given = [replace(config, args=_complete(config.args, facts)) for config in profile.plugin_config]
    named = {config.name for config in given}
    added = [
        PluginConfig(name=name, args=default_args(name, facts))
        for name in enabled_names(plugins)
        if name in facts.arguments and name not in named
    ]
    return replace(profile, plugins=plugins, plugin_config=(*given, *added))


def enabled_names(plugins: Plugins) -> list[str]:
    """The names of all plugins enabled at any extension point, sorted."""
    return sorted({plugin.name for point in EXTENSION_POINTS for plugin in plugins.at(point).enabled})


def default_args(plugin: str, facts: InTree) -> Args:
    """The arguments of an in-tree plugin that nobody configured."""
    completed = _complete({**ARGS, **LEGACY_ARGS}[plugin](), facts)
    assert isinstance(completed, Args)
    return completed


def _complete(args: Any, facts: InTree) -> Any:
    match args:
        case NodeResourcesFitArgs():
            strategy = args.scoring_strategy
            return replace(args, scoring_strategy=replace(strategy, resources=_weighted(strategy.resources)))
        case (
            NodeResourcesBalancedAllocationArgs()
            | NodeResourcesLeastAllocatedArgs()
            | NodeResourcesMostAllocatedArgs()
            | RequestedToCapacityRatioArgs()
        ):
            return replace(args, resources=_weighted(args.resources))
        case VolumeBindingArgs() if facts.shape_allowed and not args.shape:
            return replace(args, shape=_RISING_SHAPE if facts.features.capacity_shape_rises else _FALLING_SHAPE)
        case DynamicResourcesArgs():
            return replace(
                args,
                filter_timeout=_or_seconds(args.filter_timeout, facts.filter_timeout),
                binding_timeout=_or_seconds(args.binding_timeout, facts.binding_timeout),
            )
    return args


def _weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    """CPU and memory when none is named; a weight of zero counts as one."""
    return tuple(replace(spec, weight=spec.weight or 1) for spec in resources) or _CPU_AND_MEMORY


def _or_seconds(given: Duration | None, seconds: int | None) -> Duration | None:
    return Duration.of_seconds(seconds) if given is None and seconds is not None else given


def _leader_election(given: LeaderElectionConfiguration) -> LeaderElectionConfiguration:
    return replace(
        given,
        resource_lock=given.resource_lock or "leases",
        resource_namespace=given.resource_namespace or "kube-system",
        resource_name=given.resource_name or "kube-scheduler",
        lease_duration=given.lease_duration or Duration.of_seconds(15),
        renew_deadline=given.renew_deadline or Duration.of_seconds(10),
        retry_period=given.retry_period or Duration.of_seconds(2),
    )


def _client_connection(given: ClientConnectionConfiguration) -> ClientConnectionConfiguration:
    return replace(
        given,
        content_type=given.content_type or "application/vnd.kubernetes.protobuf",
        qps=given.qps or 50.0,
        burst=given.burst or 100,
    )
