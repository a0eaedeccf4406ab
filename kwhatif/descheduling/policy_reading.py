"""From a parsed document to a runnable policy, with upstream's refusals.

Unknown fields are errors, as upstream decodes policies strictly; so are arguments of plugins that do not exist.
Upstream: pkg/descheduler/policyconfig.go, setupplugins.go, pkg/framework/profile/profile.go (NewProfile).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from kwhatif.api.selectors import SelectorError, parse_selector
from kwhatif.descheduling.framework.descheduler_policy import (
    API_VERSION,
    KIND,
    KUBERNETES_METRICS,
    PROMETHEUS_METRICS,
    DeschedulerPolicy,
    DeschedulerProfile,
    PluginArgs,
)
from kwhatif.descheduling.framework.plugin import Plugin
from kwhatif.descheduling.plugins.default_evictor import (
    NAME,
    DefaultEvictorArgs,
    evictor_problems,
    evictor_refusal,
    threshold_of,
)
from kwhatif.descheduling.plugins.high_node_utilization import HighNodeUtilization
from kwhatif.descheduling.plugins.low_node_utilization import LowNodeUtilization
from kwhatif.descheduling.plugins.pod_life_time import PodLifeTime
from kwhatif.descheduling.plugins.remove_duplicates import RemoveDuplicates
from kwhatif.descheduling.plugins.remove_failed_pods import RemoveFailedPods
from kwhatif.descheduling.plugins.remove_pods_having_too_many_restarts import RemovePodsHavingTooManyRestarts
from kwhatif.descheduling.plugins.remove_pods_violating_inter_pod_anti_affinity import (
    RemovePodsViolatingInterPodAntiAffinity,
)
from kwhatif.descheduling.plugins.remove_pods_violating_node_affinity import RemovePodsViolatingNodeAffinity
from kwhatif.descheduling.plugins.remove_pods_violating_node_taints import RemovePodsViolatingNodeTaints
from kwhatif.descheduling.plugins.remove_pods_violating_topology_spread_constraint import (
    RemovePodsViolatingTopologySpreadConstraint,
)
from kwhatif.golang.field_validation import aggregate
from kwhatif.golang.formatting import go_quote
from kwhatif.golang.strict_json import MismatchError, decode

T = TypeVar("T", bound=msgspec.Struct)
_ALPHA = "descheduler/v1alpha1"
_UNSIGNED = {
    "max_no_of_pods_to_evict_per_node": "maxNoOfPodsToEvictPerNode",
    "max_no_of_pods_to_evict_per_namespace": "maxNoOfPodsToEvictPerNamespace",
    "max_no_of_pods_to_evict_total": "maxNoOfPodsToEvictTotal",
}
_UNSIGNED_ARGS = {
    "max_pod_life_time_seconds": "maxPodLifeTimeSeconds",
    "min_pod_lifetime_seconds": "minPodLifetimeSeconds",
    "min_replicas": "minReplicas",
}


class DeschedulerPolicyError(Exception):
    """The descheduler would not start with this policy. ``place`` is a path in it, where there is one."""

    def __init__(self, problem: str, place: str = "") -> None:
        self.problem, self.place = problem, place
        super().__init__(problem)


class Profile(msgspec.Struct, frozen=True):
    """A profile that can run: the evictor's arguments, its threshold, and the plugins of both points, in order."""

    name: str
    evictor: DefaultEvictorArgs
    threshold: int
    deschedule: tuple[tuple[type[Plugin[Any]], PluginArgs], ...]
    balance: tuple[tuple[type[Plugin[Any]], PluginArgs], ...]


class RunnablePolicy(msgspec.Struct, frozen=True):
    """A policy with its arguments decoded and checked."""

    policy: DeschedulerPolicy
    profiles: tuple[Profile, ...]


