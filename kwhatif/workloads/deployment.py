"""Deployment: its replica sets, new and stored, and the limits of its updates. A paused one makes no replica set.

The stored replica sets are taken from the snapshot if it has them in full; otherwise they are inferred from the pods.
Upstream: pkg/controller/deployment/sync.go (getNewReplicaSet).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kwhatif.admission.response import Object
from kwhatif.api.objects import part_of, section
from kwhatif.golang.parsing import parse_int
from kwhatif.workloads.object_creation import ObjectCreator, template_hash, template_of, truncate_name
from kwhatif.workloads.objects import (
    HASH_LABEL,
    annotations_of,
    controller_of,
    deep_copy_json,
    get_scaled_value,
    integer,
    is_over,
    labels_of,
    matches_template,
    name_of,
    namespace_of,
    owner_reference,
    same_template,
)
from kwhatif.workloads.replica_set import make_replicas
from kwhatif.workloads.rollout_members import RolloutPod
from kwhatif.workloads.rollout_state import member_of

DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
REVISION = "deployment.kubernetes.io/revision"


def make_deployment(deployment: Object, making: ObjectCreator) -> None:
    spec = section(deployment, "spec")
    if spec.get("paused"):
        return
    replicas = integer(spec.get("replicas"), 1)
    body = _replica_set(deployment, replicas)
    collisions = 0
    while making.server.world.get("ReplicaSet", namespace_of(body), name_of(body)) is not None:
        # Another deployment of this name has left it: the hash is worked out anew, with the number of collisions.
        collisions += 1
        body = _replica_set(deployment, replicas, collisions)
    replica_set = making.controller(
        body, deployment, f'Failed to create new replica set "{name_of(body)}"', pods=replicas
    )
    if replica_set is not None:
        make_replicas(replica_set, making)


def replica_set_name(deployment: Object, collisions: int = 0) -> str:
    """The name of the replica set for a deployment's template."""
    hash_ = template_hash(section(deployment, "spec", "template"), collisions)
    return truncate_name(name_of(deployment), f"-{hash_}")


def template_with_hash(template: Object, hash_: str) -> Object:
    """The template with the label pod-template-hash."""
    labels = {**section(template, "metadata", "labels"), HASH_LABEL: hash_}
    return {"metadata": section(template, "metadata") | {"labels": labels}, "spec": section(template, "spec")}


def surge_of(deployment: Object) -> int:
    """How many pods above its size a deployment may have during an update."""
    return resolve_fenceposts(deployment)[0]


def resolve_fenceposts(deployment: Object) -> tuple[int, int]:
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
    surge = get_scaled_value(limits["maxSurge"], replicas, up=True)
    unavailable = get_scaled_value(limits["maxUnavailable"], replicas, up=False)
    if surge == unavailable == 0:
        unavailable = 1
    return surge, min(unavailable, replicas)


def _replica_set(deployment: Object, replicas: int, collisions: int = 0) -> Object:
    spec = section(deployment, "spec")
    hash_ = template_hash(section(spec, "template"), collisions)
    template = deep_copy_json(template_with_hash(section(spec, "template"), hash_))
    selector = deep_copy_json(section(spec, "selector"))
    selector["matchLabels"] = section(selector, "matchLabels") | {HASH_LABEL: hash_}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": replica_set_name(deployment, collisions),
            "namespace": namespace_of(deployment),
            "labels": dict(part_of(template, "metadata", "labels")),
            "annotations": {
                DESIRED: str(replicas),
                MAXIMUM: str(replicas + surge_of(deployment)),
                REVISION: "1",
            },
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    }


class SizedReplicaSet(msgspec.Struct, eq=False):
    """A replica set and its desired size; ``desired`` and ``maximum`` are the deployment's numbers in its
    annotations.
    """

    owner: Object
    template: Object
    replicas: int
    desired: int | None = None
    maximum: int | None = None

    @classmethod
    def new(cls, name: str, deployment: Object, template: Object, replicas: int) -> SizedReplicaSet:
        metadata = {"name": name, "namespace": namespace_of(deployment)}
        return cls({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata}, template, replicas)

    @property
    def name(self) -> str:
        return name_of(self.owner)

    def as_object(self, deployment: Object) -> Object:
        """The replica set of a deployment at its size, whether it is stored already or not."""
        labels = section(self.template, "metadata", "labels")
        known = {"desired": (DESIRED, self.desired), "maximum": (MAXIMUM, self.maximum)}.values()
        annotations = annotations_of(self.owner) | {key: str(number) for key, number in known if number is not None}
        selector = section(deployment, "spec", "selector")
        selector = selector | {"matchLabels": section(selector, "matchLabels") | {HASH_LABEL: labels.get(HASH_LABEL)}}
        defaults = {"labels": labels, "ownerReferences": [owner_reference(deployment)]}
        return {
            **self.owner,
            "metadata": defaults | section(self.owner, "metadata") | {"annotations": annotations},
            "spec": {"selector": selector}
            | section(self.owner, "spec")
            | {"replicas": self.replicas, "template": self.template},
        }


