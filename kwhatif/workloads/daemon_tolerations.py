"""The tolerations that a daemon set's pods are given, so that trouble with their node does not drive them away.

Upstream: pkg/controller/daemon/util/daemonset_util.go (AddOrUpdateDaemonPodTolerations).
"""

from __future__ import annotations

from kwhatif.admission.answer import Object

_ALWAYS = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
_ON_HOST_NETWORK = (("network-unavailable", "NoSchedule"),)


def with_daemon_tolerations(spec: Object) -> list[Object]:
    """The tolerations of a pod spec and the added ones; one of the same key, effect and operator is replaced."""
    tolerations = [dict(toleration) for toleration in spec.get("tolerations") or ()]
    for key, effect in _ALWAYS + (_ON_HOST_NETWORK if spec.get("hostNetwork") else ()):
        added = {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
        for place, toleration in enumerate(tolerations):
            if _matching(toleration, added):
                tolerations[place] = added
                break
        else:
            tolerations.append(added)
    return tolerations


def _matching(one: Object, other: Object) -> bool:
    return all((one.get(key) or "") == (other.get(key) or "") for key in ("key", "operator", "effect", "value"))
