"""Profiles as values, after defaults, which can be compared, hashed and printed; and their plugins by extension point,
in order and with weights.

Upstream: NewFramework, updatePluginList, expandMultiPointPlugins and getValidScoreWeights in
scheduler/framework/runtime/framework.go, and profile.NewMap; the errors are theirs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from kwhatif.errors import PolicyError
from kwhatif.golang.formatting import go_quote, one_line
from kwhatif.policy.structs import (
    EXTENSION_POINTS,
    MULTI_POINT,
    ClientConnectionConfiguration,
    Extender,
    LeaderElectionConfiguration,
)

__all__ = [
    "EXTENSION_POINTS",
    "MULTI_POINT",
    "FrozenMap",
    "PluginRef",
    "PluginSet",
    "Profile",
    "SchedulerConfiguration",
]

V = TypeVar("V")


class FrozenMap(Mapping[str, V], Generic[V]):
    """A mapping that stays as it is; equal ones hash alike, whatever their values."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenMap) and self._items == other._items

    def __hash__(self) -> int:
        # Names only: arguments may hold lists, and equality tells the rest apart.
        return hash(frozenset(self._items))

    def __repr__(self) -> str:
        return repr(self._items)


class PluginRef(msgspec.Struct, frozen=True):
    """A plugin at an extension point. ``weight`` counts only where plugins score; 0 means none was given."""

    name: str
    weight: int = 0

    def __str__(self) -> str:
        return f"{self.name}={self.weight}" if self.weight else self.name


