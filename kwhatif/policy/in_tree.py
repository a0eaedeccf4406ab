"""The plugins of one kube-scheduler: which it has, what they extend, which are on by default.

Upstream: scheduler/apis/config/v1/default_plugins.go and the registry in scheduler/framework/plugins/registry.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from kwhatif.framework.declaration import Args, Declaration
from kwhatif.plugins import in_tree_plugins
from kwhatif.plugins.outoftree import out_of_tree_plugins
from kwhatif.policy.legacy_formats import legacy
from kwhatif.versions import Features


@dataclass(frozen=True, slots=True)
class InTreePlugins:
    """One minor with its gates: ``plugins`` by name, sorted, and the extension ``points`` that each of them has."""

    features: Features
    plugins: Mapping[str, type[Declaration]]
    points: Mapping[str, tuple[str, ...]]

    @property
    def default_plugins(self) -> tuple[tuple[str, int], ...]:
        """multiPoint's, in order, with weights (0: none is set)."""
        by_default = {name: plugin.by_default(self.features) for name, plugin in self.plugins.items()}
        placed = sorted((found.place, name, found.weight) for name, found in by_default.items() if found is not None)
        return tuple((name, weight) for _, name, weight in placed)

    @property
    def arguments(self) -> Mapping[str, type[Args]]:
        """The plugins that take arguments."""
        taken = {name: plugin.args_type(self.features) for name, plugin in self.plugins.items()}
        return {name: args for name, args in taken.items() if args is not None}

    @property
    def argument_kinds(self) -> Mapping[str, type[Args]]:
        """The kinds of arguments that documents may name, though the plugin may be of other minors."""
        every = {**in_tree_plugins(), **out_of_tree_plugins()}
        known = {name: plugin.args for name, plugin in every.items() if plugin.args is not None}
        return {f"{name}Args": args for name, args in {**known, **self.arguments}.items()}

    @property
    def unknown_fields(self) -> frozenset[tuple[str, str]]:
        """(Struct, field) pairs that only later minors know."""
        unknown = {
            (args.__name__, field)
            for name, args in self.arguments.items()
            for field in self.plugins[name].unknown_fields(self.features)
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
    every = {**out_of_tree_plugins(), **in_tree_plugins()}
    plugins = {name: plugin for name, plugin in sorted(every.items()) if plugin.exists(features)}
    points: Mapping[str, tuple[str, ...]] = {}
    if features.legacy_plugins:
        plugins = dict(sorted({**plugins, **legacy().plugins()}.items()))
        points = legacy().points
    return InTreePlugins(
        features, plugins, {name: points.get(name) or tuple(p.points(features)) for name, p in plugins.items()}
    )
