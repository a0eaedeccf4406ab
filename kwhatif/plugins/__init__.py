"""The in-tree plugins, one file each, named as upstream names them; all that is known of a plugin is in its file.

Upstream: pkg/scheduler/framework/plugins/registry.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kwhatif.framework.declaration import Declaration

__all__ = ["declared_in", "in_tree_plugins"]


@cache
def in_tree_plugins() -> Mapping[str, type[Declaration]]:
    """Name -> class, sorted, of all files beside this one. They are imported when somebody asks."""
    return declared_in(__name__, __path__)


def declared_in(package: str, path: list[str]) -> Mapping[str, type[Declaration]]:
    """The plugins that the files of a package define, but not those of packages beneath it."""
    found: dict[str, type[Declaration]] = {}
    for each in iter_modules(path):
        module = import_module(f"{package}.{each.name}")
        if not each.ispkg:
            known = (one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Declaration))
            found |= {one.name: one for one in known if one.__module__ == module.__name__ and "name" in vars(one)}
    return dict(sorted(found.items()))
