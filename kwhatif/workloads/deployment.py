"""Deployment: its pods come through a replica set, which a paused one does not get.

Upstream: pkg/controller/deployment/sync.go (getNewReplicaSet).
"""

from __future__ import annotations

from kwhatif.admission.answer import Object
from kwhatif.workloads.making import Making
from kwhatif.workloads.naming import template_hash, within
from kwhatif.workloads.objects import copied, integer, name_of, namespace_of, owner_reference, scaled, section
from kwhatif.workloads.replica_set import make_replicas
from kwhatif.workloads.templates import HASH_LABEL

DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
REVISION = "deployment.kubernetes.io/revision"


def make_deployment(deployment: Object, making: Making) -> None:
    spec = section(deployment, "spec")
    if spec.get("paused"):
        return
    replicas = integer(spec.get("replicas"), 1)
    body = _replica_set(deployment, replicas)
    replica_set = making.controller(
        body, deployment, f'Failed to create new replica set "{name_of(body)}"', pods=replicas
    )
    if replica_set is not None:
        make_replicas(replica_set, making)


def replica_set_name(deployment: Object) -> str:
    """The name of the replica set that a deployment's template leads to."""
    return within(name_of(deployment), f"-{template_hash(section(deployment, 'spec', 'template'))}")


def hashed_template(template: Object, hash_: str) -> Object:
    """The template with the label that tells the replica sets of one deployment apart."""
    labels = {**section(template, "metadata", "labels"), HASH_LABEL: hash_}
    return {"metadata": section(template, "metadata") | {"labels": labels}, "spec": section(template, "spec")}


def surge_of(deployment: Object) -> int:
    """How many pods above its size a deployment may have during an update."""
    return fenceposts(deployment)[0]


def fenceposts(deployment: Object) -> tuple[int, int]:
    """How many pods more, and how many available ones fewer, an update may have.

    When both come out as zero, one may be unavailable, or nothing would ever move.
    Upstream: pkg/controller/deployment/util/deployment_util.go (ResolveFenceposts, MaxSurge, MaxUnavailable).
    """
    spec = section(deployment, "spec")
    strategy = section(spec, "strategy")
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return 0, 0
    replicas = integer(spec.get("replicas"), 1)
    limits = {"maxSurge": "25%", "maxUnavailable": "25%"} | section(strategy, "rollingUpdate")
    surge = scaled(limits["maxSurge"], replicas, up=True)
    unavailable = scaled(limits["maxUnavailable"], replicas, up=False)
    if surge == unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, replicas)


def _replica_set(deployment: Object, replicas: int) -> Object:
    spec = section(deployment, "spec")
    hash_ = template_hash(section(spec, "template"))
    template = copied(hashed_template(section(spec, "template"), hash_))
    selector = copied(section(spec, "selector"))
    selector["matchLabels"] = section(selector, "matchLabels") | {HASH_LABEL: hash_}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": replica_set_name(deployment),
            "namespace": namespace_of(deployment),
            "labels": dict(template["metadata"]["labels"]),
            "annotations": {
                DESIRED: str(replicas),
                MAXIMUM: str(replicas + surge_of(deployment)),
                REVISION: "1",
            },
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    }
