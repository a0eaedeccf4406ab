"""Kubernetes 1.22: the formats of configurations, default plugins and plugins that no later minor has.

Nothing imports this room. ``ROOM`` is what ``kwhatif.policy.older.legacy`` hands to those who ask for it.
"""

from __future__ import annotations

from kwhatif.legacy.formats import read_legacy
from kwhatif.legacy.plugin_facts import POINTS, default_plugins
from kwhatif.legacy.plugins import legacy_plugins
from kwhatif.legacy.translation import translated
from kwhatif.policy.older import Legacy

__all__ = ["ROOM"]


ROOM = Legacy(
    read=read_legacy, points=POINTS, default_plugins=default_plugins, translated=translated, plugins=legacy_plugins
)
