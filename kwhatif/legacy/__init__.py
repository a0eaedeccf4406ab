"""Kubernetes 1.22: formats of configurations, default plugins and plugins that no later minor has.

Nothing imports this room. ``ROOM`` is what ``kwhatif.policy.legacy_formats.legacy`` returns.
"""

from __future__ import annotations

from kwhatif.legacy.formats import POINTS, default_plugins, read_legacy
from kwhatif.legacy.plugins import legacy_plugins
from kwhatif.legacy.translation import translate_configuration
from kwhatif.policy.legacy_formats import Legacy

__all__ = ["ROOM"]


ROOM = Legacy(
    read=read_legacy,
    points=POINTS,
    default_plugins=default_plugins,
    translate_configuration=translate_configuration,
    plugins=legacy_plugins,
)
