"""The rolling update of a DaemonSet, with or without a surge.

An update of n nodes may take n steps: what each node comes to is kept until a pod of it changes.

Upstream: pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode), update.go (rollingUpdate).
"""

from __future__ import annotations

import heapq
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from kwhatif.admission.response import Object
from kwhatif.api.objects import section
from kwhatif.golang.parsing import parse_int
from kwhatif.workloads.daemon_set import (
    GENERATION,
    REVISION,
    DaemonDecision,
    NodeCheck,
    daemon_pod,
    generation_of,
    target_of,
)
from kwhatif.workloads.object_creation import template_hash
from kwhatif.workloads.objects import get_scaled_value, is_over, labels_of, name_of, same_template
from kwhatif.workloads.replica_set import owned_by
from kwhatif.workloads.rollout_members import RolloutPod
from kwhatif.workloads.rollout_state import Admit, Rollout, member_of


class _Nodes:
    """Nodes by place: some may leave, and the first are asked for."""

    def __init__(self) -> None:
        self._places: set[int] = set()
        self._heap: list[int] = []

    def put(self, place: int, *, there: bool) -> None:
        if not there:
            self._places.discard(place)
        elif place not in self._places:
            self._places.add(place)
            heapq.heappush(self._heap, place)

    def first(self, most: int = sys.maxsize) -> list[int]:
        """The first of them in their order, at most so many."""
        places: list[int] = []
        while self._heap and len(places) < most:
            place = heapq.heappop(self._heap)
            if place in self._places and place not in places[-1:]:
                places.append(place)
        for place in places:
            heapq.heappush(self._heap, place)
        return places


class _Share(msgspec.Struct, frozen=True):
    """What a node adds to the pods that are ``missing``, or surge, and to those that are ``available``.

    Its old pod is ``going``; it is ``spare`` if enough others are available, ``next`` as far as the limit allows, or
    ``followed`` by another at once.
    """

    missing: int = 0
    available: int = 0
    sort: str = ""


_SORTS = ("going", "spare", "next", "followed")
_UNWANTED = DaemonDecision(False, False)


