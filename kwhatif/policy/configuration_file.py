"""Loads a KubeSchedulerConfiguration: decoding, defaults, validation, profiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec
from msgspec import structs

from kwhatif.api.objects import part_of
from kwhatif.errors import PolicyError
from kwhatif.golang.field_validation import aggregate
from kwhatif.golang.formatting import one_line
from kwhatif.policy.decoding import REMOVED_IN, RefusedError, not_registered, read
from kwhatif.policy.defaults import apply_extenders, enabled_names, start_problems, with_defaults
from kwhatif.policy.in_tree import InTreePlugins, in_tree
from kwhatif.policy.legacy_formats import GROUP, REMOVED_OLDER, legacy, legacy_format
from kwhatif.policy.profile import (
    EXTENSION_POINTS,
    FrozenMap,
    PluginRef,
    PluginSet,
    Profile,
    SchedulerConfiguration,
)
from kwhatif.policy.structs import KubeSchedulerConfiguration, KubeSchedulerProfile, Plugins
from kwhatif.policy.validation import validate
from kwhatif.versions import LEGACY_MINOR, Features, features_of


class Examination(msgspec.Struct, frozen=True):
    """The outcome of validating a document: a configuration, or why it is refused.

    ``problems`` has a line for each reason, ``error`` is all of them as kube-scheduler prints them.
    """

    configuration: SchedulerConfiguration | None
    problems: tuple[str, ...] = ()
    error: str = ""


def default_configuration(features: Features | None = None) -> SchedulerConfiguration:
    """kube-scheduler's configuration when it is given no file."""
    return load_configuration(None, source="", features=features)


def load_configuration(document: object, *, source: str, features: Features | None = None) -> SchedulerConfiguration:
    """The configuration in a parsed YAML or JSON document; None stands for no file at all.

    Raises PolicyError, naming ``source`` and all of kube-scheduler's errors, in one line.
    """
    outcome = examine(document, source=source, features=features)
    if outcome.configuration is None:
        raise PolicyError(f"{source}: {outcome.error}" if source else outcome.error)
    return outcome.configuration


def examine(
    document: object, *, source: str = "", features: Features | None = None, accept_removed: bool = True
) -> Examination:
    """Like ``load_configuration``, but a refusal is returned.

    Without ``accept_removed``, formats that upstream has removed are refused as upstream refuses them.
    """
    features = features or features_of()
    facts = in_tree(features)
    warnings: list[str] = []
    older, all_filters = None, False
    version = legacy_format(document)
    if version and features.multi_point:
        return _examine_legacy(document, version, source, features, accept_removed=accept_removed)
    if document is None:
        config = KubeSchedulerConfiguration()
    elif isinstance(document, Mapping) and version:
        if version in ("v1alpha1", "v1alpha2") and not accept_removed:
            return _no_longer_read(document, version)
        try:
            reading = legacy().read(document, version, features, accept_removed)
        except RefusedError as refused:
            return _refusal(refused.problems, str(refused))
        config, older, all_filters = reading.configuration, reading.defaults, reading.all_filters
        warnings += reading.notes
    else:
        try:
            config, version, ignored = read(document, facts, accept_removed=accept_removed)
        except RefusedError as refused:
            return _refusal(refused.problems, str(refused))
        warnings += _format_warnings(version, ignored, facts)
    config = with_defaults(config, facts, older)
    problems = validate(config, facts)
    if not problems:
        warnings += _idle_warnings(config, facts)
        config, problems = apply_extenders(config, facts)
    if not problems:
        problems = list(start_problems(config, facts))
    if problems:
        return _refusal(dict.fromkeys(problems), aggregate(problems))
    prefix = f"{source}: " if source else ""
    value = _as_value(config, tuple(one_line(prefix + warning) for warning in warnings), facts)
    if not features.multi_point:
        value = replace(value, all_filters=all_filters, api_version="v1beta2" if older is None else "v1beta1")
    return Examination(value)


