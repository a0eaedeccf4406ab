"""What kube-scheduler does to an accepted configuration while it starts, before any profile is built.

Upstream: buildExtenders in scheduler/scheduler.go, NewHTTPExtender in scheduler/extender.go and NewFit in
scheduler/framework/plugins/noderesources/fit.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kwhatif.golang.duration import Duration
from kwhatif.golang.field_errors import ROOT, aggregate
from kwhatif.policy.defaults import enabled_names
from kwhatif.policy.intree import InTree
from kwhatif.policy.structs import KubeSchedulerConfiguration, Plugins

_EXTENDER_TIMEOUT = Duration.of_seconds(5)


def apply_extenders(config: KubeSchedulerConfiguration, facts: InTree) -> tuple[KubeSchedulerConfiguration, list[str]]:
    """Let extenders take over the resources they manage: plugins then ignore these, and only these.

    Returns the changed configuration and what is wrong.
    """
    extenders = tuple(replace(e, http_timeout=e.http_timeout or _EXTENDER_TIMEOUT) for e in config.extenders)
    config = replace(config, extenders=extenders)
    ignored = tuple(r.name for e in extenders for r in e.managed_resources if r.ignored_by_scheduler)
    if not ignored:
        return config, []
    fields = {name: plugin.left_to_extenders for name, plugin in facts.plugins.items() if plugin.left_to_extenders}
    profiles = []
    for profile in config.profiles:
        for name in fields:
            if all(plugin.name != name for plugin in profile.plugin_config):
                return config, [f"couldn't build extenders: can't find {name}Args in plugin config"]
        configs = tuple(
            replace(each, args=replace(each.args, **{fields[each.name]: ignored})) if each.name in fields else each
            for each in profile.plugin_config
        )
        profiles.append(replace(profile, plugin_config=configs))
    return replace(config, profiles=tuple(profiles)), []


def start_problems(config: KubeSchedulerConfiguration, facts: InTree) -> Iterator[str]:
    """What a plugin refuses when it starts, though validation let it pass."""
    for profile in config.profiles:
        enabled = enabled_names(profile.plugins or Plugins())
        for each in profile.plugin_config:
            plugin = facts.plugins.get(each.name)
            if plugin is None or not plugin.checked_at_start or each.name not in enabled:
                continue
            problems = list(plugin.problems(ROOT, each.args, facts.features))
            if problems:
                start = f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}"
                yield f'{start}: initializing plugin "{each.name}": {aggregate(problems)}'