@dataclass
class DaemonSetRollout(Rollout):
    """``wanted`` holds what the new template wants of each node, in the order of the nodes."""

    daemon_set: Object
    revision: str
    generation: str
    changed: bool
    wanted: dict[str, DaemonDecision]

    @classmethod
    def from_objects(
        cls, old: Object, new: Object, pods: Sequence[Object], nodes: Sequence[Object], admit: Admit
    ) -> DaemonSetRollout:
        was, is_ = section(old, "spec", "template"), section(new, "spec", "template")
        members = [member_of(pod, labels_of(pod).get(REVISION, "")) for pod in owned_by(new, pods)]
        for member in members:
            member.home = target_of(member.pod)
        changed = not same_template(was, is_)
        revision, generation = template_hash(is_), generation_of(old)
        if changed:
            number = parse_int(generation)
            generation = generation if number is None else str(number + 1)
        elif members:
            newest = max(members, key=lambda member: (_generation(member), _creation_time_of(member)))
            revision = newest.revision
        check = NodeCheck(is_)
        wanted = {name_of(node): check(node) for node in nodes}
        mixed = changed or any(member.revision != revision for member in members)
        return cls(members, admit, new, revision, generation, mixed, wanted)

    def __post_init__(self, pods: Iterable[RolloutPod]) -> None:
        super().__post_init__(pods)
        others = sorted({member.home for member in self.members} - self.wanted.keys())
        self._names = [*self.wanted, *others]
        self._place = {name: place for place, name in enumerate(self._names)}
        self._there: defaultdict[int, dict[RolloutPod, None]] = defaultdict(dict)
        self._unmanaged, self._unjudged = set(self._place.values()), set(self._place.values())
        self._shares: dict[int, _Share] = {}
        self._missing = self._available = 0
        self._sorted = {sort: _Nodes() for sort in _SORTS}

    # --- one pass of the controller

    def sync(self) -> bool:
        self._look_around()
        changed, refused = self._manage()
        if changed or refused or self._on_delete:
            return changed
        return self._roll()

    def _look_around(self) -> None:
        """Note which nodes have other pods than before, or pods in another state."""
        for member in self.members.take_changed():
            place = self._place[member.home]
            if member in self.members:
                self._there[place][member] = None
            else:
                self._there[place].pop(member, None)
            self._unmanaged.add(place)
            self._unjudged.add(place)

    def _manage(self) -> tuple[bool, bool]:
        """Every node has the pods it should have, whatever their revision. Returns whether any was made, deleted or
        refused.
        """
        changed, refused = False, set()
        for place in sorted(self._unmanaged):
            there, wanted = list(self._there[place]), self.wanted.get(self._names[place])
            missing = False
            if wanted is None:
                going = [m for m in there if not m.terminating and not section(m.pod, "spec").get("nodeName")]
            elif wanted.stay:
                running = [m for m in there if m.active]
                going = [m for m in there if is_over(m.pod) and not m.terminating] + self._surplus(running)
                missing = wanted.run and (not there or (bool(self._surge) and not running))
            else:
                going = [m for m in there if not m.terminating]
            for member in going:
                self.remove(member)
                changed = True
            if missing and self._make(self._names[place]):
                changed = True
            elif missing:
                refused.add(place)
        self._unmanaged = refused
        return changed, bool(refused)

    def _surplus(self, running: list[RolloutPod]) -> list[RolloutPod]:
        """The pods of one node that are too many: all but the oldest; with a surge, of each revision."""
        running = sorted(
            running, key=lambda m: (not section(m.pod, "spec").get("nodeName"), _creation_time_of(m), m.name)
        )
        if not self._surge or len(running) <= 1:
            return running[1:]
        new = [m for m in running if m.revision == self.revision]
        old = [m for m in running if m.revision != self.revision]
        going = new[1:] + old[1:]
        if new and old and (not old[0].ready or new[0].available):
            going.append(old[0])
        return going

    def _roll(self) -> bool:
        """With a surge, make new pods beside old ones as far as it allows, and delete the old whose successor is
        available; else delete old pods as far as the limit allows, against which those do not count that are not
        available.
        """
        for place in self._unjudged:
            self._judge(place)
        self._unjudged = set()
        surge, unavailable = self._limits
        going, coming = self._sorted["going"].first(), self._sorted["followed"].first()
        following = self._sorted["next"].first(max(0, (surge or unavailable) - self._missing))
        if surge:
            going += self._sorted["spare"].first(max(0, self._available - self._pods_to_run))
            coming += following
        else:
            going += following
        for place in going:
            _, old, _ = self._pods_at(place)
            assert old is not None
            self.remove(old)
        made = [self._make(self._names[place]) for place in coming]
        return bool(going) or any(made)

    def _judge(self, place: int) -> None:
        before, share = self._shares.get(place, _Share()), self._share_of(place)
        self._shares[place] = share
        self._missing += share.missing - before.missing
        self._available += share.available - before.available
        for sort in {before.sort, share.sort} - {""}:
            self._sorted[sort].put(place, there=sort == share.sort)

    def _share_of(self, place: int) -> _Share:
        runs = self.wanted.get(self._names[place], _UNWANTED).run
        if not runs and not self._there[place]:
            return _Share()
        new, old, single = self._pods_at(place)
        if not single:
            return _Share(missing=1)
        if not self._surge:
            if old is not None and new is None:
                return _Share(sort="next") if old.available else _Share(missing=1, sort="going")
            return _Share(missing=int(old is not None or new is None or not new.available))
        counted = old or new
        available = int(counted is not None and counted.available)
        if old is None:
            return _Share(available=available)
        if new is not None:
            return _Share(int(not new.available), available, "going" if new.available else "")
        if not runs:
            return _Share(0, available, "spare" if old.available else "going")
        return _Share(0, available, "next" if old.available else "followed")

    def _pods_at(self, place: int) -> tuple[RolloutPod | None, RolloutPod | None, bool]:
        """The new and the old pod of a node; False if there are more of either."""
        there = [member for member in self._there[place] if not member.terminating]
        new = [member for member in there if member.revision == self.revision]
        old = [member for member in there if member.revision != self.revision]
        if len(new) > 1 or len(old) > 1:
            return None, None, False
        return (new[0] if new else None), (old[0] if old else None), True

    # --- small parts

    @cached_property
    def _on_delete(self) -> bool:
        return section(self.daemon_set, "spec", "updateStrategy").get("type") == "OnDelete"

    @property
    def _surge(self) -> int:
        return 0 if self._on_delete else self._limits[0]

    @cached_property
    def _pods_to_run(self) -> int:
        return sum(wanted.run for wanted in self.wanted.values())

    @cached_property
    def _limits(self) -> tuple[int, int]:
        """Surge and unavailability among the nodes that should have a pod; both are rounded up."""
        rolling = {"maxUnavailable": 1} | section(self.daemon_set, "spec", "updateStrategy", "rollingUpdate")
        surge = get_scaled_value(rolling.get("maxSurge"), self._pods_to_run, up=True)
        unavailable = get_scaled_value(rolling["maxUnavailable"], self._pods_to_run, up=True)
        return surge, unavailable if surge or unavailable else 1

    def _make(self, node: str) -> bool:
        pod = daemon_pod(self.daemon_set, node, self.revision, self.generation)
        made = self.create(pod, self.revision)
        if made is not None:
            made.home = node
        return made is not None

    def is_new(self, revision: str) -> bool:
        return self.changed and revision == self.revision

    def remaining_work(self) -> str:
        self._look_around()
        late = []
        for place, (node, wanted) in enumerate(self.wanted.items()):
            new, old, _ = self._pods_at(place)
            done = new is not None and new.available and old is None
            if self._on_delete:
                done = any(member is not None and member.available for member in (new, old))
            if wanted.run and not done:
                late.append(node)
        return f"no updated and available pod on: {', '.join(late)}" if late else ""


def _generation(member: RolloutPod) -> int:
    return parse_int(labels_of(member.pod).get(GENERATION, "")) or 0


def _creation_time_of(member: RolloutPod) -> str:
    return str(section(member.pod, "metadata").get("creationTimestamp") or "")
