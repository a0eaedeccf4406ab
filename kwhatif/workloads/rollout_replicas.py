"""Updates of a ReplicaSet or ReplicationController: it grows and shrinks; a new template is for new pods only.

Upstream: pkg/controller/replicaset/replica_set.go (manageReplicas).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from kwhatif.admission.answer import Object
from kwhatif.workloads.naming import template_hash
from kwhatif.workloads.objects import controller_of, integer, name_of, namespace_of, section
from kwhatif.workloads.pods import pod_from_template
from kwhatif.workloads.ranking import first_to_go
from kwhatif.workloads.rollout_state import Admit, Member, Rollout, member_of
from kwhatif.workloads.templates import same_template


def owned_by(owner: Object, pods: Sequence[Object]) -> list[Object]:
    """The pods that an object controls."""
    mine = [pod for pod in pods if namespace_of(pod) == namespace_of(owner)]
    wanted = (owner.get("kind"), name_of(owner))
    return [pod for pod in mine if (controller_of(pod).get("kind"), controller_of(pod).get("name")) == wanted]


def adjust(
    rollout: Rollout,
    mine: Sequence[Member],
    replicas: int,
    owner: Object,
    template: Object,
    revision: str,
    *,
    related: Sequence[Member] = (),
    now: datetime | None = None,
) -> bool:
    """Make pods or remove some until there are as many active ones as there should be; whether there was a need."""
    active = [member for member in mine if member.active]
    for place in range(replicas - len(active)):
        if rollout.create(pod_from_template(template, owner), revision) is None:
            return place > 0
    surplus = len(active) - replicas
    if surplus > 0:
        around = [member.pod for member in related if member.active]
        going = first_to_go(
            active,
            surplus,
            pod_of=lambda member: member.pod,
            ready=lambda member: member.ready,
            related=around,
            now=now,
        )
        for member in going:
            rollout.remove(member)
    return surplus != 0


@dataclass
class ReplicasRollout(Rollout):
    """A replica set that nobody else manages."""

    owner: Object
    replicas: int
    template: Object
    revision: str
    changed: bool
    now: datetime | None

    @classmethod
    def of(
        cls, old: Object, new: Object, pods: Sequence[Object], admit: Admit, now: datetime | None = None
    ) -> ReplicasRollout:
        was, is_ = section(old, "spec", "template"), section(new, "spec", "template")
        members = [member_of(pod, template_hash(was)) for pod in owned_by(new, pods)]
        replicas = integer(section(new, "spec").get("replicas"), 1)
        return cls(members, admit, new, replicas, is_, template_hash(is_), not same_template(was, is_), now)

    def sync(self) -> bool:
        return adjust(self, self.members, self.replicas, self.owner, self.template, self.revision, now=self.now)

    def is_new(self, member: Member) -> bool:
        return self.changed and member.revision == self.revision

    def unfinished(self) -> str:
        available = sum(member.available for member in self.members)
        return "" if available >= self.replicas else f"{available} of {self.replicas} pods are available"
