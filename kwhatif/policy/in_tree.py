"""The registry of one kube-scheduler: its plugins, their extension points, and the default ones.

Plugins of scheduler-plugins are never default ones, and are looked up by name only, so that only those are imported
which a configuration names.

Upstream: scheduler/apis/config/v1/default_plugins.go and the registry in scheduler/framework/plugins/registry.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

import msgspec

from kwhatif.framework.declaration import Args, Declaration
from kwhatif.plugins import in_tree_plugins
from kwhatif.plugins.outoftree import out_of_tree_plugins
from kwhatif.policy.legacy_formats import legacy
from kwhatif.versions import Features

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PluginFacts(Mapping[str, T], Generic[T]):
    """What is known of each plugin, looked up by its name: of ``in_tree`` ones, and of ``others`` when asked for them.

    ``value_of`` takes a plugin's name and its class; None means that the plugin has no such thing.
    """

    in_tree: Mapping[str, type[Declaration]]
    others: Mapping[str, type[Declaration]]
    value_of: Callable[[str, type[Declaration]], T | None]

    def __getitem__(self, name: str) -> T:
        plugin = self.in_tree.get(name) or self.others[name]
        value = self.value_of(name, plugin)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        every = sorted({**self.others, **self.in_tree}.items())
        return (name for name, plugin in every if self.value_of(name, plugin) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class InTreePlugins(msgspec.Struct, frozen=True):
    """One minor with its gates: its own plugins by name, and the ``outside`` ones that a configuration may name."""

    features: Features
    own: Mapping[str, type[Declaration]]
    outside: Mapping[str, type[Declaration]]

    @property
    def plugins(self) -> Mapping[str, type[Declaration]]:
        """All of them by name."""
        return PluginFacts(self.own, self.outside, lambda name, plugin: plugin)

    @property
    def points(self) -> Mapping[str, tuple[str, ...]]:
        """The extension points of each."""
        special = legacy().points if self.features.legacy_plugins else {}
        return PluginFacts(
            self.own, self.outside, lambda name, plugin: special.get(name) or tuple(plugin.points(self.features))
        )

    @property
    def default_plugins(self) -> tuple[tuple[str, int], ...]:
        """multiPoint's, in order, with weights (0: none is set)."""
        by_default = {name: plugin.by_default(self.features) for name, plugin in self.own.items()}
        placed = sorted((place.place, name, place.weight) for name, place in by_default.items() if place is not None)
        return tuple((name, weight) for _, name, weight in placed)

    @property
    def arguments(self) -> Mapping[str, type[Args]]:
        """The plugins that take arguments."""
        return PluginFacts(self.own, self.outside, lambda name, plugin: plugin.args_type(self.features))

    def arguments_of_kind(self, kind: str) -> type[Args] | None:
        """The arguments that documents call so, though their plugin may be of other minors."""
        name = kind.removesuffix("Args")
        if name == kind:
            return None
        plugin = in_tree_plugins().get(name)
        return self.arguments.get(name) or (None if plugin is None else plugin.args)

    @property
    def unknown_fields(self) -> frozenset[tuple[str, str]]:
        """(Struct, field) pairs that only later minors know."""
        unknown = {
            (args.__name__, field)
            for plugin in self.own.values()
            if (args := plugin.args_type(self.features)) is not None
            for field in plugin.unknown_fields(self.features)
        }
        if not self.features.pod_group_placement:
            unknown |= {("Plugins", "placementGenerate"), ("Plugins", "placementScore")}
        if not self.features.multi_point:
            unknown |= {("Plugins", "multiPoint"), ("Plugins", "preEnqueue")}
        if not self.features.profiles_have_percentages:
            unknown.add(("KubeSchedulerProfile", "percentageOfNodesToScore"))
        return frozenset(unknown)

    @property
    def removed_plugins(self) -> frozenset[str]:
        """Plugins that configurations may no longer name."""
        return frozenset(name for name, plugin in in_tree_plugins().items() if plugin.is_removed(self.features))


@cache
def in_tree(features: Features) -> InTreePlugins:
    """The plugins under the rules of ``features``."""
    every = {**in_tree_plugins(), **(legacy().plugins() if features.legacy_plugins else {})}
    own = {name: plugin for name, plugin in sorted(every.items()) if plugin.exists(features)}
    return InTreePlugins(features, own, out_of_tree_plugins())
