"""Profiles as values: what a scheduler does, after defaults, ready to be compared, hashed and printed."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

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


@dataclass(frozen=True, slots=True)
class PluginRef:
    """A plugin at an extension point. ``weight`` counts only where plugins score; 0 means none was given."""

    name: str
    weight: int = 0

    def __str__(self) -> str:
        return f"{self.name}={self.weight}" if self.weight else self.name


@dataclass(frozen=True, slots=True)
class PluginSet:
    """One extension point: the enabled plugins in order, and the names switched off (``*`` for all)."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """One scheduler.

    ``plugins`` has an entry for every extension point, default plugins merged in but multiPoint not yet
    expanded (``expand.py``). ``args`` has an entry for every plugin that is enabled and has arguments: one of
    ``args.py``'s Structs for in-tree plugins, plain JSON for others; read it with ``args_of``.
    ``percentage_of_nodes_to_score`` is None when the configuration's own number applies.
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
        """The profile that schedules pods of this ``schedulerName``; None if nobody here does."""
        return next((p for p in self.profiles if p.scheduler_name == scheduler_name), None)

    def percentage_for(self, profile: Profile) -> int:
        """The percentage of nodes to score under a profile, its own or the common one."""
        own = profile.percentage_of_nodes_to_score
        return self.percentage_of_nodes_to_score if own is None else own