def read_policy(document: Any, priority_classes: Mapping[str, int]) -> RunnablePolicy:
    """Raises DeschedulerPolicyError. ``priority_classes`` are those of the cluster, by name."""
    policy = _decoded_policy(document)
    args = [_decoded_args(profile, index) for index, profile in enumerate(policy.profiles)]
    problems = [
        f"in profile {profile.name}: {problem}"
        for profile, of_profile in zip(policy.profiles, args, strict=True)
        for problem in _profile_problems(profile, of_profile)
    ]
    problems += _metrics_problems(policy)
    if problems:
        raise DeschedulerPolicyError(aggregate(problems))
    thresholds = []
    for of_profile in args:
        evictor = of_profile.get(NAME) or DefaultEvictorArgs()
        assert isinstance(evictor, DefaultEvictorArgs)
        threshold, problem = threshold_of(evictor, priority_classes)
        if problem:
            raise DeschedulerPolicyError(problem)
        thresholds.append(threshold)
    try:
        parse_selector(policy.node_selector or "")
    except SelectorError as error:
        raise DeschedulerPolicyError(str(error), "nodeSelector") from None
    profiles = zip(policy.profiles, args, thresholds, strict=True)
    return RunnablePolicy(policy, tuple(_build_profile(*profile) for profile in profiles))


# --- decoding


def _decoded_policy(document: Any) -> DeschedulerPolicy:
    if not isinstance(document, Mapping):
        raise DeschedulerPolicyError("expected a DeschedulerPolicy, an object")
    version, kind = document.get("apiVersion"), document.get("kind")
    if version == _ALPHA:
        raise DeschedulerPolicyError(
            f"{_ALPHA} is no longer read by the descheduler: strategies are plugins of profiles in {API_VERSION}",
            "apiVersion",
        )
    if version != API_VERSION or kind != KIND:
        version_and_kind = f"{version or 'nothing'}, {kind or 'nothing'}"
        raise DeschedulerPolicyError(f"expected apiVersion {API_VERSION} and kind {KIND}, found {version_and_kind}")
    policy = _decode(DeschedulerPolicy, document, "")
    for attribute, key in _UNSIGNED.items():
        _insist_unsigned(getattr(policy, attribute), key, key)
    return policy


def _decoded_args(profile: DeschedulerProfile, index: int) -> dict[str, PluginArgs]:
    """The arguments by plugin; of several entries of one plugin the first counts, but all are decoded."""
    by_plugin: dict[str, PluginArgs] = {}
    for number, config in enumerate(profile.plugin_config):
        place = f"profiles[{index}].pluginConfig[{number}].args"
        struct = DefaultEvictorArgs if config.name == NAME else None
        if config.name in PLUGINS:
            struct = PLUGINS[config.name].args_type  # type: ignore[assignment]
        if struct is None:
            continue
        if config.args is not None and not isinstance(config.args, Mapping):
            raise DeschedulerPolicyError("expected an object", place)
        args = _decode(struct, config.args or {}, place)
        for attribute, key in _UNSIGNED_ARGS.items():
            _insist_unsigned(getattr(args, attribute, None), key, f"{place}.{key}")
        limits = getattr(args, "eviction_limits", None)
        _insist_unsigned(limits and limits.node, "node", f"{place}.evictionLimits.node")
        by_plugin.setdefault(config.name, args)
    return by_plugin


def _decode(struct: type[T], document: Mapping[Any, Any], place: str) -> T:
    try:
        value, unknown = decode(struct, document)
    except MismatchError as error:
        raise DeschedulerPolicyError(error.problem, f"{place}.{error.place}" if place else error.place) from None
    if unknown:
        raise DeschedulerPolicyError(f"strict decoding error: {', '.join(unknown)}", place)
    return value


def _insist_unsigned(value: int | None, key: str, place: str) -> None:
    if value is not None and value < 0:
        raise DeschedulerPolicyError(f"json: cannot unmarshal number {value} into Go field {key} of type uint", place)


# --- checks


def _profile_problems(profile: DeschedulerProfile, args: Mapping[str, PluginArgs]) -> Iterator[str]:
    seen: set[str] = set()
    for config in profile.plugin_config:
        name = config.name
        if name != NAME and name not in PLUGINS:
            yield f"plugin {name} in pluginConfig not registered"
            continue
        if name in seen:
            continue
        seen.add(name)
        arguments = args[name]
        if isinstance(arguments, DefaultEvictorArgs):
            problems = list(evictor_problems(arguments))
        else:
            problems = list(PLUGINS[name].problems(arguments))
        if problems:
            yield aggregate(problems)


