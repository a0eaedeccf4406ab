"""Plugins of legacy policies that newer kube-schedulers no longer have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kwhatif.framework.declaration import Declaration
from kwhatif.plugins import declared_in

__all__ = ["legacy_plugins"]


@cache
def legacy_plugins() -> Mapping[str, type[Declaration]]:
    """Name -> class."""
    return declared_in(__name__, __path__)
