"""The pods of a workload during an update, counted by revision as they come, become ready and go.

An update of n pods may take n steps, so that no step may look at all of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator

import msgspec

from kwhatif.admission.response import Object
from kwhatif.workloads.objects import is_over, name_of


class RolloutPod(msgspec.Struct, eq=False):
    """One pod. ``revision`` tells which template it was made from; ``made`` by the plan, ``fresh`` since the last step.

    ``home`` is the node that a daemon set means the pod for. Of those among ``Members`` only these say that a pod is
    ready or terminating.
    """

    pod: Object
    revision: str
    ready: bool
    terminating: bool = False
    awaited: bool = False
    fresh: bool = False
    home: str = ""

    @property
    def name(self) -> str:
        return name_of(self.pod)

    @property
    def active(self) -> bool:
        return not self.terminating and not is_over(self.pod)

    @property
    def available(self) -> bool:
        return self.ready and not self.terminating


class Members:
    """Pods in the order in which they came. ``active``, ``available`` and ``leaving`` are their numbers by revision."""

    def __init__(self, pods: Iterable[RolloutPod]) -> None:
        self._by_revision: defaultdict[str, dict[RolloutPod, None]] = defaultdict(dict)
        self._all: dict[RolloutPod, None] = {}
        self._unready: dict[RolloutPod, None] = {}
        self._terminating: dict[RolloutPod, None] = {}
        self.active: Counter[str] = Counter()
        self.available: Counter[str] = Counter()
        self.leaving: Counter[str] = Counter()
        self._changed: dict[RolloutPod, None] = {}
        for member in pods:
            self.add(member)

    def __iter__(self) -> Iterator[RolloutPod]:
        return iter(self._all)

    def __contains__(self, member: object) -> bool:
        return member in self._all

    def of(self, revision: str) -> list[RolloutPod]:
        return list(self._by_revision.get(revision, ()))

    def unready(self) -> list[RolloutPod]:
        """Those that the plan made, or that may find a node meanwhile, and that are not ready yet."""
        return list(self._unready)

    def expect(self, names: Collection[str]) -> None:
        """These pods wait, and may find a node meanwhile."""
        for member in [rollout_pod for rollout_pod in self._all if rollout_pod.name in names and not rollout_pod.ready]:
            self._count(member, -1)
            member.awaited = True
            self._count(member, 1)

    def terminating(self) -> list[RolloutPod]:
        return list(self._terminating)

    def take_changed(self) -> list[RolloutPod]:
        """Those that came, went, or are in another state since the last call."""
        changed, self._changed = self._changed, {}
        return list(changed)

    def add(self, member: RolloutPod) -> None:
        self._all[member] = self._by_revision[member.revision][member] = None
        self._count(member, 1)

    def discard(self, member: RolloutPod) -> None:
        """The pod is gone."""
        self._count(member, -1)
        del self._all[member], self._by_revision[member.revision][member]

    def make_ready(self, member: RolloutPod) -> None:
        self._count(member, -1)
        member.ready = True
        self._count(member, 1)

    def terminate(self, member: RolloutPod) -> None:
        self._count(member, -1)
        member.terminating = True
        self._count(member, 1)

    def _count(self, member: RolloutPod, number: int) -> None:
        self._changed[member] = None
        self.active[member.revision] += number * member.active
        self.available[member.revision] += number * member.available
        self.leaving[member.revision] += number * member.terminating
        for there, group in (
            (member.terminating, self._terminating),
            (member.awaited and not member.ready and not member.terminating, self._unready),
        ):
            if there and number > 0:
                group[member] = None
            elif there:
                del group[member]
