"""A policy that differs in some settings, as a document that kube-scheduler reads; and the run of one policy on one
cluster, which the workers of a sweep compute.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.decode import step
from kwhatif.bounds import pods_to_make
from kwhatif.commands.capacity.capacity import room_for
from kwhatif.commands.sweep.measures import measure_run
from kwhatif.commands.sweep.result import Level, Measures
from kwhatif.commands.sweep.space_document import PERCENTAGE, PLUGIN, STRATEGY, WEIGHT, Space, argument_of
from kwhatif.errors import InputError, KwhatifError, UsageError
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.policy.render import as_document
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.expansion.expanded_manifests import ExpandedManifests
from kwhatif.simulation.placement.autoscalers import Autoscalers
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.replay import ReplayedPods
from kwhatif.simulation.session import PodToSchedule
from kwhatif.simulation.study import StudyBase


def build_variant(setup: Setup, space: Space, settings: Mapping[str, Level]) -> dict[str, Any]:
    """Today's configuration with these settings, every default spelled out. Raises UsageError for no such profile."""
    document = copy.deepcopy(as_document(setup.configuration))
    profile = _profile(document, space)
    for setting, level in settings.items():
        argument = argument_of(setting)
        if argument is not None:
            _argument(profile, *argument, level)
        elif setting == PERCENTAGE:
            profile[PERCENTAGE] = level
        elif setting == STRATEGY:
            _strategy(profile, space.strategies[str(level)])
        elif setting.endswith(WEIGHT):
            _weight(profile, setting.removesuffix(WEIGHT), int(level))
        else:
            _switch(profile, setting.removesuffix(PLUGIN), bool(level))
    return document


def apply_settings(setup: Setup, space: Space, settings: Mapping[str, Level]) -> Setup:
    """The scheduler with these settings; without any, today's. Raises PolicyError where kube-scheduler would refuse
    them.
    """
    if not settings:
        return setup
    document = build_variant(setup, space, settings)
    configuration = load_configuration(document, source="", features=setup.features)
    return replace(setup, configuration=configuration, skipped=set(), stand_ins={}, used=set())


def check(setup: Setup, space: Space) -> None:
    """Try the first and the last level of each setting, and each strategy. Raises InputError with its place."""
    if not setup.features.multi_point:
        raise UsageError("the policy is older than v1beta3: begin with what kwhatif policy convert makes of it")
    build_variant(setup, space, {})
    for axis in space.axes:
        for level in axis.levels if not axis.ordered else (axis.levels[0], axis.levels[-1]):
            place = axis.place + step(str(level)) if axis.setting == STRATEGY else axis.place
            try:
                changed = apply_settings(setup, space, {axis.setting: level})
                for profile in changed.configuration.profiles:
                    changed.profile(profile)
            except KwhatifError as error:
                problem = error.problem if isinstance(error, InputError) else str(error)
                raise InputError(problem, source=space.source, place=place) from None


def describe_differences(setup: Setup, space: Space) -> Callable[[Mapping[str, Level]], str]:
    """How a policy differs from today's: ``strategy pack; NodeResourcesFit weighs 5``."""
    today = as_document(setup.configuration)

    @cache
    def describe_setting(setting: str, level: Level) -> str:
        changed = build_variant(setup, space, {setting: level})
        if setting == PERCENTAGE and level == today[PERCENTAGE]:
            # It is said of the profile now, and means the same.
            _profile(changed, space).pop(PERCENTAGE)
        same = as_document(load_configuration(changed, source="", features=setup.features)) == today
        return "" if same else _describe_level(setting, level)

    return lambda settings: "; ".join(filter(None, (describe_setting(*setting) for setting in settings.items())))


def _describe_level(setting: str, level: Level) -> str:
    argument = argument_of(setting)
    if argument is not None:
        plugin, field = argument
        return f"{plugin} {field} {str(level).lower() if isinstance(level, bool) else level}"
    if setting == PERCENTAGE:
        return f"{level}% of nodes scored" if level else "nodes scored by cluster size"
    if setting == STRATEGY:
        return f"strategy {level}"
    if setting.endswith(WEIGHT):
        plugin = setting.removesuffix(WEIGHT)
        return f"{plugin} weighs {level}" if level else f"{plugin} does not score"
    return f"{setting.removesuffix(PLUGIN)} {'on' if level else 'off'}"


# --- parts of a document


def _profile(document: dict[str, Any], space: Space) -> dict[str, Any]:
    profiles: list[dict[str, Any]] = document["profiles"]
    names = [profile["schedulerName"] for profile in profiles]
    if space.profile is None and len(profiles) > 1:
        problem = f"the policy has several profiles: expected one of {', '.join(names)}, found none"
        raise InputError(problem, source=space.source, place="$.profile")
    wanted = space.profile or names[0]
    if wanted not in names:
        problem = f"expected a profile of the policy, which are {', '.join(names)}; found {wanted}"
        raise InputError(problem, source=space.source, place="$.profile")
    return profiles[names.index(wanted)]


