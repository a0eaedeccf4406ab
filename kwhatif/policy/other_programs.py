"""Plugins that have no counterpart here and are known by name: whose they are.

Volcano and HAMi have none in a KubeSchedulerConfiguration: the one is a scheduler of its own, the other an extender.
"""

from __future__ import annotations

from collections.abc import Iterable

_KOORDINATOR = "Koordinator, a scheduler of its own"
_YUNIKORN = "Apache YuniKorn, a scheduler of its own"
_SAMPLE = "scheduler-plugins, which does not have it in the scheduler that it releases"

_PROGRAMS = {
    **dict.fromkeys(("BatchResourceFit", "CompatibleDefaultPreemption", "DeviceShare", "ElasticQuota"), _KOORDINATOR),
    **dict.fromkeys(("LoadAwareScheduling", "NodeNUMAResource", "NodeResourcesFitPlus", "Reservation"), _KOORDINATOR),
    "ScarceResourceAvoidance": _KOORDINATOR,
    "YuniKornPlugin": _YUNIKORN,
    "CrossNodePreemption": _SAMPLE,
}


def whose(names: Iterable[str]) -> str:
    """``; YuniKornPlugin is of Apache YuniKorn``, of the plugins that are known; nothing if none is."""
    return "".join(f"; {name} is of {_PROGRAMS[name]}" for name in names if name in _PROGRAMS)
