"""The in-tree plugins, one file each, named as upstream names them; all that is known of a plugin is in its file.

Upstream: pkg/scheduler/framework/plugins/registry.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kwhatif.framework.declaration import Declaration

__all__ = ["PluginModules", "declared_in", "in_tree_plugins"]


@cache
def in_tree_plugins() -> Mapping[str, type[Declaration]]:
    """Name -> class, sorted, of all files beside this one. They are imported on first use."""
    return declared_in(__name__, __path__)


def declared_in(package: str, path: list[str]) -> Mapping[str, type[Declaration]]:
    """The plugins that the files of a package define, but not those of packages beneath it."""
    modules = [f"{package}.{module.name}" for module in iter_modules(path) if not module.ispkg]
    return dict(sorted(declared for module in modules for declared in _declared_by(module).items()))


class PluginModules(Mapping[str, type[Declaration]]):
    """The plugins of a package by name, each imported when it is looked up; iteration imports all.

    A file is named as its plugin, in lower case, with underscores anywhere: ``qos_sort`` is QOSSort's.
    """

    def __init__(self, package: str, path: list[str]) -> None:
        names = (module.name for module in iter_modules(path) if not module.ispkg)
        self._modules = {name.replace("_", ""): f"{package}.{name}" for name in names}

    def __getitem__(self, name: str) -> type[Declaration]:
        return _declared_by(self._modules[name.lower()])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(name for module in self._modules.values() for name in _declared_by(module)))

    def __len__(self) -> int:
        return len(self._modules)


@cache
def _declared_by(module: str) -> Mapping[str, type[Declaration]]:
    values = vars(import_module(module)).values()
    known = (one for one in values if isinstance(one, type) and issubclass(one, Declaration))
    return {one.name: one for one in known if one.__module__ == module and "name" in vars(one)}