def _strategy(profile: dict[str, Any], strategy: Mapping[str, Any]) -> None:
    entry = next((config for config in profile.get("pluginConfig", ()) if "scoringStrategy" in config["args"]), None)
    if entry is None:
        raise UsageError("no plugin of the profile has scoring strategies")
    entry["args"]["scoringStrategy"] = copy.deepcopy(dict(strategy))


def _argument(profile: dict[str, Any], plugin: str, field: str, level: Level) -> None:
    """An argument, by the names on the way to it."""
    entry = next((config for config in profile.get("pluginConfig", ()) if config["name"] == plugin), None)
    if entry is None:
        raise UsageError(f"the profile has no arguments of {plugin}")
    section_, (*way, last) = entry["args"], field.split(".")
    for name in way:
        section_ = section_.setdefault(name, {})
        if not isinstance(section_, dict):
            raise UsageError(f"{plugin}: {name} of {field} is no object")
    section_[last] = level


def _weight(profile: dict[str, Any], plugin: str, weight: int) -> None:
    """A plugin's weight where it is enabled; with 0 it does not score."""
    plugins = profile["plugins"]
    weights = [
        ref for point in ("multiPoint", "score") for ref in plugins[point].get("enabled", ()) if ref["name"] == plugin
    ]
    if not weights:
        raise UsageError(f"the profile does not enable {plugin}")
    for ref in weights:
        ref["weight"] = weight
    if not weight:
        _take_out(plugins, "score", plugin)
        plugins["score"].setdefault("disabled", []).append({"name": plugin})


def _switch(profile: dict[str, Any], plugin: str, on: bool) -> None:
    plugins = profile["plugins"]
    if on:
        enabled = plugins["multiPoint"].setdefault("enabled", [])
        if not any(ref["name"] == plugin for point in plugins.values() for ref in point.get("enabled", ())):
            enabled.append({"name": plugin})
            kept = [ref for ref in plugins["multiPoint"].get("disabled", ()) if ref["name"] != plugin]
            plugins["multiPoint"]["disabled"] = kept
        return
    for point in plugins:
        _take_out(plugins, point, plugin)
    plugins["multiPoint"].setdefault("disabled", []).append({"name": plugin})


def _take_out(plugins: dict[str, Any], point: str, plugin: str) -> None:
    if "enabled" in plugins[point]:
        plugins[point]["enabled"] = [ref for ref in plugins[point]["enabled"] if ref["name"] != plugin]


class PolicyTask(msgspec.Struct, frozen=True):
    """A world of a sweep: the settings that differ from today's policy, on the cluster of this number."""

    snapshot: int
    settings: dict[str, Level]


class Probe(msgspec.Struct, frozen=True):
    """A pod of which as many as find room are placed after a run, the claims made for it, and where to stop."""

    asked: PodToSchedule
    claims: Sequence[object]
    limit: int


class SweepCluster(msgspec.Struct, frozen=True):
    """A cluster, and what is placed there by each policy: ``replayed`` pods first, then those the ground asks about.

    ``again`` expands manifests with updates, for each run anew. ``prices`` are those of nodes. ``today`` is where pods
    are by today's policy. ``autoscalers`` help in each run.
    """

    base: StudyBase
    replayed: ReplayedPods
    again: Callable[[], ExpandedManifests] | None
    probe: Probe | None
    prices: Mapping[str, float]
    most_pods: int
    today: Mapping[str, str] = {}
    autoscalers: Autoscalers | None = None


class SweepClusters(msgspec.Struct, frozen=True):
    """The base of all worlds of a sweep."""

    space: Space
    sites: Sequence[SweepCluster]


def try_policy(sites: SweepClusters, world: PolicyTask) -> Measures:
    """The measures of a policy. Raises KwhatifError for one that kube-scheduler would refuse."""
    site = sites.sites[world.snapshot]
    return measures_of(site, run_policy(site, sites.space, world.settings))


def run_policy(site: SweepCluster, space: Space, settings: Mapping[str, Level]) -> Run:
    """Replayed pods first, in the order they started; then the new ones, in the scheduler's order; then updates."""
    session = site.base.fork(apply_settings(site.base.scenario.setup, space, settings))
    with pods_to_make(site.most_pods):
        rollouts = site.again().rollouts if site.again is not None else []
        scenario = site.base.scenario
        return place_pods(
            session,
            scenario.pods_to_schedule,
            replayed=site.replayed.pods,
            rollouts=rollouts,
            unknown_kinds=scenario.unknown_kinds,
            scaler=None if site.autoscalers is None else site.autoscalers(),
        )


def measures_of(site: SweepCluster, run: Run) -> Measures:
    """The measures of a run. Afterwards the cluster may be full of probes."""
    measures = measure_run(run, site.today, site.prices)
    if site.probe is None:
        return measures
    with pods_to_make(site.most_pods):
        room = room_for(run.end, site.probe.asked, site.probe.claims, site.probe.limit)
    return msgspec.structs.replace(measures, probe_room=room)
