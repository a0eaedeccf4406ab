"""Validation of a completed configuration.

Upstream: scheduler/apis/config/validation/validation.go. Everything wrong is reported, in upstream's order and words.
Upstream's table has the wrong key for one plugin, whose arguments are therefore validated only when the plugin starts
(``policy.defaults.start_problems``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kwhatif.framework.declaration import Args
from kwhatif.golang.field_validation import ROOT, Path, extended_resource, qualified_name
from kwhatif.policy.in_tree import InTreePlugins
from kwhatif.policy.structs import (
    EXTENSION_POINTS,
    Extender,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    LeaderElectionConfiguration,
    Plugins,
    PluginSet,
)

_VERSION = "kubescheduler.config.k8s.io/v1"
_REMOVED = f'was invalid in version "{_VERSION}" (KubeSchedulerConfiguration is version "{_VERSION}")'
# multiPoint and the placement points are not looked at for removed plugins; expansion misses them anyway.
_UNCHECKED_POINTS = ("multiPoint", "placementGenerate", "placementScore")


def validate(config: KubeSchedulerConfiguration, facts: InTreePlugins) -> list[str]:
    """Every reason to refuse ``config``, which has its defaults; empty when there is none."""
    return list(_problems(config, facts))


def _problems(config: KubeSchedulerConfiguration, facts: InTreePlugins) -> Iterator[str]:
    burst = config.client_connection.burst
    if burst < 0:
        yield ROOT.child("clientConnection", "burst").invalid(burst, "must be non-negative")
    yield from _leader_election(config.leader_election, only_leases=facts.features.locks_are_leases)
    if config.parallelism <= 0:
        problem = "should be an integer value greater than zero"
        yield ROOT.child("parallelism").invalid(config.parallelism, problem)
    yield from _profiles(config.profiles, facts)
    yield from _percentage(ROOT, config.percentage_of_nodes_to_score)
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        yield ROOT.child("podInitialBackoffSeconds").invalid(initial, "must be greater than 0")
    if longest < initial:
        problem = "must be greater than or equal to PodInitialBackoffSeconds"
        yield ROOT.child("podMaxBackoffSeconds").invalid(longest, problem)
    yield from _extenders(config.extenders)


def _leader_election(election: LeaderElectionConfiguration, *, only_leases: bool) -> Iterator[str]:
    """Empty names cannot occur: defaults fill them (upstream: component-base/config/validation)."""
    if not election.leader_elect:
        return
    path = ROOT.child("leaderElection")
    for name, duration in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        if duration <= 0:
            yield path.child(name).invalid(str(duration), "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        problem = "must be greater than `RenewDeadline`"
        yield path.child("leaseDuration").invalid(str(election.renew_deadline), problem)
    if election.resource_lock != "leases" and only_leases:
        yield path.child("resourceLock").invalid(election.resource_lock, 'resourceLock value must be "leases"')


def _percentage(path: Path, percentage: int | None) -> Iterator[str]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield path.child("percentageOfNodesToScore").invalid(percentage, "not in valid range [0-100]")


# --- profiles


def _profiles(profiles: tuple[KubeSchedulerProfile, ...], facts: InTreePlugins) -> Iterator[str]:
    root = ROOT.child("profiles")
    seen = set()
    for index, profile in enumerate(profiles):
        path = root.index(index)
        yield from _profile(path, profile, facts)
        if (profile.scheduler_name or "") in seen:
            # Upstream prints the other profile's path here, whose JSON is empty.
            yield path.child("schedulerName").duplicate({})
        seen.add(profile.scheduler_name or "")
    yield from _common_queue_sort(root, profiles, facts)


def _profile(path: Path, profile: KubeSchedulerProfile, facts: InTreePlugins) -> Iterator[str]:
    if not profile.scheduler_name:
        yield path.child("schedulerName").required()
    yield from _percentage(path, profile.percentage_of_nodes_to_score)
    removed = facts.removed_plugins
    yield from _removed_plugins(path.child("plugins"), profile.plugins or Plugins(), removed)
    wrong_keys = {f"{name}Args" for name, plugin in facts.own.items() if plugin.checked_at_start}
    seen = set()
    for index, config in enumerate(profile.plugin_config):
        at = path.child("pluginConfig").index(index)
        if config.name in seen:
            yield at.duplicate(config.name)
        seen.add(config.name)
        if config.name in removed:
            yield at.invalid(config.name, _REMOVED)
        elif config.name in wrong_keys:
            # A plugin of that name has no typed arguments to match.
            yield at.child("args").invalid(config.args, "has to match plugin args")
        elif isinstance(config.args, Args) and not facts.plugins[config.name].checked_at_start:
            yield from facts.plugins[config.name].problems(at.child("args"), config.args, facts.features)


def _removed_plugins(path: Path, plugins: Plugins, removed: Collection[str]) -> Iterator[str]:
    for point in (point for point in EXTENSION_POINTS if point not in _UNCHECKED_POINTS):
        for index, plugin in enumerate(plugins.plugin_set_at(point).enabled):
            if plugin.name in removed:
                yield path.child(point, "enabled").index(index).invalid(plugin.name, _REMOVED)


def _common_queue_sort(root: Path, profiles: tuple[KubeSchedulerProfile, ...], facts: InTreePlugins) -> Iterator[str]:
    """All profiles share one queue, so they must sort it alike."""
    first, *others = profiles
    canon = (first.plugins or Plugins()).queue_sort
    if len(canon.enabled) > 1:
        path = root.index(0).child("plugins", "queueSort", "Enabled")
        yield path.invalid(len(canon.enabled), "only one queue sort plugin can be enabled")
    name = canon.enabled[0].name if canon.enabled else ""
    canon_args = next((c.args for c in reversed(first.plugin_config) if name and c.name == name), None)
    named = facts.features.queue_sort_is_named_in_errors
    of_args = "queueSort must be the same for all profiles" if named else "has to match for all profiles"
    of_plugins = "must be the same for all profiles" if facts.features.terse_shape_errors else of_args
    for index, profile in enumerate(others, start=1):
        path = root.index(index)
        current = (profile.plugins or Plugins()).queue_sort
        if _comparable(current) != _comparable(canon):
            at = path.child("plugins", "queueSort")
            yield at.invalid(_as_go_struct(current), of_plugins)
        for config in profile.plugin_config:
            if config.name == name and config.args != canon_args:
                yield path.child("pluginConfig", "args").invalid(config.args, of_args)


def _comparable(plugins: PluginSet) -> object:
    return [(p.name, p.weight or 0) for p in plugins.enabled], [p.name for p in plugins.disabled]


def _as_go_struct(plugins: PluginSet) -> dict[str, object]:
    """A PluginSet as Go prints its internal form, which has no JSON names and null for empty lists."""
    return {
        "Enabled": [{"Name": p.name, "Weight": p.weight or 0} for p in plugins.enabled] or None,
        "Disabled": [{"Name": p.name, "Weight": 0} for p in plugins.disabled] or None,
    }


# --- extenders


def _extenders(extenders: tuple[Extender, ...]) -> Iterator[str]:
    root = ROOT.child("extenders")
    seen = set()
    for index, extender in enumerate(extenders):
        path = root.index(index)
        if extender.prioritize_verb and extender.weight <= 0:
            yield path.child("weight").invalid(extender.weight, "must have a positive weight applied to it")
        for position, resource in enumerate(extender.managed_resources):
            at = path.child("managedResources").index(position).child("name")
            wrong = qualified_name(resource.name)
            yield from (at.invalid(resource.name, problem) for problem in wrong)
            if not wrong and not extended_resource(resource.name):
                yield at.invalid(resource.name, "is an invalid extended resource name")
            if resource.name in seen:
                yield at.invalid(resource.name, "duplicate extender managed resource name")
            seen.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        yield root.invalid(f"found {binders} extenders implementing bind", "only one extender can implement bind")
