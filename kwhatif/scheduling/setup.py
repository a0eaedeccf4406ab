"""From a profile's value to a running one: plugins are looked up, checked, and instantiated with their arguments.

Upstream: NewFramework in pkg/scheduler/framework/runtime/framework.go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from kwhatif.api.core import Pod
from kwhatif.errors import PluginError, PolicyError
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Handle, Plugin, WaitingPod, extension_points
from kwhatif.framework.runner import Framework
from kwhatif.policy.decoding import args_of_outside
from kwhatif.policy.in_tree import InTreePlugins, in_tree
from kwhatif.policy.other_programs import describe_others
from kwhatif.policy.profile import Profile as PolicyProfile
from kwhatif.policy.profile import SchedulerConfiguration, expand, without
from kwhatif.scheduling.pod_group_preemption import preempt_for_group
from kwhatif.scheduling.preemption import Preemption
from kwhatif.scheduling.profile import Profile
from kwhatif.versions import Features

if TYPE_CHECKING:
    from kwhatif.scheduling.extenders.extender_cycle import Extenders

PluginClass = type[Plugin[Any, Any]]


class Setup(msgspec.Struct, dict=True):
    """Everything but the cluster: rules, configuration, and plugins from outside the tree.

    ``skipped`` collects enabled plugins that are not available: with ``skip_unknown`` all, without it kube-scheduler's
    own; ``stand_ins`` says who sorts the queue or binds in their place, by extension point; ``used`` are the plugins of
    the profiles that were asked for. ``extenders`` are called, if there are any: they are those of the configuration.
    ``guessed_from`` is the kubelet's version by which the rules were chosen, if they were.
    """

    configuration: SchedulerConfiguration
    features: Features
    outside: Mapping[str, PluginClass] = {}
    skip_unknown: bool = False
    all_nodes: bool = False
    skipped: set[str] = set()
    stand_ins: dict[str, str] = {}
    used: set[str] = set()
    extenders: Extenders | None = None
    guessed_from: str | None = None

    @cached_property
    def _facts(self) -> InTreePlugins:
        return in_tree(self.features)

    def queues(self, pod: Pod) -> bool:
        """Whether a pod without a node is in the queue: of one of the profiles, and not gated."""
        known = self.configuration.profile_for(pod.spec.scheduler_name or "default-scheduler")
        return known is not None and not pod.spec.scheduling_gates

    def profile(self, profile: PolicyProfile) -> Profile:
        """Plugins of one profile, instantiated. Raises PolicyError."""
        waiting: dict[str, WaitingPod] = {}
        preempt = Preemption(self.extenders)
        missing = self._missing_plugins(profile)
        own = (name for name, _ in self._facts.default_plugins)
        profile, stand_ins = without(profile, missing, self._points, own)
        self.skipped |= missing
        self.stand_ins |= stand_ins
        expanded = expand(profile, self._points)
        weights = {ref.name: ref.weight for ref in expanded["score"]}
        of_placements = {ref.name: ref.weight for ref in expanded.get("placementScore", ())}
        instances: dict[str, Plugin[Any, Any]] = {}
        for refs in expanded.values():
            for ref in refs:
                known = self._class(ref.name)
                if known is None or ref.name in instances:
                    continue
                args = profile.args_of(ref.name)
                if known.args_type(self.features) is not None and not isinstance(args, Args):
                    args = args_of_outside(known, args, self.features)
                handle = Handle(self.features, {} if args is None else args, preempt, waiting)
                handle.preempt_for_group = preempt_for_group
                handle.profiles = tuple(other.scheduler_name for other in self.configuration.profiles)
                instances[ref.name] = _create(known, handle)
        self.used |= instances.keys()
        plugins = {
            point: [instances[ref.name] for ref in refs if ref.name in instances] for point, refs in expanded.items()
        }
        percentage = 100 if self.all_nodes else self.configuration.percentage_for(profile)
        everything = self.configuration.all_filters
        framework = Framework(
            profile.scheduler_name, plugins, weights, all_filters=everything, placement_weights=of_placements
        )
        return Profile(framework, percentage, waiting, self.extenders, preempt)

    def reads(self, kind: str) -> bool:
        """Whether a plugin of any profile depends on objects of a kind besides Node and Pod."""
        enabled = {
            ref.name
            for profile in self.configuration.profiles
            for plugins in profile.plugins.values()
            for ref in plugins.enabled
        }
        classes = [self._class(name) for name in enabled]
        return any(known is not None and kind in known.dependencies for known in classes)

    def _class(self, name: str) -> PluginClass | None:
        if name in self.outside or name not in self._facts.points:
            return self.outside.get(name)
        known = self._facts.plugins[name]
        return known if issubclass(known, Plugin) and known.is_modelled(self.features) else None

    def _points(self, name: str) -> Collection[str] | None:
        known = self.outside.get(name)
        return self._facts.points.get(name) if known is None else extension_points(known)

    def _missing_plugins(self, profile: PolicyProfile) -> set[str]:
        """The enabled plugins that are not available, if the run may go on without them. Raises PolicyError."""
        enabled = {ref.name for plugins in profile.plugins.values() for ref in plugins.enabled}
        missing = {name for name in enabled if self._class(name) is None}
        # kube-scheduler's own plugins that are not modelled here are those for pod groups of 1.35.
        unknown = sorted(missing - self._facts.points.keys())
        if unknown and not self.skip_unknown:
            one = len(unknown) == 1
            raise PolicyError(
                f"plugin{'' if one else 's'} {', '.join(unknown)} {'is' if one else 'are'} enabled, but no plugin "
                f"provides {'it' if one else 'them'}: name {'it' if one else 'them'} with --plugin, or go on without "
                f"{'it' if one else 'them'} with --skip-unknown-plugins{describe_others(unknown)}"
            )
        return missing


def _create(class_: PluginClass, handle: Handle) -> Plugin[Any, Any]:
    try:
        return class_(handle)
    except (PolicyError, PluginError):
        raise
    except Exception as error:
        raise PluginError(class_.name, "__init__", f"{type(error).__name__}: {error}") from error