def _examine_legacy(
    document: object, version: str, source: str, features: Features, *, accept_removed: bool
) -> Examination:
    """A document in an old format, made into a configuration of a minor that no longer reads it."""
    if not accept_removed:
        return _no_longer_read(document, version)
    before = examine(document, source=source, features=features_of(LEGACY_MINOR))
    if before.configuration is None:
        return before
    conversion = legacy().translate_configuration(before.configuration, features)
    outcome = examine(conversion.document, source=source, features=features)
    if outcome.configuration is None:
        return outcome
    prefix = f"{source}: " if source else ""
    said = tuple(one_line(prefix + change) for change in conversion.changes)
    said = (*before.configuration.warnings, *said, *outcome.configuration.warnings)
    return structs.replace(outcome, configuration=replace(outcome.configuration, warnings=said, lost=conversion.lost))


def _no_longer_read(document: object, version: str) -> Examination:
    assert isinstance(document, Mapping)
    hint = f" (removed in Kubernetes {REMOVED_OLDER[version]}; kwhatif policy convert makes a v1 configuration of it)"
    problem = not_registered(str(part_of(document, "kind")), str(part_of(document, "apiVersion")), hint)
    return _refusal([problem], problem)


def _refusal(problems: Iterable[str], error: str) -> Examination:
    return Examination(None, tuple(map(one_line, problems)), one_line(error))


def _format_warnings(version: str, ignored: list[str], facts: InTreePlugins) -> Iterator[str]:
    minor = facts.features.minor
    if version in REMOVED_IN and facts.features.multi_point:
        yield (
            f"{GROUP}/{version} was removed in Kubernetes {REMOVED_IN[version]}, so kube-scheduler {minor} "
            f"refuses this file; it is read as {GROUP}/v1"
        )
        if version == "v1beta2":
            before = {plugin.name: plugin.weight for plugin in legacy().default_plugins(facts.features).score.enabled}
            others = (
                f"{name} weighs {weight} instead of {before[name]}"
                for name, weight in sorted(facts.default_plugins)
                if weight != before.get(name, weight)
            )
            yield f"the default plugins are those of Kubernetes {minor}, not of v1beta2: {', '.join(others)}"
    for field in ignored:
        yield f"{field} is ignored: it does not bear on scheduling"


def _idle_warnings(config: KubeSchedulerConfiguration, facts: InTreePlugins) -> Iterator[str]:
    """Warnings about settings that affect no decision here."""
    for index, profile in enumerate(config.profiles):
        enabled = set(enabled_names(profile.plugins or Plugins()))
        for position, plugin in enumerate(profile.plugin_config):
            idle = f"profiles[{index}].pluginConfig[{position}] has no effect: plugin {plugin.name}"
            if plugin.name not in enabled:
                yield f"{idle} is not enabled in profile {profile.scheduler_name}"
            elif plugin.name in facts.points and plugin.name not in facts.arguments:
                yield f"{idle} takes no arguments"


def _as_value(
    config: KubeSchedulerConfiguration, warnings: tuple[str, ...], facts: InTreePlugins
) -> SchedulerConfiguration:
    return SchedulerConfiguration(
        profiles=tuple(_profile(profile, facts) for profile in config.profiles),
        percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=config.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=config.pod_max_backoff_seconds,
        extenders=config.extenders,
        parallelism=config.parallelism,
        leader_election=config.leader_election,
        client_connection=config.client_connection,
        enable_profiling=config.enable_profiling,
        enable_contention_profiling=bool(config.enable_contention_profiling),
        delay_cache_until_active=config.delay_cache_until_active,
        warnings=warnings,
    )


def _profile(profile: KubeSchedulerProfile, facts: InTreePlugins) -> Profile:
    """Without the arguments of plugins that are not enabled, which upstream does not print either."""
    plugins = profile.plugins or Plugins()
    enabled = set(enabled_names(plugins))
    sets = {}
    for point in EXTENSION_POINTS:
        if ("Plugins", point) in facts.unknown_fields:
            continue
        merged = plugins.plugin_set_at(point)
        refs = tuple(PluginRef(plugin.name, plugin.weight or 0) for plugin in merged.enabled)
        sets[point] = PluginSet(refs, tuple(plugin.name for plugin in merged.disabled))
    args = {c.name: c.args for c in profile.plugin_config if c.name in enabled and c.args is not None}
    return Profile(
        scheduler_name=profile.scheduler_name or "",
        plugins=FrozenMap(sets),
        args=FrozenMap(dict(sorted(args.items()))),
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
    )
