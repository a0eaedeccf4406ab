"""Plugins from outside the tree: over columns as in-tree ones, or per node, through an adapter.

A class is named as ``package.module:Class`` (a file path works in place of the package) or announced by the entry-point
group ``kwhatif.plugins``. Its hooks are checked at registration.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.errors import PluginError, UsageError
from kwhatif.framework.arithmetic import default_normalize
from kwhatif.framework.interface import HOOKS, Handle, Plugin, extension_points
from kwhatif.framework.status import Rejection, Status

GROUP = "kwhatif.plugins"
_PER_NODE = {"filter_node": ("pod", "node"), "score_node": ("pod", "node"), "pre_bind": ("pod", "node")}

PluginClass = type[Plugin[Any, Any]]


def load_outside(plugins: Iterable[str | PluginClass]) -> dict[str, PluginClass]:
    """Plugin name -> class, of all entry points and of the classes given or named. Raises UsageError or PluginError."""
    classes: dict[str, PluginClass] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        _register(classes, _load_guarded(entry.load, f"entry point {entry.name}"), f"entry point {entry.name}")
    for plugin in plugins:
        known, where = (_find(plugin), plugin) if isinstance(plugin, str) else (plugin, repr(plugin))
        _register(classes, known, where)
    return classes


def _find(name: str) -> object:
    module_name, colon, class_name = name.rpartition(":")
    if not colon or not module_name or not class_name:
        raise UsageError(f"--plugin {name}: expected package.module:Class or path/to/file.py:Class")
    module = _load_guarded(lambda: _module(module_name), f"--plugin {name}")
    if not hasattr(module, class_name):
        raise UsageError(f"--plugin {name}: {module_name} has no {class_name}")
    return getattr(module, class_name)


def _module(name: str) -> ModuleType:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name)
    if not os.path.isfile(name):
        raise UsageError(f"{name} is no file")
    unique = f"kwhatif_outside_{abs(hash(str(path.resolve())))}_{path.stem}"
    spec = importlib.util.spec_from_file_location(unique, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module
    spec.loader.exec_module(module)
    return module


def _load_guarded(load: Callable[[], Any], what: str) -> Any:
    try:
        return load()
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from None
    except Exception as error:
        raise UsageError(f"{what}: {type(error).__name__}: {error}") from error


def _register(classes: dict[str, PluginClass], candidate: object, where: str) -> None:
    if not isinstance(candidate, type):
        raise UsageError(f"{where}: expected a class, found {candidate!r}")
    name = getattr(candidate, "name", None)
    if not isinstance(name, str) or not name:
        raise UsageError(f"{where}: class {candidate.__name__} has no name (a class attribute, as policies spell it)")
    if name in classes:
        raise UsageError(f"{where}: plugin {name} is given twice")
    plugin = candidate if issubclass(candidate, Plugin) else _adapt_class(candidate)
    _check(plugin, candidate)
    classes[name] = plugin


def _check(plugin: PluginClass, plugin_class: type) -> None:
    if not extension_points(plugin):
        hooks = ", ".join(dict.fromkeys([*HOOKS.values(), *_PER_NODE]))
        raise PluginError(plugin.name, "registration", f"implements none of the hooks {hooks}")
    expected: Mapping[str, tuple[str, ...]] = (
        {hook: tuple(inspect.signature(getattr(Plugin, hook)).parameters)[1:] for hook in HOOKS.values()}
        if plugin_class is plugin
        else _PER_NODE
    )
    for hook, arguments in expected.items():
        method = plugin_class.__dict__.get(hook) or getattr(plugin_class, hook, None)
        if method is None or method is getattr(Plugin, hook, None):
            continue
        parameters = list(inspect.signature(method).parameters.values())[1:]
        required = [
            p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        takes_any = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(required) > len(arguments) or (len(positional) < len(arguments) and not takes_any):
            names = ", ".join(p.name for p in parameters)
            raise PluginError(plugin.name, "registration", f"{hook}({names}) should take ({', '.join(arguments)})")


def _adapt_class(plugin_class: type) -> PluginClass:
    """A plugin over columns around a class that looks at one pod and one node at a time."""
    hooks: dict[str, object] = {"name": getattr(plugin_class, "name"), "given": plugin_class}  # noqa: B009
    if hasattr(plugin_class, "filter_node"):
        hooks["filter"] = _filter
    if hasattr(plugin_class, "score_node"):
        hooks["score"] = _score
        if not getattr(plugin_class, "normalized", False):
            hooks["normalize"] = _normalize
    if hasattr(plugin_class, "pre_bind"):
        hooks["pre_bind"] = _pre_bind
    return type(plugin_class.__name__, (_PerNode,), hooks)


class _PerNode(Plugin[None, None]):
    """The adapter: calls its ``inner`` object node by node."""

    name = ""
    given: ClassVar[type]

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        takes_args = len(inspect.signature(self.given).parameters) > 0
        self.inner = self.given(handle.args) if takes_args else self.given()


def _filter(self: _PerNode, pod: PodInfo, nodes: NodeView, state: None) -> Iterator[Rejection]:
    places: dict[str, list[int]] = {}
    for place in range(nodes.size):
        reason = self.inner.filter_node(pod.pod, nodes.columns.nodes[nodes.row(place)])
        if reason:
            places.setdefault(str(reason), []).append(place)
    for reason, rows in places.items():
        where = np.zeros(nodes.size, np.bool_)
        where[rows] = True
        yield Rejection(where, reason)


def _score(self: _PerNode, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
    scores = (int(self.inner.score_node(pod.pod, nodes.columns.nodes[nodes.row(place)])) for place in range(nodes.size))
    return np.fromiter(scores, np.int64, nodes.size)


def _normalize(self: _PerNode, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
    return default_normalize(scores, reverse=False)


def _pre_bind(self: _PerNode, pod: PodInfo, node: str, state: None) -> Status | None:
    answer = self.inner.pre_bind(pod.pod, node)
    return Status.unschedulable(str(answer)) if answer else None
