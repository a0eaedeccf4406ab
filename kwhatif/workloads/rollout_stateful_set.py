"""Updates of a StatefulSet: from the highest ordinal down, never below the partition.

Upstream: pkg/controller/statefulset/stateful_set_control.go (updateStatefulSet).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kwhatif.admission.answer import Object
from kwhatif.golang.integers import int64
from kwhatif.workloads.objects import integer, labels_of, name_of, scaled, section
from kwhatif.workloads.pod_status import is_over
from kwhatif.workloads.rollout_replicas import owned_by
from kwhatif.workloads.rollout_state import Admit, Member, Rollout, member_of
from kwhatif.workloads.stateful_set import REVISION, claims_of, one_by_one, revision_of, start_of, stateful_pod
from kwhatif.workloads.templates import same_template


@dataclass
class StatefulSetRollout(Rollout):
    """``current`` and ``update`` are the revisions that the pods below and above the partition should have."""

    old: Object
    new: Object
    current: str
    update: str
    most_unavailable: int | None

    @classmethod
    def of(
        cls, old: Object, new: Object, pods: Sequence[Object], admit: Admit, *, gate: bool = False
    ) -> StatefulSetRollout:
        """With the ``gate``, as many pods as ``maxUnavailable`` says are replaced at a time."""
        members = [member_of(pod, labels_of(pod).get(REVISION, "")) for pod in owned_by(new, pods)]
        members.sort(key=_ordinal)
        status = section(old, "status")
        current = str(status.get("currentRevision") or (members[0].revision if members else revision_of(old)))
        update = revision_of(new)
        if same_template(section(old, "spec", "template"), section(new, "spec", "template")):
            update = str(status.get("updateRevision") or (members[-1].revision if members else update))
        most = None
        if gate:
            replicas = integer(section(new, "spec").get("replicas"), 1)
            rolling = section(new, "spec", "updateStrategy", "rollingUpdate")
            most = max(1, scaled(rolling.get("maxUnavailable", 1), replicas, up=False))
        return cls(members, admit, old, new, current, update, most)

    @property
    def ordinals(self) -> range:
        start = start_of(self.new)
        return range(start, start + integer(section(self.new, "spec").get("replicas"), 1))

    @property
    def partition(self) -> int:
        return integer(section(self.new, "spec", "updateStrategy", "rollingUpdate").get("partition"), 0)

    @property
    def on_delete(self) -> bool:
        return section(self.new, "spec", "updateStrategy").get("type") == "OnDelete"

    # --- one pass of the controller

    def sync(self) -> bool:
        there = {_ordinal(member): member for member in self.members}
        condemned = [m for m in reversed(self.members) if 0 <= _ordinal(m) not in self.ordinals]
        first_unavailable = self._first_unavailable(there, condemned)
        patient = one_by_one(self.new)
        changed = failed = False
        for ordinal in self.ordinals:
            member = there.get(ordinal)
            blocked = member is None
            if member is None:
                made = self._make(ordinal)
                changed, failed = changed or made, failed or not made
            elif is_over(member.pod) and not member.terminating:
                self.remove(member)
                blocked = changed = True
            if patient and (blocked or (member is not None and not member.available)):
                return changed
        if failed:
            return changed
        for member in condemned:
            waits = not member.available and member is not first_unavailable
            if patient and (member.terminating or waits):
                return changed
            if not member.terminating:
                self.remove(member)
                changed = True
                if patient:
                    return True
        if self.on_delete or changed:
            return changed
        return self._replace([there[ordinal] for ordinal in self.ordinals if ordinal in there])

    def _replace(self, replicas: list[Member]) -> bool:
        """Delete pods of another revision, highest ordinal first; the next pass makes them anew."""
        targets = list(reversed(replicas[self.partition :]))
        if self.most_unavailable is None:
            for target in targets:
                if target.revision != self.update and not target.terminating:
                    self.remove(target)
                    return True
                if not target.available:
                    return False
            return False
        room = self.most_unavailable - sum(not member.available for member in replicas)
        outdated = [member for member in targets if member.revision != self.update and not member.terminating]
        for member in outdated[: max(0, room)]:
            self.remove(member)
        return bool(outdated) and room > 0

    def _make(self, ordinal: int) -> bool:
        behind = not self.on_delete and ordinal < start_of(self.new) + self.partition
        revision = self.current if behind else self.update
        source = self.old if behind else self.new
        pod = stateful_pod(self.new, section(source, "spec", "template"), revision, ordinal)
        made = self.create(pod, revision, tuple(claims_of(self.new, ordinal)))
        self.members.sort(key=_ordinal)
        return made is not None

    def _first_unavailable(self, there: dict[int, Member], condemned: list[Member]) -> Member | None:
        """The pod that may go although it is not available; none if a replica is what is missing."""
        for ordinal in self.ordinals:
            member = there.get(ordinal)
            if member is None or not member.available:
                return member
        return next((member for member in reversed(condemned) if not member.available), None)

    def is_new(self, member: Member) -> bool:
        return self.update != self.current and member.revision == self.update

    def unfinished(self) -> str:
        there = {_ordinal(member): member for member in self.members}
        late = []
        for ordinal in self.ordinals:
            member = there.get(ordinal)
            outdated = ordinal - start_of(self.new) >= self.partition and not self.on_delete
            if member is None or not member.available or (outdated and member.revision != self.update):
                late.append(f"{name_of(self.new)}-{ordinal}")
        leaving = [m.name for m in self.members if 0 <= _ordinal(m) not in self.ordinals]
        parts = [f"not updated and available: {', '.join(late)}"] if late else []
        parts += [f"not removed: {', '.join(leaving)}"] if leaving else []
        return "; ".join(parts)


def _ordinal(member: Member) -> int:
    ordinal = int64(member.name.rpartition("-")[2])
    return -1 if ordinal is None else ordinal
