"""Updates of a Deployment: a new replica set grows while the old ones shrink, within surge and unavailability; with
proportional scaling of all replica sets when the size changes in the middle of an update.

Upstream: pkg/controller/deployment/{deployment_controller,sync,rolling,recreate}.go, and util/deployment_util.go
(GetReplicaSetProportion).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol

from kwhatif.admission.response import Object
from kwhatif.api.objects import section
from kwhatif.workloads.deployment import (
    ReplicaSets,
    SizedReplicaSet,
    find_replica_sets,
    members_of,
    replica_set_name,
    resolve_fenceposts,
    template_with_hash,
)
from kwhatif.workloads.object_creation import template_hash
from kwhatif.workloads.objects import integer, is_over
from kwhatif.workloads.replica_set import RelatedPods, adjust
from kwhatif.workloads.rollout_members import RolloutPod
from kwhatif.workloads.rollout_state import Admit, Rollout


class ReplicaShare(Protocol):
    replicas: int
    maximum: int | None


def proportional(active: Sequence[ReplicaShare], replicas: int, surge: int, pods: int) -> list[int]:
    """The new sizes of the replica sets, given oldest first. The largest takes what rounding leaves.

    A replica set without the deployment's former maximum in its annotations is measured by its ``pods``.
    """
    allowed = replicas + surge if replicas > 0 else 0
    change = allowed - sum(one.replicas for one in active)
    sizes = [one.replicas for one in active]
    if change == 0:
        return sizes
    # Of equals the newest grows first, and the oldest shrinks first.
    order = sorted(range(len(active)), key=lambda i: (-active[i].replicas, -i if change > 0 else i))
    given = 0
    for i in order:
        left = change - given
        fraction = _fraction(active[i], replicas, surge, pods) if left else 0
        part = min(fraction, left) if change > 0 else max(fraction, left)
        sizes[i] += part
        given += part
    sizes[order[0]] = max(0, sizes[order[0]] + change - given)
    return sizes


def _fraction(one: ReplicaShare, replicas: int, surge: int, pods: int) -> int:
    """By how much a replica set would change if it kept its share exactly, rounded half away from zero."""
    if replicas == 0:
        return -one.replicas
    before = one.maximum or pods
    if before == 0:
        return 0
    size = one.replicas * (replicas + surge) / before
    return int(size + 0.5) - one.replicas


@dataclass
class DeploymentRollout(Rollout):
    """``sets`` are the replica sets, oldest first; ``new_set`` the one whose template is the deployment's."""

    deployment: Object
    sets: list[SizedReplicaSet]
    new_set: SizedReplicaSet | None
    counts_as_new: bool
    now: datetime | None

    def __post_init__(self, pods: Iterable[RolloutPod]) -> None:
        super().__post_init__(pods)
        self._related = RelatedPods(self.members, self.now, self.ties)

    @classmethod
    def from_objects(
        cls,
        old: Object,
        new: Object,
        pods: Sequence[Object],
        replica_sets: Sequence[Object],
        admit: Admit,
        now: datetime | None = None,
    ) -> DeploymentRollout:
        sets: ReplicaSets = find_replica_sets(old, new, pods, replica_sets)
        changed = sets.current is None or any(s is not sets.current and s.replicas for s in sets.sets)
        return cls(members_of(sets, pods), admit, new, sets.sets, sets.current, changed, now)

    @property
    def replica_sets(self) -> tuple[Object, ...]:
        """All of them as the API server would have them."""
        return tuple(one.as_object(self.deployment) for one in self.sets)

    # --- what the spec says

    @property
    def replicas(self) -> int:
        return integer(section(self.deployment, "spec").get("replicas"), 1)

    @property
    def surge(self) -> int:
        return resolve_fenceposts(self.deployment)[0]

    @property
    def unavailable(self) -> int:
        return resolve_fenceposts(self.deployment)[1]

    @property
    def recreates(self) -> bool:
        return section(self.deployment, "spec", "strategy").get("type") == "Recreate"

    # --- one pass of the deployment controller and of the replica set controller

    def sync(self) -> bool:
        changed = self._sync_deployment()
        for one in self.sets:
            surplus = self.members.active[one.name] - one.replicas
            first = partial(self._related.first_to_go, one.name)
            changed |= adjust(self, surplus, first, one.owner, one.template, one.name)
        return changed

    def _sync_deployment(self) -> bool:
        sizes = [one for one in self.sets if one.replicas > 0]
        resized = any(one.desired not in (None, self.replicas) for one in sizes)
        if section(self.deployment, "spec").get("paused") or resized:
            return self._scale()
        return self._recreate() if self.recreates else self._roll()

    def _roll(self) -> bool:
        if self.new_set is None:
            self._new_set(0)
            self._grow()
            return True
        return self._grow() or self._shrink()

    def _grow(self) -> bool:
        """The new replica set takes the available room."""
        assert self.new_set is not None
        room = self.replicas + self.surge - sum(one.replicas for one in self.sets)
        size = self.new_set.replicas
        if size > self.replicas:
            return self._resize(self.new_set, self.replicas)
        return self._resize(self.new_set, size + max(0, min(room, self.replicas - size)))

    def _shrink(self) -> bool:
        """The old replica sets give up unavailable pods first, then others as far as availability allows."""
        assert self.new_set is not None
        old = [one for one in self.sets if one is not self.new_set and one.replicas > 0]
        if not old:
            return False
        least = self.replicas - self.unavailable
        missing = self.new_set.replicas - self._available(self.new_set)
        budget = sum(one.replicas for one in self.sets) - least - missing
        if budget <= 0:
            return False
        changed, cleaned = False, 0
        available = {one.name: self._available(one) for one in self.sets}
        for one in old:
            broken = max(0, min(budget - cleaned, one.replicas - available[one.name]))
            cleaned += broken
            changed |= self._resize(one, one.replicas - broken)
        spare = sum(available.values()) - least
        for one in old:
            going = max(0, min(one.replicas, spare))
            spare -= going
            changed |= self._resize(one, one.replicas - going)
        return changed

    def _recreate(self) -> bool:
        old = [one for one in self.sets if one is not self.new_set]
        if self._resize_all((one, 0) for one in old):
            return True
        if any(not is_over(member.pod) for one in old for member in self.members.of(one.name)):
            return False
        if self.new_set is None:
            self._new_set(self.replicas)
            return True
        return self._resize(self.new_set, self.replicas)

    def _scale(self) -> bool:
        """The deployment was resized or is paused: all its replica sets change in proportion."""
        active = [one for one in self.sets if one.replicas > 0]
        if len(active) <= 1:
            last = active or ([self.new_set] if self.new_set else self.sets[-1:])
            return self._resize_all((one, self.replicas) for one in last)
        new = self.new_set
        if new and new.replicas == new.desired == self._available(new) == self.replicas:
            return self._resize_all((one, 0) for one in active if one is not new)
        if self.recreates:
            return False
        sizes = proportional(active, self.replicas, self.surge, self.members.active.total())
        return self._resize_all(zip(active, sizes, strict=True), note=True)

    # --- small parts

    def _resize(self, one: SizedReplicaSet, replicas: int, *, note: bool = False) -> bool:
        """Set a replica set's size, and the deployment's in its annotations."""
        maximum = self.replicas + self.surge
        noted = one.desired == self.replicas and one.maximum == maximum
        if one.replicas == replicas and (noted or not note):
            return False
        one.replicas, one.desired, one.maximum = replicas, self.replicas, maximum
        return True

    def _resize_all(self, sizes: Iterable[tuple[SizedReplicaSet, int]], *, note: bool = False) -> bool:
        changes = [self._resize(one, size, note=note) for one, size in sizes]
        return any(changes)

    def _new_set(self, replicas: int) -> None:
        template = section(self.deployment, "spec", "template")
        body = template_with_hash(template, template_hash(template))
        self.new_set = SizedReplicaSet.new(replica_set_name(self.deployment), self.deployment, body, replicas)
        self.new_set.desired, self.new_set.maximum = self.replicas, self.replicas + self.surge
        self.sets.append(self.new_set)

    def _available(self, one: SizedReplicaSet) -> int:
        return self.members.available[one.name]

    def is_new(self, revision: str) -> bool:
        return self.counts_as_new and self.new_set is not None and revision == self.new_set.name

    def remaining_work(self) -> str:
        if section(self.deployment, "spec").get("paused") and self.counts_as_new:
            return "the deployment is paused"
        new = self.new_set.name if self.new_set else ""
        updated = self.members.available[new]
        older = self.members.active.total() - self.members.active[new]
        if updated >= self.replicas and not older:
            return ""
        remain = "1 old pod remains" if older == 1 else f"{older} old pods remain"
        return f"{updated} of {self.replicas} updated pods are available, {remain}"
