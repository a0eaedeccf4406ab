"""Plugins made up for tests of the runner: they do what they are told and write down that they were asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.interface import HOOKS, MAX_SCORE, Handle, Plugin, PostFilterResult, Scope
from kwhatif.framework.runner import Framework
from kwhatif.framework.status import Rejection, Status
from tests.builders import FEATURES, Json, profile_document

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


class Quiet(Plugin[None, None]):
    """Prefers nodes with few pods, the emptiest of those compared the most; refuses crowded ones."""

    name = "Quiet"
    filter_scope = Scope.ROW
    score_scope = Scope.ROW

    def filter(self, pod: PodInfo, nodes: NodeView, state: None) -> Iterator[Rejection]:
        yield Rejection(nodes.pod_count >= 12, "node(s) were too loud")

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        return nodes.pod_count

    def normalize(self, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
        return MAX_SCORE - scores * MAX_SCORE // max(int(scores.max()), 1)


def with_quiet(config: Json | None) -> Json:
    """The configuration with the plugin ``Quiet`` in its first profile."""
    document = deepcopy(config) or profile_document()
    profile = document["profiles"][0]
    profile["plugins"] = {"multiPoint": {"enabled": [{"name": "Quiet", "weight": 3}]}}
    return document


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
