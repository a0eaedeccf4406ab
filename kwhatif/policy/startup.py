"""What kube-scheduler does to an accepted configuration while it starts, before any profile is built.

Upstream: buildExtenders in scheduler/scheduler.go, NewHTTPExtender in scheduler/extender.go and NewFit in
scheduler/framework/plugins/noderesources/fit.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kwhatif.golang.duration import Duration
from kwhatif.golang.field_errors import ROOT, aggregate
from kwhatif.policy.args import REQUESTED_TO_CAPACITY_RATIO, NodeResourcesFitArgs, ScoringStrategy
from kwhatif.policy.defaults import enabled_names
from kwhatif.policy.intree import InTree
from kwhatif.policy.structs import KubeSchedulerConfiguration, KubeSchedulerProfile, Plugins
from kwhatif.policy.validation_args import validate_args

__all__ = ["apply_extenders", "start_problems"]

_FIT = "NodeResourcesFit"
_EXTENDER_TIMEOUT = Duration.of_seconds(5)


def apply_extenders(config: KubeSchedulerConfiguration) -> tuple[KubeSchedulerConfiguration, list[str]]:
    """Let extenders take over the resources they manage: NodeResourcesFit then ignores these, and only these.

    Returns the changed configuration and what is wrong.
    """
    extenders = tuple(replace(e, http_timeout=e.http_timeout or _EXTENDER_TIMEOUT) for e in config.extenders)
    config = replace(config, extenders=extenders)
    ignored = tuple(r.name for e in extenders for r in e.managed_resources if r.ignored_by_scheduler)
    if not ignored:
        return config, []
    for profile in config.profiles:
        if all(plugin.name != _FIT for plugin in profile.plugin_config):
            return config, ["couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"]
    return replace(config, profiles=tuple(_ignoring(profile, ignored) for profile in config.profiles)), []


def _ignoring(profile: KubeSchedulerProfile, ignored: tuple[str, ...]) -> KubeSchedulerProfile:
    configs = [
        replace(plugin, args=replace(plugin.args, ignored_resources=ignored)) if plugin.name == _FIT else plugin
        for plugin in profile.plugin_config
    ]
    return replace(profile, plugin_config=tuple(configs))


def _has_no_shape(strategy: ScoringStrategy) -> bool:
    return strategy.type == REQUESTED_TO_CAPACITY_RATIO and strategy.requested_to_capacity_ratio is None


def start_problems(config: KubeSchedulerConfiguration, facts: InTree) -> Iterator[str]:
    """What a plugin refuses when it starts, though validation let it pass: NodeResourcesFit's arguments."""
    for profile in config.profiles:
        if _FIT not in enabled_names(profile.plugins or Plugins()):
            continue
        for plugin in profile.plugin_config:
            if isinstance(plugin.args, NodeResourcesFitArgs):
                problems = list(validate_args(ROOT, plugin.args, facts))
                start = f"initializing profiles: creating profile for scheduler name {profile.scheduler_name}"
                if problems:
                    yield f'{start}: initializing plugin "{_FIT}": {aggregate(problems)}'
                elif _has_no_shape(plugin.args.scoring_strategy):
                    # Where validation lets it pass, upstream trips over it.
                    yield f'{start}: initializing plugin "{_FIT}": it panics without a requestedToCapacityRatio'
