"""The replica sets of a deployment that is already in the cluster.

They are taken from the snapshot if it has them whole; else the pods tell that there must be such a set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.admission.answer import Object
from kwhatif.golang.integers import int64
from kwhatif.workloads.deployment import DESIRED, MAXIMUM, hashed_template, replica_set_name, surge_of
from kwhatif.workloads.objects import (
    annotations_of,
    controller_of,
    integer,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    section,
)
from kwhatif.workloads.pod_status import is_over
from kwhatif.workloads.pods import template_of
from kwhatif.workloads.rollout_state import Member, member_of
from kwhatif.workloads.templates import HASH_LABEL, fits, same_template


@dataclass(eq=False, slots=True)
class Sized:
    """A replica set and the size it should have; ``desired`` and ``maximum`` are what it knows of its deployment."""

    owner: Object
    template: Object
    replicas: int
    desired: int | None = None
    maximum: int | None = None

    @classmethod
    def new(cls, name: str, deployment: Object, template: Object, replicas: int) -> Sized:
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


@dataclass(slots=True)
class ReplicaSets:
    """Oldest first. ``current`` is the one that has the wanted template, if there is one."""

    sets: list[Sized]
    current: Sized | None


def found_replica_sets(old: Object, new: Object, pods: Sequence[Object], replica_sets: Sequence[Object]) -> ReplicaSets:
    """The replica sets of ``old`` and which of them is that of ``new``."""
    sets = _told(old, replica_sets) or _inferred(old, pods)
    wanted = section(new, "spec", "template")
    for one in sets:
        if one.name == replica_set_name(new) or same_template(one.template, wanted):
            return ReplicaSets(sets, one)
    unchanged = same_template(section(old, "spec", "template"), wanted)
    return ReplicaSets(sets, sets[-1] if sets and unchanged else None)


def owned_through_replica_sets(deployment: Object, pods: Sequence[Object]) -> dict[str, list[Object]]:
    """A deployment's pods by the name of the replica set that is theirs, told from the names alone."""
    by_name: dict[str, list[Object]] = {}
    for pod in pods:
        owner, hash_ = controller_of(pod), labels_of(pod).get(HASH_LABEL)
        name = str(owner.get("name"))
        ours = owner.get("kind") == "ReplicaSet" and hash_ and name == f"{name_of(deployment)}-{hash_}"
        if ours and namespace_of(pod) == namespace_of(deployment):
            by_name.setdefault(name, []).append(pod)
    return by_name


def members_of(found: ReplicaSets, pods: Sequence[Object]) -> list[Member]:
    """The pods of all these replica sets."""
    homes = {(namespace_of(one.owner), one.name) for one in found.sets}
    owned = ((pod, controller_of(pod)) for pod in pods)
    return [
        member_of(pod, str(owner["name"]))
        for pod, owner in owned
        if owner.get("kind") == "ReplicaSet" and (namespace_of(pod), owner.get("name")) in homes
    ]


def _told(deployment: Object, replica_sets: Sequence[Object]) -> list[Sized]:
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
        Sized(
            one,
            section(one, "spec", "template"),
            integer(section(one, "spec").get("replicas"), 1),
            _number(annotations_of(one).get(DESIRED)),
            _number(annotations_of(one).get(MAXIMUM)),
        )
        for one in mine
    ]


def _inferred(deployment: Object, pods: Sequence[Object]) -> list[Sized]:
    """One for each name that pods give as their owner; a single one has the size of the deployment."""
    by_name = owned_through_replica_sets(deployment, pods)
    size = integer(section(deployment, "spec").get("replicas"), 1)
    template = section(deployment, "spec", "template")
    sets = []
    for name, mine in sorted(by_name.items(), key=lambda item: _age(deployment, *item)):
        active = [p for p in mine if not is_over(p) and not section(p, "metadata").get("deletionTimestamp")]
        one = Sized.new(name, deployment, template_of(mine[0]), len(active) if len(by_name) > 1 else size)
        one.owner["metadata"]["uid"] = controller_of(mine[0]).get("uid")
        one.desired, one.maximum = size, size + surge_of(deployment)
        sets.append(one)
    if sets:
        newest = sets[-1]
        newest.template = hashed_template(template, newest.name.removeprefix(f"{name_of(deployment)}-"))
    return sets


def _age(deployment: Object, name: str, pods: list[Object]) -> tuple[bool, bool, str, str]:
    """Older replica sets first; that of the deployment's template, as far as its pods tell, is the newest."""
    alike = fits(pods[0], section(deployment, "spec", "template"))
    return name == replica_set_name(deployment), alike, max(map(_created, pods)), name


def _number(text: str | None) -> int | None:
    return int64(text or "")


def _created(pod: Object) -> str:
    return str(section(pod, "metadata").get("creationTimestamp") or "")
