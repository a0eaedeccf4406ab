"""Defaults of a KubeSchedulerConfiguration: omitted fields, custom plugins merged into the default ones, and what
kube-scheduler changes at start before any profile is built.

Constants that depend on nothing else are the defaults of the Structs themselves. Upstream:
scheduler/apis/config/v1/defaults.go and default_plugins.go; buildExtenders in scheduler/scheduler.go, NewHTTPExtender
in scheduler/extender.go and NewFit in scheduler/framework/plugins/noderesources/fit.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.framework.declaration import Args
from kwhatif.golang.field_validation import ROOT, aggregate
from kwhatif.golang.parsing import Duration
from kwhatif.policy.in_tree import InTreePlugins
from kwhatif.policy.legacy_formats import legacy
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


def merge_plugins(default: Plugins, custom: Plugins | None) -> Plugins:
    """Merge every extension point; without custom plugins the default ones stay as they are."""
    if custom is None:
        return default
    return Plugins(
        **{
            field: merge_plugin_set(getattr(default, field), getattr(custom, field))
            for field in Plugins.__struct_fields__
        }
    )


def append_plugins(default: Plugins, custom: Plugins | None) -> Plugins:
    """Merge as v1beta1 and earlier formats did: what is left of the default plugins, then the custom ones.

    A default plugin that is enabled once more is there twice, which is refused later on. The result is complete: it
    switches all defaults off, so that it stays as it is when it is read again.
    """
    custom = Plugins() if custom is None else custom
    merged = {}
    for field in Plugins.__struct_fields__:
        own, others = getattr(custom, field), getattr(default, field)
        gone = {plugin.name for plugin in own.disabled}
        left = () if "*" in gone else tuple(plugin for plugin in others.enabled if plugin.name not in gone)
        if left or own.enabled or others.enabled:
            merged[field] = PluginSet(enabled=(*left, *own.enabled), disabled=(Plugin(name="*"),))
    return Plugins(**merged)


def merge_plugin_set(default: PluginSet, custom: PluginSet) -> PluginSet:
    """Merge one extension point.

    A default plugin goes if it, or ``*``, is disabled. One that is also enabled keeps its position and takes
    the custom weight: of several with its name, the last. What replaced no default plugin follows, doublets
    included: they are an error only when the profile is expanded.
    """
    disabled = tuple(Plugin(name=plugin.name) for plugin in (*custom.disabled, *default.disabled))
    gone = {plugin.name for plugin in disabled}
    last = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    enabled = []
    replacing = set()
    for plugin in () if "*" in gone else default.enabled:
        if plugin.name in gone:
            continue
        index = last.get(plugin.name)
        if index is None:
            enabled.append(plugin)
        else:
            enabled.append(custom.enabled[index])
            replacing.add(index)
    enabled += [plugin for index, plugin in enumerate(custom.enabled) if index not in replacing]
    return msgspec.structs.replace(default, enabled=tuple(enabled), disabled=disabled)


DEFAULT_SCHEDULER_NAME = "default-scheduler"


def default_plugins(facts: InTreePlugins) -> Plugins:
    """The plugins of a profile that says nothing: all of them through multiPoint, once there was that."""
    if not facts.features.multi_point:
        return legacy().default_plugins(facts.features)
    enabled = tuple(Plugin(name=name, weight=weight or None) for name, weight in facts.default_plugins)
    return Plugins(multi_point=PluginSet(enabled=enabled))


def with_defaults(
    config: KubeSchedulerConfiguration, facts: InTreePlugins, older: Plugins | None = None
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


def _profile(profile: KubeSchedulerProfile, facts: InTreePlugins, older: Plugins | None) -> KubeSchedulerProfile:
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
    return sorted({plugin.name for point in EXTENSION_POINTS for plugin in plugins.plugin_set_at(point).enabled})


def default_args(plugin: str, facts: InTreePlugins) -> Any:
    """The arguments of an in-tree plugin that is not configured."""
    return facts.plugins[plugin].fill_defaults(facts.arguments[plugin](), facts.features)


def _complete(config: PluginConfig, facts: InTreePlugins) -> PluginConfig:
    if not isinstance(config.args, Args):
        return config
    return replace(config, args=facts.plugins[config.name].fill_defaults(config.args, facts.features))


def _leader_election(election: LeaderElectionConfiguration) -> LeaderElectionConfiguration:
    return replace(
        election,
        resource_lock=election.resource_lock or "leases",
        resource_namespace=election.resource_namespace or "kube-system",
        resource_name=election.resource_name or "kube-scheduler",
        lease_duration=election.lease_duration or Duration.of_seconds(15),
        renew_deadline=election.renew_deadline or Duration.of_seconds(10),
        retry_period=election.retry_period or Duration.of_seconds(2),
    )


def _client_connection(connection: ClientConnectionConfiguration) -> ClientConnectionConfiguration:
    return replace(
        connection,
        content_type=connection.content_type or "application/vnd.kubernetes.protobuf",
        qps=connection.qps or 50.0,
        burst=connection.burst or 100,
    )


_EXTENDER_TIMEOUT = Duration.of_seconds(5)


def apply_extenders(
    config: KubeSchedulerConfiguration, facts: InTreePlugins
) -> tuple[KubeSchedulerConfiguration, list[str]]:
    """Let extenders take over the resources they manage: plugins then ignore these, and only these.

    Returns the changed configuration and what is wrong.
    """
    extenders = tuple(replace(e, http_timeout=e.http_timeout or _EXTENDER_TIMEOUT) for e in config.extenders)
    config = replace(config, extenders=extenders)
    ignored = tuple(r.name for e in extenders for r in e.managed_resources if r.ignored_by_scheduler)
    if not ignored:
        return config, []
    fields = {name: plugin.left_to_extenders for name, plugin in facts.own.items() if plugin.left_to_extenders}
    profiles = []
    for profile in config.profiles:
        for name in fields:
            if all(plugin.name != name for plugin in profile.plugin_config):
                return config, [f"couldn't build extenders: can't find {name}Args in plugin config"]
        configs = tuple(
            replace(plugin_config, args=replace(plugin_config.args, **{fields[plugin_config.name]: ignored}))
            if plugin_config.name in fields
            else plugin_config
            for plugin_config in profile.plugin_config
        )
        profiles.append(replace(profile, plugin_config=configs))
    return replace(config, profiles=tuple(profiles)), []


def start_problems(config: KubeSchedulerConfiguration, facts: InTreePlugins) -> Iterator[str]:
    """Errors of plugins at their start, in arguments that validation let pass."""
    for profile in config.profiles:
        enabled = enabled_names(profile.plugins or Plugins())
        for plugin_config in profile.plugin_config:
            plugin = facts.plugins.get(plugin_config.name)
            if plugin is None or not plugin.checked_at_start or plugin_config.name not in enabled:
                continue
            problems = list(plugin.problems(ROOT, plugin_config.args, facts.features))
            if problems:
                start = f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}"
                yield f'{start}: initializing plugin "{plugin_config.name}": {aggregate(problems)}'
