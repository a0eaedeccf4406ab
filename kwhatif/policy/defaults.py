"""What kube-scheduler fills in for fields left out (upstream: scheduler/apis/config/v1/defaults.go).

Constants that depend on nothing else are the defaults of the Structs themselves.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kwhatif.framework.declaration import Args
from kwhatif.golang.duration import Duration
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

DEFAULT_SCHEDULER_NAME = "default-scheduler"


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
    given = [_complete(config, facts) for config in profile.plugin_config]
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


def default_args(plugin: str, facts: InTree) -> Any:
    """The arguments of an in-tree plugin that nobody configured."""
    return facts.plugins[plugin].completed(facts.arguments[plugin](), facts.features)


def _complete(config: PluginConfig, facts: InTree) -> PluginConfig:
    if not isinstance(config.args, Args):
        return config
    return replace(config, args=facts.plugins[config.name].completed(config.args, facts.features))


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