class PluginSet(msgspec.Struct, frozen=True):
    """One extension point: the enabled plugins in order, and the names switched off (``*`` for all)."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[str, ...] = ()


class Profile(msgspec.Struct, frozen=True):
    """One scheduler.

    ``plugins`` has an entry for every extension point, default plugins merged in but multiPoint not yet expanded
    (``expand``). ``args`` has an entry for every plugin that is enabled and has arguments: a Struct for in-tree
    plugins, plain JSON for others; read it with ``args_of``. ``percentage_of_nodes_to_score`` is None when the
    configuration's own number applies.
    """

    scheduler_name: str
    plugins: FrozenMap[PluginSet]
    args: FrozenMap[Any]
    percentage_of_nodes_to_score: int | None = None

    def args_of(self, name: str) -> Any:
        """The arguments of a plugin, None if it has none; plain JSON comes as a copy."""
        args = self.args.get(name)
        return copy.deepcopy(args) if isinstance(args, dict | list) else args

    def __str__(self) -> str:
        parts = []
        for point, plugins in self.plugins.items():
            shown = [*map(str, plugins.enabled), *(f"-{name}" for name in plugins.disabled)]
            if shown:
                parts.append(f"{point}: {', '.join(shown)}")
        return f"{self.scheduler_name} ({'; '.join(parts)})"


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration:
    """A whole KubeSchedulerConfiguration, completed and accepted.

    Only ``profiles``, ``percentage_of_nodes_to_score`` (0: by cluster size) and the backoffs matter to
    decisions; the rest is kept to be printed. ``all_filters`` is a Policy's ``alwaysCheckAllPredicates``, which no
    configuration can say. It is printed in the format ``api_version``. ``warnings`` are sentences for a reader
    and take no part in comparisons, as do the parts of an old format that got ``lost`` on the way here.
    """

    profiles: tuple[Profile, ...]
    percentage_of_nodes_to_score: int = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    extenders: tuple[Extender, ...] = ()
    parallelism: int = 16
    leader_election: LeaderElectionConfiguration = field(default_factory=LeaderElectionConfiguration)
    client_connection: ClientConnectionConfiguration = field(default_factory=ClientConnectionConfiguration)
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    delay_cache_until_active: bool = False
    all_filters: bool = False
    api_version: str = field(default="v1", compare=False)
    lost: tuple[str, ...] = field(default=(), compare=False)
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def profile_for(self, scheduler_name: str | None) -> Profile | None:
        """The profile that schedules pods of this ``schedulerName``; None if there is none."""
        return next((p for p in self.profiles if p.scheduler_name == scheduler_name), None)

    def percentage_for(self, profile: Profile) -> int:
        """The percentage of nodes to score under a profile, its own or the common one."""
        own = profile.percentage_of_nodes_to_score
        return self.percentage_of_nodes_to_score if own is None else own


# What a plugin has: its extension points; None (or a LookupError) when the plugin is not installed.
Implements = Callable[[str], Collection[str] | None]
Expanded = dict[str, tuple[PluginRef, ...]]

# The order in which upstream looks at extension points, which decides what error is met first.
_INTERFACES = {
    "preFilter": "PreFilterPlugin",
    "filter": "FilterPlugin",
    "postFilter": "PostFilterPlugin",
    "reserve": "ReservePlugin",
    "preScore": "PreScorePlugin",
    "score": "ScorePlugin",
    "preBind": "PreBindPlugin",
    "bind": "BindPlugin",
    "postBind": "PostBindPlugin",
    "permit": "PermitPlugin",
    "preEnqueue": "PreEnqueuePlugin",
    "queueSort": "QueueSortPlugin",
    "placementGenerate": "PlacementGeneratePlugin",
    "placementScore": "PlacementScorePlugin",
}
_MAX_NODE_SCORE = 100
_MAX_TOTAL_SCORE = 2**63 - 1


class _RefusedError(Exception):
    """An upstream error, before it is said of which profile."""


def expand(profile: Profile, implements: Implements) -> Expanded:
    """The plugins of every extension point but multiPoint, in running order.

    ``implements(name)`` names the extension points of a plugin. Weights are set at ``score`` and
    ``placementScore``, where 0 becomes 1, and are 0 elsewhere. Raises PolicyError as kube-scheduler would
    refuse to start.
    """
    try:
        return _expand(profile, implements)
    except _RefusedError as refused:
        name = one_line(profile.scheduler_name)
        raise PolicyError(f"initializing profiles: creating profile for scheduler name {name}: {refused}") from None


def without(
    profile: Profile, names: Collection[str], implements: Implements, own: Iterable[str]
) -> tuple[Profile, dict[str, str]]:
    """The profile without the plugins of these ``names``, and those that replace them, by extension point.

    A profile needs a queue sort and a bind plugin: where none is left, the first one of ``own`` (the default plugins)
    that has the extension point is enabled.
    """
    plugins = {
        point: PluginSet(tuple(ref for ref in plugin_set.enabled if ref.name not in names), plugin_set.disabled)
        for point, plugin_set in profile.plugins.items()
    }
    args = {name: arguments for name, arguments in profile.args.items() if name not in names}
    rest = replace(profile, plugins=FrozenMap(plugins), args=FrozenMap(args))
    known = {ref.name: _points_of(ref.name, implements) for plugin in plugins.values() for ref in plugin.enabled}
    stand_ins = {}
    for point in ("queueSort", "bind") if names else ():
        if not _merge_multi_point(rest, point, [ref.name for ref in plugins[point].enabled], known):
            stand_ins[point] = next(name for name in own if point in (implements(name) or ()))
            plugins[point] = replace(plugins[point], enabled=(PluginRef(stand_ins[point]),))
    return replace(rest, plugins=FrozenMap(plugins)), stand_ins


def expand_all(configuration: SchedulerConfiguration, implements: Implements) -> dict[str, Expanded]:
    """``expand`` for every profile, by scheduler name; also checks that all sort their common queue alike."""
    expanded = {profile.scheduler_name: expand(profile, implements) for profile in configuration.profiles}
    first, *others = configuration.profiles
    canon = expanded[first.scheduler_name]["queueSort"][0].name
    for profile in others:
        sorter = expanded[profile.scheduler_name]["queueSort"][0].name
        of_profile = f"for profile {go_quote(profile.scheduler_name)}"
        if sorter != canon:
            names = f"{go_quote(sorter)}, first: {go_quote(canon)}"
            raise PolicyError(f"initializing profiles: different queue sort plugins {of_profile}: {names}")
        if profile.args.get(sorter) != first.args.get(canon):
            raise PolicyError(f"initializing profiles: different queue sort plugin args {of_profile}")
    return expanded


def _expand(profile: Profile, implements: Implements) -> Expanded:
    known = {}
    for plugins in profile.plugins.values():
        for ref in plugins.enabled:
            if ref.name not in known:
                known[ref.name] = _points_of(ref.name, implements)
    points = [point for point in _INTERFACES if point in profile.plugins]
    registered = {point: _list_enabled(profile, point, known) for point in points}
    names = {point: _merge_multi_point(profile, point, registered[point], known) for point in points}
    _check_counts(profile.scheduler_name, names)
    expanded = {}
    for point in profile.plugins:
        if point == MULTI_POINT:
            continue
        weights = _weights(profile, point, known) if point in ("score", "placementScore") else {}
        expanded[point] = tuple(PluginRef(name, weights.get(name, 0)) for name in names[point])
    return expanded


def _points_of(name: str, implements: Implements) -> Collection[str] | None:
    try:
        return implements(name)
    except LookupError:
        return None


_Known = dict[str, Collection[str] | None]


def _has(name: str, point: str, plugins_of: _Known) -> bool:
    """Whether a plugin extends a point. Raises when the plugin is not installed."""
    points = plugins_of[name]
    if points is None:
        raise _RefusedError(f"{_INTERFACES[point]} {go_quote(name)} does not exist")
    return point in points


def _list_enabled(profile: Profile, point: str, plugins_of: _Known) -> list[str]:
    """The plugins enabled at the point itself."""
    names: list[str] = []
    for ref in profile.plugins[point].enabled:
        if not _has(ref.name, point, plugins_of):
            raise _RefusedError(f"plugin {go_quote(ref.name)} does not extend {_INTERFACES[point]} plugin")
        if ref.name in names:
            raise _twice(ref.name, point)
        names.append(ref.name)
    return names


def _multi_point(profile: Profile) -> tuple[PluginRef, ...]:
    """What is enabled for all points at once; older minors do not have that."""
    plugin = profile.plugins.get(MULTI_POINT)
    return plugin.enabled if plugin is not None else ()


def _twice(name: str, point: str) -> _RefusedError:
    return _RefusedError(f'plugin {go_quote(name)} already registered as "{_INTERFACES[point]}"')


def _merge_multi_point(profile: Profile, point: str, own: list[str], plugins_of: _Known) -> list[str]:
    """A point's own plugins with multiPoint's: those in both, then multiPoint's, then the other own ones."""
    disabled = profile.plugins[point].disabled
    multi_point = _multi_point(profile)
    if "*" in disabled or not multi_point:
        return own
    both, added = set(), []
    for ref in multi_point:
        if not _has(ref.name, point, plugins_of) or ref.name in disabled:
            continue
        if ref.name in own:
            both.add(ref.name)
        elif ref.name in added:
            raise _twice(ref.name, point)
        else:
            added.append(ref.name)
    return [*(n for n in own if n in both), *added, *(n for n in own if n not in both)]


