"""ReplicaSet and ReplicationController: replicas of one template, which of them are deleted first, and updates, which
scale but apply a new template to new pods only.

Upstream: pkg/controller/replicaset/replica_set.go (manageReplicas, getPodsToDelete), which serves both, and
pkg/controller/controller_utils.go (ActivePodsWithRanks). Times are compared by the power of two of their distance from
``now``; without a ``now``, as they are. Pods that no rule tells apart are deleted in random order upstream; here the
one made last goes first.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass
from datetime import datetime, timedelta
from functools import cached_property, cmp_to_key
from typing import Any, TypeVar

from kwhatif.admission.response import Object
from kwhatif.workloads.object_creation import ObjectCreator, pod_from_template, template_hash
from kwhatif.workloads.objects import (
    annotations_of,
    controller_of,
    integer,
    is_over,
    moment,
    name_of,
    namespace_of,
    phase_of,
    ready_since,
    restarts_of,
    same_template,
    section,
    uid_of,
)
from kwhatif.workloads.rollout_state import Admit, Rollout, member_of


def make_replicas(owner: Object, making: ObjectCreator) -> None:
    spec = section(owner, "spec")
    template = section(spec, "template")
    count = integer(spec.get("replicas"), 1)
    making.pods_of(owner, count, lambda _: pod_from_template(template, owner))


DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = ("Pending", "Unknown", "Running")

T = TypeVar("T")


def first_to_go(
    candidates: Sequence[T],
    count: int,
    *,
    pod_of: Callable[[T], Object],
    ready: Callable[[T], bool],
    related: Iterable[Object] = (),
    now: datetime | None = None,
) -> list[T]:
    """The ``count`` candidates that are deleted first. ``related`` are the pods of all replica sets of the
    same owner.
    """
    crowd = Counter(_node(pod) for pod in related if not is_over(pod))

    def compare(one: tuple[T, _Rank], other: tuple[T, _Rank]) -> int:
        return _order(one[1], other[1], now)

    latest_first = [(one, _Rank(pod_of(one), ready(one), crowd)) for one in reversed(candidates)]
    return [one for one, _ in sorted(latest_first, key=cmp_to_key(compare))[:count]]


@dataclass
class _Rank:
    """The deletion rank of one pod; times and restarts are read only of pods that nothing else tells apart."""

    pod: Object
    ready: bool
    crowd: InitVar[Counter[str]]

    def __post_init__(self, crowd: Counter[str]) -> None:
        node = _node(self.pod)
        self.first = (bool(node), _phase(self.pod, self.ready), self.ready, _cost(self.pod), -crowd[node])

    @cached_property
    def ready_since(self) -> datetime | None:
        return ready_since(self.pod)

    @cached_property
    def restarts(self) -> tuple[int, int]:
        return restarts_of(self.pod)

    @cached_property
    def creation_time(self) -> datetime | None:
        return moment(section(self.pod, "metadata").get("creationTimestamp"), self.pod, "creationTimestamp")


def _order(a: _Rank, b: _Rank, now: datetime | None) -> int:
    """Below zero if ``a`` goes before ``b``."""
    answer = _sign(a.first, b.first)
    if not answer and a.ready and b.ready:
        answer = _younger(a.ready_since, b.ready_since, a.pod, b.pod, now)
    answer = answer or _sign(b.restarts, a.restarts)
    return answer or _younger(a.creation_time, b.creation_time, a.pod, b.pod, now)


def _younger(one: datetime | None, other: datetime | None, a: Object, b: Object, now: datetime | None) -> int:
    """What is more recent goes first, and what has no time yet before all; within one power of two, by uid."""
    if one == other:
        return 0
    if one is None or other is None:
        return -1 if one is None else 1
    if now is None:
        return -1 if one > other else 1
    return _sign(_power(now - one), _power(now - other)) or _sign(uid_of(a), uid_of(b))


def _power(age: timedelta) -> int:
    nanoseconds = (age // timedelta(microseconds=1)) * 1000
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def _sign(a: Any, b: Any) -> int:
    return int(a > b) - int(a < b)


def _node(pod: Object) -> str:
    return str(section(pod, "spec").get("nodeName") or "")


def _phase(pod: Object, ready: bool) -> int:
    """Pending, unknown, running; who is ready runs."""
    phase = "Running" if ready else phase_of(pod)
    return _PHASES.index(phase) if phase in _PHASES else 0


def _cost(pod: Object) -> int:
    """The annotated cost; what is no plain number counts as none."""
    text = annotations_of(pod).get(DELETION_COST) or "0"
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0") and text != "-0"
    return int(text) if plain and -(2**31) <= int(text) < 2**31 else 0


def owned_by(owner: Object, pods: Sequence[Object]) -> list[Object]:
    """The pods that an object controls."""
    mine = [pod for pod in pods if namespace_of(pod) == namespace_of(owner)]
    wanted = (owner.get("kind"), name_of(owner))
    return [pod for pod in mine if (controller_of(pod).get("kind"), controller_of(pod).get("name")) == wanted]


def adjust(
    rollout: Rollout,
    replicas: int,
    owner: Object,
    template: Object,
    revision: str,
    *,
    now: datetime | None = None,
    sets: bool = False,
) -> bool:
    """Make or delete pods until the number of active ones is as desired; returns whether anything changed. Where the
    revisions of a rollout are ``sets`` of one owner, only those of the revision count.
    """
    members = rollout.members
    surplus = (members.active[revision] if sets else members.active.total()) - replicas
    for place in range(-surplus):
        if rollout.create(pod_from_template(template, owner), revision) is None:
            return place > 0
    if surplus > 0:
        around = [member.pod for member in members if member.active] if sets else []
        going = first_to_go(
            [member for member in (members.of(revision) if sets else members) if member.active],
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
    """A replica set without a controller of its own."""

    owner: Object
    replicas: int
    template: Object
    revision: str
    changed: bool
    now: datetime | None

    @classmethod
    def from_objects(
        cls, old: Object, new: Object, pods: Sequence[Object], admit: Admit, now: datetime | None = None
    ) -> ReplicasRollout:
        was, is_ = section(old, "spec", "template"), section(new, "spec", "template")
        members = [member_of(pod, template_hash(was)) for pod in owned_by(new, pods)]
        replicas = integer(section(new, "spec").get("replicas"), 1)
        return cls(members, admit, new, replicas, is_, template_hash(is_), not same_template(was, is_), now)

    def sync(self) -> bool:
        return adjust(self, self.replicas, self.owner, self.template, self.revision, now=self.now)

    def is_new(self, revision: str) -> bool:
        return self.changed and revision == self.revision

    def remaining_work(self) -> str:
        available = self.members.available.total()
        return "" if available >= self.replicas else f"{available} of {self.replicas} pods are available"
