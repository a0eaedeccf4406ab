"""Known plugins without a counterpart here, with the program that has them, for error messages.

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
    """``; YuniKornPlugin is of Apache YuniKorn`` for known plugins, else an empty text."""
    return "".join(f"; {name} is of {_PROGRAMS[name]}" for name in names if name in _PROGRAMS)
