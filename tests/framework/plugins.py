"""Plugins made up for tests of the runner: they do what they are told and write down that they were asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kwhatif.framework.interface import HOOKS, Handle, Plugin, PostFilterResult, Scope
from kwhatif.framework.runner import Framework
from kwhatif.framework.status import Status
from tests.builders import FEATURES

AnyPlugin = Plugin[Any, Any]
Hook = Callable[..., Any]


def made_up(name: str, *, scope: Scope = Scope.CLUSTER, **hooks: Hook) -> type[AnyPlugin]:
    """A plugin class whose hooks are these functions, called without ``self``."""

    def method(function: Hook) -> Hook:
        return lambda self, *arguments: function(*arguments)

    members: dict[str, Any] = {hook: method(function) for hook, function in hooks.items()}
    return type(name, (Plugin,), {"name": name, "filter_scope": scope, "score_scope": scope, **members})


def create(plugin: type[AnyPlugin]) -> AnyPlugin:
    def nobody(*_: object) -> PostFilterResult:
        return PostFilterResult(Status.unschedulable("nobody to preempt"))

    return plugin(Handle(FEATURES, {}, nobody))


def framework_of(
    plugins: Sequence[type[AnyPlugin]],
    weights: Mapping[str, int] | None = None,
    *,
    points: Mapping[str, Sequence[str]] | None = None,
) -> Framework:
    """A framework that has each plugin at each of its extension points; ``points`` gives another order there."""
    instances = {plugin.name: create(plugin) for plugin in plugins}
    everywhere = {point: list(instances.values()) for point in HOOKS}
    for point, names in (points or {}).items():
        everywhere[point] = [instances[name] for name in names]
    return Framework("test", everywhere, dict.fromkeys(instances, 1) | dict(weights or {}))


class Diary:
    """What was asked of whom, in order."""

    def __init__(self) -> None:
        self.entries: list[str] = []

    def __call__(self, entry: str, answer: Any = None) -> Hook:
        """A hook that writes ``entry`` down and answers."""

        def hook(*_: object) -> Any:
            self.entries.append(entry)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return hook
