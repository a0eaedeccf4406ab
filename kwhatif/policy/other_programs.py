"""Known plugins without a counterpart here: whose configurations have them, and what they decide by, for messages.

Volcano and HAMi have none in a KubeSchedulerConfiguration: the one is a scheduler of its own, the other an extender.
"""

from __future__ import annotations

from collections.abc import Iterable

_KOORDINATOR = "configurations of Koordinator's scheduler; it decides by its reservations, quotas, devices and load"
_YUNIKORN = "configurations of Apache YuniKorn's scheduler; it holds pods back by its queues"
_SAMPLE = "scheduler-plugins, but not in the scheduler that it releases; it preempts on several nodes at once"
_FLUX = "configurations of flux-framework's Fluence; it has Flux choose the nodes of a group"
_NUMA = "configurations of openshift-kni's scheduler for NUMA resources; it writes a log and decides nothing"

_PROGRAMS = {
    **dict.fromkeys(("BatchResourceFit", "CompatibleDefaultPreemption", "DeviceShare", "ElasticQuota"), _KOORDINATOR),
    **dict.fromkeys(("LoadAwareScheduling", "NodeNUMAResource", "NodeResourcesFitPlus", "Reservation"), _KOORDINATOR),
    "ScarceResourceAvoidance": _KOORDINATOR,
    "YuniKornPlugin": _YUNIKORN,
    "CrossNodePreemption": _SAMPLE,
    "Fluence": _FLUX,
    "KNIDebug": _NUMA,
}


def describe_others(names: Iterable[str]) -> str:
    """``; YuniKornPlugin is in configurations of Apache YuniKorn's scheduler; ...`` for known plugins, else empty."""
    return "".join(f"; {name} is in {_PROGRAMS[name]}" for name in names if name in _PROGRAMS)
