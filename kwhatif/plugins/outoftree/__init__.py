"""Counterparts of the plugins of kubernetes-sigs/scheduler-plugins, one file each, found by being there.

They are on only where a configuration names them. Upstream: cmd/scheduler/main.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kwhatif.framework.declaration import Declaration
from kwhatif.plugins import PluginModules

__all__ = ["out_of_tree_plugins"]


@cache
def out_of_tree_plugins() -> Mapping[str, type[Declaration]]:
    """Name -> class, of all files beside this one. A file is imported when its plugin is looked up."""
    return PluginModules(__name__, __path__)