class ReplicaSets(msgspec.Struct):
    """Oldest first. ``current`` is the one that has the wanted template, if there is one."""

    sets: list[SizedReplicaSet]
    current: SizedReplicaSet | None


def find_replica_sets(old: Object, new: Object, pods: Sequence[Object], replica_sets: Sequence[Object]) -> ReplicaSets:
    """The replica sets of ``old`` and which of them is that of ``new``."""
    sets = _list_owned_sets(old, replica_sets) or _infer_sets(old, pods)
    wanted = section(new, "spec", "template")
    for one in sets:
        if one.name == replica_set_name(new) or same_template(one.template, wanted):
            return ReplicaSets(sets, one)
    unchanged = same_template(section(old, "spec", "template"), wanted)
    return ReplicaSets(sets, sets[-1] if sets and unchanged else None)


def pods_of_deployment(deployment: Object, pods: Sequence[Object]) -> dict[str, list[Object]]:
    """A deployment's pods by the name of their replica set, which their own names begin with."""
    by_name: dict[str, list[Object]] = {}
    for pod in pods:
        owner, hash_ = controller_of(pod), labels_of(pod).get(HASH_LABEL)
        name = str(owner.get("name"))
        ours = owner.get("kind") == "ReplicaSet" and hash_ and name == f"{name_of(deployment)}-{hash_}"
        if ours and namespace_of(pod) == namespace_of(deployment):
            by_name.setdefault(name, []).append(pod)
    return by_name


def members_of(replica_sets: ReplicaSets, pods: Sequence[Object]) -> list[RolloutPod]:
    """The pods of all these replica sets."""
    homes = {(namespace_of(one.owner), one.name) for one in replica_sets.sets}
    owned = ((pod, controller_of(pod)) for pod in pods)
    return [
        member_of(pod, str(owner["name"]))
        for pod, owner in owned
        if owner.get("kind") == "ReplicaSet" and (namespace_of(pod), owner.get("name")) in homes
    ]


def _list_owned_sets(deployment: Object, replica_sets: Sequence[Object]) -> list[SizedReplicaSet]:
    mine = [
        one
        for one in replica_sets
        if namespace_of(one) == namespace_of(deployment)
        and controller_of(one).get("kind") == "Deployment"
        and controller_of(one).get("name") == name_of(deployment)
        and section(one, "spec", "template")
    ]
    mine.sort(key=lambda one: (str(section(one, "metadata").get("creationTimestamp") or ""), name_of(one)))
    return [
        SizedReplicaSet(
            one,
            section(one, "spec", "template"),
            integer(section(one, "spec").get("replicas"), 1),
            _number(annotations_of(one).get(DESIRED)),
            _number(annotations_of(one).get(MAXIMUM)),
        )
        for one in mine
    ]


def _infer_sets(deployment: Object, pods: Sequence[Object]) -> list[SizedReplicaSet]:
    """One for each name that pods give as their owner; a single one has the size of the deployment."""
    by_name = pods_of_deployment(deployment, pods)
    size = integer(section(deployment, "spec").get("replicas"), 1)
    template = section(deployment, "spec", "template")
    sets = []
    for name, mine in sorted(by_name.items(), key=lambda item: _age(deployment, *item)):
        active = [p for p in mine if not is_over(p) and not section(p, "metadata").get("deletionTimestamp")]
        one = SizedReplicaSet.new(name, deployment, template_of(mine[0]), len(active) if len(by_name) > 1 else size)
        part_of(one.owner, "metadata")["uid"] = controller_of(mine[0]).get("uid")
        one.desired, one.maximum = size, size + surge_of(deployment)
        sets.append(one)
    if sets:
        newest = sets[-1]
        newest.template = template_with_hash(template, newest.name.removeprefix(f"{name_of(deployment)}-"))
    return sets


def _age(deployment: Object, name: str, pods: list[Object]) -> tuple[bool, bool, str, str]:
    """Older replica sets first; that of the deployment's template, as far as its pods tell, is the newest."""
    alike = matches_template(pods[0], section(deployment, "spec", "template"))
    return name == replica_set_name(deployment), alike, max(map(_creation_time_of, pods)), name


def _number(text: str | None) -> int | None:
    return parse_int(text or "")


def _creation_time_of(pod: Object) -> str:
    return str(section(pod, "metadata").get("creationTimestamp") or "")