def _check_counts(scheduler_name: str, names: dict[str, list[str]]) -> None:
    profile = f"profile with scheduler name {go_quote(scheduler_name)}"
    sorters = len(names["queueSort"])
    if sorters != 1:
        raise _RefusedError(f"only one queue sort plugin required for {profile}, but got {sorters}")
    if not names["bind"]:
        raise _RefusedError(f"at least one bind plugin is needed for {profile}")
    if len(names.get("placementGenerate", ())) > 1:
        raise _RefusedError(f"at most one placement generate plugin is allowed for {profile}")


def _weights(profile: Profile, point: str, plugins_of: _Known) -> dict[str, int]:
    """The weight of each plugin that scores: the point's own, else multiPoint's; zero becomes one."""
    refs: Iterable[PluginRef] = (*profile.plugins[point].enabled, *_multi_point(profile))
    weights: dict[str, int] = {}
    total = 0
    for ref in refs:
        if ref.name in weights or not _has(ref.name, point, plugins_of):
            continue
        weights[ref.name] = ref.weight or 1
        scaled = weights[ref.name] * _MAX_NODE_SCORE
        if scaled > _MAX_TOTAL_SCORE - total:
            kind = "score plugins" if point == "score" else "placement score plugins"
            # Before nodes' groups had scores, there was no need to tell them apart.
            which = f"{kind}: " if "placementScore" in profile.plugins else ""
            raise _RefusedError(f"{which}total score of Score plugins could overflow")
        total += scaled
    return weights
