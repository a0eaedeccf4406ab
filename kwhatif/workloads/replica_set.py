"""ReplicaSet and ReplicationController: replicas of one template, which of them are deleted first, and updates, which
scale but apply a new template to new pods only.

Upstream: pkg/controller/replicaset/replica_set.go (manageReplicas, getPodsToDelete), which serves both, and
pkg/controller/controller_utils.go (ActivePodsWithRanks). Times are compared by the power of two of their distance from
``now``; without a ``now``, as they are. Pods that no rule tells apart are deleted in random order upstream; here the
one made last goes first.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, cmp_to_key
from operator import attrgetter
from typing import Any, Generic, TypeVar

from kwhatif.admission.response import Object
from kwhatif.api.objects import section
from kwhatif.golang.parsing import parse_int
from kwhatif.workloads.object_creation import ObjectCreator, pod_from_template, template_hash
from kwhatif.workloads.objects import (
    annotations_of,
    controller_of,
    integer,
    moment,
    name_of,
    namespace_of,
    phase_of,
    ready_since,
    restarts_of,
    same_template,
    uid_of,
)
from kwhatif.workloads.rollout_members import Members, RolloutPod
from kwhatif.workloads.rollout_state import Admit, Rollout, member_of


def make_replicas(owner: Object, making: ObjectCreator) -> None:
    spec = section(owner, "spec")
    template = section(spec, "template")
    count = integer(spec.get("replicas"), 1)
    making.pods_of(owner, count, lambda _: pod_from_template(template, owner))


DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = ("Pending", "Unknown", "Running")

T = TypeVar("T")
_First = tuple[bool, int, bool, int]


class DeletionOrder(Generic[T]):
    """Pods in the order in which they are deleted, while others come to their nodes and go.

    ``crowd`` is the number of related pods on each node: of pods that are alike up to there, those of the fullest nodes
    go first. ``ties`` are pairs that no rule tells apart, of which the first was taken and the second left.
    """

    def __init__(
        self,
        candidates: Sequence[T],
        crowd: Counter[str],
        pod_of: Callable[[T], Object],
        is_ready: Callable[[T], bool],
        now: datetime | None,
    ) -> None:
        self._crowd = crowd
        self.ties: list[tuple[T, T]] = []
        self._waiting: dict[tuple[_First, str], deque[tuple[int, int, T]]] = {}
        self._heap: list[tuple[_First, int, int, str]] = []
        self._firsts: defaultdict[str, list[_First]] = defaultdict(list)
        ranks: defaultdict[_First, list[tuple[_Rank, T]]] = defaultdict(list)
        for one in reversed(candidates):
            rank = _Rank(pod_of(one), is_ready(one))
            ranks[rank.first].append((rank, one))

        def compare(one: tuple[_Rank, T], other: tuple[_Rank, T]) -> int:
            return _order(one[0], other[0], now)

        for first, alike in ranks.items():
            alike.sort(key=cmp_to_key(compare))
            equal_from = 0
            for place, (rank, one) in enumerate(alike):
                equal_from = equal_from if compare(alike[equal_from], alike[place]) == 0 else place
                self._waiting.setdefault((first, node_of(rank.pod)), deque()).append((place, equal_from, one))
        for first, node in self._waiting:
            self._firsts[node].append(first)
            self._offer(first, node)

    def take(self, count: int) -> list[T]:
        """The next so many; each comes once."""
        items: list[T] = []
        last: tuple[_First, int, int] | None = None
        while self._heap:
            first, crowd, place, node = self._heap[0]
            waiting = self._waiting[first, node]
            if not (waiting and waiting[0][0] == place and crowd == -self._crowd[node]):
                heapq.heappop(self._heap)
                continue
            _, equal_from, one = waiting[0]
            if len(items) == count:
                if last == (first, crowd, equal_from):
                    self.ties.append((items[-1], one))
                break
            last = first, crowd, equal_from
            heapq.heappop(self._heap)
            items.append(waiting.popleft()[2])
            self._offer(first, node)
        return items

    def count_again(self, node: str) -> None:
        """The crowd of a node has changed."""
        for first in self._firsts[node]:
            self._offer(first, node)

    def _offer(self, first: _First, node: str) -> None:
        if waiting := self._waiting[first, node]:
            heapq.heappush(self._heap, (first, -self._crowd[node], waiting[0][0], node))


@dataclass
class _Rank:
    """The deletion rank of one pod; times and restarts are read only of pods that have to be told apart by them."""

    pod: Object
    ready: bool

    def __post_init__(self) -> None:
        self.first: _First = (bool(node_of(self.pod)), _phase(self.pod, self.ready), self.ready, _cost(self.pod))

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
    """Below zero if ``a`` goes before ``b``, which are alike in what comes first."""
    answer = _younger(a.ready_since, b.ready_since, a.pod, b.pod, now) if a.ready and b.ready else 0
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


def node_of(pod: Object) -> str:
    return str(section(pod, "spec").get("nodeName") or "")


def _phase(pod: Object, ready: bool) -> int:
    """Pending, unknown, running; who is ready runs."""
    phase = "Running" if ready else phase_of(pod)
    return _PHASES.index(phase) if phase in _PHASES else 0


def _cost(pod: Object) -> int:
    """The annotated cost; what is no plain number counts as none."""
    text = annotations_of(pod).get(DELETION_COST) or "0"
    number = parse_int(text)
    return number if number is not None and str(number) == text and -(2**31) <= number < 2**31 else 0


def owned_by(owner: Object, pods: Sequence[Object]) -> list[Object]:
    """The pods that an object controls."""
    mine = [pod for pod in pods if namespace_of(pod) == namespace_of(owner)]
    wanted = (owner.get("kind"), name_of(owner))
    return [pod for pod in mine if (controller_of(pod).get("kind"), controller_of(pod).get("name")) == wanted]


_pod_of: Callable[[RolloutPod], Object] = attrgetter("pod")
_is_ready: Callable[[RolloutPod], bool] = attrgetter("ready")


class RelatedPods:
    """The pods of all replica sets of one owner during an update, which are deleted in an order that is kept. Pairs of
    pods of which one is deleted first by chance are added to ``ties``.
    """

    def __init__(self, members: Members, now: datetime | None, ties: list[tuple[RolloutPod, RolloutPod]]) -> None:
        self._members, self._now, self._ties = members, now, ties
        self._crowd: Counter[str] = Counter()
        self._homes: dict[RolloutPod, str] = {}
        self._orders: dict[str, DeletionOrder[RolloutPod]] = {}

    def first_to_go(self, revision: str, count: int) -> list[RolloutPod]:
        """The active pods of a replica set that are deleted next, which the caller deletes."""
        self._look_around()
        if revision not in self._orders:
            active = [member for member in self._members.of(revision) if member.active]
            order = DeletionOrder(active, self._crowd, _pod_of, _is_ready, self._now)
            order.ties = self._ties
            self._orders[revision] = order
        return self._orders[revision].take(count)

    def _look_around(self) -> None:
        nodes = set()
        for member in self._members.take_changed():
            if member in self._homes:
                home = self._homes.pop(member)
                self._crowd[home] -= 1
                nodes.add(home)
            if member in self._members and member.active:
                self._homes[member] = home = node_of(member.pod)
                self._crowd[home] += 1
                nodes.add(home)
                self._orders.pop(member.revision, None)
        for order in self._orders.values():
            for node in nodes:
                order.count_again(node)


def adjust(
    rollout: Rollout,
    surplus: int,
    first: Callable[[int], Iterable[RolloutPod]],
    owner: Object,
    template: Object,
    revision: str,
) -> bool:
    """Delete the ``first`` so many pods, or make as many as are missing; returns whether anything changed."""
    for place in range(-surplus):
        if rollout.create(pod_from_template(template, owner), revision) is None:
            return place > 0
    for member in first(surplus) if surplus > 0 else ():
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
        surplus = self.members.active.total() - self.replicas
        return adjust(self, surplus, self._first_to_go, self.owner, self.template, self.revision)

    def _first_to_go(self, count: int) -> list[RolloutPod]:
        active = [member for member in self.members if member.active]
        order = DeletionOrder(active, Counter(), _pod_of, _is_ready, self.now)
        order.ties = self.ties
        return order.take(count)

    def is_new(self, revision: str) -> bool:
        return self.changed and revision == self.revision

    def remaining_work(self) -> str:
        available = self.members.available.total()
        return "" if available >= self.replicas else f"{available} of {self.replicas} pods are available"