def _metrics_problems(policy: DeschedulerPolicy) -> Iterator[str]:
    sources = [provider.source for provider in policy.metrics_providers]
    for index, source in enumerate(sources):
        if source in sources[:index]:
            yield (f"metric provider {go_quote(source)} is already configured, each source can be configured only once")
    collects = policy.metrics_collector is not None and policy.metrics_collector.enabled
    if KUBERNETES_METRICS in sources and collects:
        yield "it is not allowed to combine metrics provider when metrics collector is enabled"
    if PROMETHEUS_METRICS not in sources:
        return
    server = next(
        metrics_provider
        for metrics_provider in policy.metrics_providers
        if metrics_provider.source == PROMETHEUS_METRICS
    ).prometheus
    if server is None:
        yield "prometheus configuration is required when prometheus source is enabled"
        return
    if not server.url:
        yield "prometheus URL is required when prometheus is enabled"
    else:
        try:
            urlsplit(server.url)
        except ValueError as error:
            yield f"error parsing prometheus URL: {error}"
    if server.auth_token is not None:
        secret = server.auth_token.secret_reference
        if secret is None:
            yield "prometheus authToken secret is expected to be set when authToken field is"
        elif not secret.name or not secret.namespace:
            yield "prometheus authToken secret reference does not set both namespace and name"


def _build_profile(profile: DeschedulerProfile, args: Mapping[str, PluginArgs], threshold: int) -> Profile:
    """The profile with its plugins. Raises DeschedulerPolicyError for those that cannot be built."""
    refused = f"unable to create {go_quote(profile.name)} profile"
    points = profile.plugins
    for point, enabled, known in (
        ("deschedule", points.deschedule.enabled, _of_point("deschedule")),
        ("balance", points.balance.enabled, _of_point("balance")),
        ("filter", points.filter.enabled, {NAME}),
        ("preEvictionFilter", points.preevictionfilter.enabled, {NAME}),
    ):
        strange = sorted(set(enabled) - known)
        if strange:
            names = "map[" + " ".join(f"{name}:{{}}" for name in strange) + "]"
            text = (
                f"profile {go_quote(profile.name)} configures {point} extension point of non-existing plugins: {names}"
            )
            raise DeschedulerPolicyError(f"{refused}: {text}")
    evictor = args.get(NAME) or DefaultEvictorArgs()
    assert isinstance(evictor, DefaultEvictorArgs)
    refusals = {NAME: evictor_refusal(evictor)}
    for name in sorted({*points.deschedule.enabled, *points.balance.enabled}):
        if name not in args:
            refusals[name] = f"unable to find {go_quote(name)} plugin config"
        elif problem := PLUGINS[name].refusal(args[name]):
            refusals[name] = f"unable to initialize {go_quote(name)} plugin: {problem}"
    for name, problem in sorted(refusals.items()):
        if problem:
            raise DeschedulerPolicyError(f"{refused}: unable to build {name} plugin: {problem}")
    return Profile(
        profile.name,
        evictor,
        threshold,
        tuple((PLUGINS[name], args[name]) for name in points.deschedule.enabled),
        tuple((PLUGINS[name], args[name]) for name in points.balance.enabled),
    )


def _of_point(point: str) -> set[str]:
    return {name for name, plugin in PLUGINS.items() if plugin.point == point}


PLUGINS: dict[str, type[Plugin[Any]]] = {
    plugin.name: plugin
    for plugin in (
        HighNodeUtilization,
        LowNodeUtilization,
        PodLifeTime,
        RemoveDuplicates,
        RemoveFailedPods,
        RemovePodsHavingTooManyRestarts,
        RemovePodsViolatingInterPodAntiAffinity,
        RemovePodsViolatingNodeAffinity,
        RemovePodsViolatingNodeTaints,
        RemovePodsViolatingTopologySpreadConstraint,
    )
}
