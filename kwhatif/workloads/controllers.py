"""From an object that the API server took to the pods that its controllers make of it."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.admission.answer import Object
from kwhatif.api.kinds import GROUPS, TEMPLATES
from kwhatif.workloads.cron_job import make_cron_job
from kwhatif.workloads.custom import TemplatePath, make_custom
from kwhatif.workloads.daemon_set import make_daemon_set
from kwhatif.workloads.deployment import make_deployment
from kwhatif.workloads.job import make_job
from kwhatif.workloads.making import Failed, Made, Making, Server
from kwhatif.workloads.objects import group_of
from kwhatif.workloads.replica_set import make_replicas
from kwhatif.workloads.stateful_set import make_stateful_set

__all__ = ["WORKLOADS", "Failed", "Made", "Server", "TemplatePath", "makes_pods", "reconcile"]

_SIMPLE = {
    ("apps", "Deployment"): make_deployment,
    ("apps", "ReplicaSet"): make_replicas,
    ("", "ReplicationController"): make_replicas,
    ("batch", "Job"): make_job,
    ("batch", "CronJob"): make_cron_job,
}

WORKLOADS = frozenset((GROUPS[kind], kind) for kind in ("Pod", *TEMPLATES))
"""Group and kind of what becomes pods."""


def makes_pods(obj: Object, templates: Sequence[TemplatePath] = ()) -> bool:
    """Whether anything here makes pods of such an object."""
    return (group_of(obj), obj.get("kind")) in WORKLOADS or any(path.fits(obj) for path in templates)


def reconcile(
    server: Server,
    obj: Object,
    nodes: Sequence[Object],
    *,
    ready: bool = True,
    templates: Sequence[TemplatePath] = (),
) -> Made:
    """What the controllers make of an object as the API server stored it.

    ``nodes`` are those that daemon sets may want. With ``ready`` the pods of a StatefulSet become ready, so that
    each next one is made; without, an ordered one stops at its first. Of other kinds nothing is made.
    """
    making = Making(server)
    kind = (group_of(obj), str(obj.get("kind")))
    if kind == ("", "Pod"):
        making.keep(obj)
    elif kind in _SIMPLE:
        _SIMPLE[kind](obj, making)
    elif kind == ("apps", "StatefulSet"):
        make_stateful_set(obj, making, ready=ready)
    elif kind == ("apps", "DaemonSet"):
        make_daemon_set(obj, nodes, making)
    else:
        for where in templates:
            if where.fits(obj):
                make_custom(obj, where, making)
                break
    return making.made()
