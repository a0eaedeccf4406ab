"""Updates by operators that replace pods themselves: which pods stay, and in which order the others are replaced.

Pods with a stable name are compared by name, others with any equal one. Two pods are equal if all that scheduling reads
of the new one is also in the old one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kwhatif.admission.object_store import plain
from kwhatif.admission.response import Object
from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.object_creation import template_of
from kwhatif.workloads.objects import deep_copy_json, matches_template, name_of
from kwhatif.workloads.rollout_members import RolloutPod
from kwhatif.workloads.rollout_state import Admit, Rollout, member_of
from kwhatif.workloads.workload_kind import UpdateOrder

_NEW, _OLD = "new", "old"
_JOBSET = "jobset.sigs.k8s.io"
_LWS = "leaderworkerset.sigs.k8s.io"
_HASHES = (
    "pod-template-hash",
    "rollouts-pod-template-hash",
    "controller-revision-hash",
    f"{_LWS}/template-revision-hash",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    f"{_JOBSET}/jobset-uid",
    "deployment",
)
"""Labels whose values are not known beforehand."""

Wanted = tuple[Object, tuple[Object, ...]]
"""A pod as it should be, and the claims of its volumes."""


@dataclass(eq=False)
class PodsRollout(Rollout):
    """``wanted`` are the pods that should come to be, in their order; members of revision ``old`` are to go."""

    owner: str
    order: UpdateOrder
    total: int
    wanted: list[Wanted] = field(default_factory=list)
    together: str = ""

    @classmethod
    def of(
        cls,
        owner: str,
        pods: Sequence[Object],
        wanted: Sequence[Wanted],
        order: UpdateOrder,
        admit: Admit,
        together: str = "",
    ) -> PodsRollout:
        """The update from the ``pods`` that are there to those that are ``wanted``.

        One by one, pods that have one value of a label are replaced ``together``.
        """
        there = {name_of(pod): pod for pod in pods}
        staying: dict[str, None] = {}
        coming: list[Wanted] = []
        for body, claims in wanted:
            name = name_of(body)
            if name:
                same = (
                    [there[name]] if name in there and (order == UpdateOrder.left or alike(there[name], body)) else []
                )
            else:
                same = [pod for pod in there.values() if name_of(pod) not in staying and alike(pod, body)]
            if same:
                staying[name_of(same[0])] = None
            elif order != UpdateOrder.left or (name not in there and name):
                coming.append((body, claims))
        members = [
            member_of(pod, _NEW if name_of(pod) in staying or order == UpdateOrder.left else _OLD) for pod in pods
        ]
        return cls(members, admit, owner, order, len(wanted), coming, together)

    def sync(self) -> bool:
        going = [member for member in self.members if member.revision == _OLD and member.active]
        if self.order == UpdateOrder.one_by_one:
            return self._replace_next(going)
        if self.order == UpdateOrder.new_first:
            if self._create_all():
                return True
            ready = all(member.available for member in self.members if member.revision == _NEW and member.active)
            return ready and self._remove(going)
        return self._remove(going) or self._create_all()

    def _remove(self, members: Sequence[RolloutPod]) -> bool:
        for member in members:
            self.remove(member)
        return bool(members)

    def _create_all(self) -> bool:
        """Create all pods whose names are free by now."""
        taken = {member.name for member in self.members}
        now = [each for each in self.wanted if name_of(each[0]) not in taken]
        came = [self._come(each) for each in now]
        return any(came)

    def _come(self, each: Wanted) -> bool:
        body, claims = deep_copy_json(each[0]), each[1]
        metadata = part_of(body, "metadata")
        metadata.setdefault("generateName", f"{name_of(body)}-")
        if self.create(body, _NEW, claims) is None:
            return False
        self.wanted.remove(each)
        return True

    def _replace_next(self, going: Sequence[RolloutPod]) -> bool:
        if self.members.terminating():
            return False
        taken = {member.name for member in self.members}
        free = [each for each in self.wanted if name_of(each[0]) not in taken]
        if free:
            unit = self._unit_of(free[0][0])
            came = [self._come(each) for each in free if self._unit_of(each[0]) == unit]
            return any(came)
        if any(not member.available for member in self.members if member.revision == _NEW and member.active):
            return False
        if not going:
            return False
        last = self._unit_of(max(going, key=lambda member: _by_number(member.name)).pod)
        return self._remove([member for member in going if self._unit_of(member.pod) == last])

    def _unit_of(self, pod: Object) -> str:
        """The pods that are replaced together: a group whose pods need each other, else a single pod."""
        return str(section(pod, "metadata", "labels").get(self.together) or name_of(pod))

    def is_new(self, revision: str) -> bool:
        return revision == _NEW

    def remaining_work(self) -> str:
        new, old = self.members.available[_NEW], self.members.active[_OLD]
        if not self.wanted and not old and new >= self.total:
            return ""
        remain = f", {old} old {'pod remains' if old == 1 else 'pods remain'}" if old else ""
        return f"{new} of {self.total} pods of {self.owner} are available{remain}"


def alike(there: Object, body: Object) -> bool:
    """Whether a pod that is there may be one that should be: it has all that scheduling reads of it, maybe more."""
    template = template_of(body)
    labels = section(template, "metadata", "labels")
    for key in _HASHES:
        labels.pop(key, None)
    return matches_template(_as_read(there), template_of(_as_read({**body, **template})))


def _as_read(pod: Object) -> Object:
    """A pod with those fields only that scheduling reads, as a snapshot has it."""
    return plain(convert({**pod, "kind": "Pod", "apiVersion": "v1"}, Pod), "Pod")


def _by_number(name: str) -> tuple[str, int]:
    head, _, last = name.rpartition("-")
    return (head, int(last)) if last.isdecimal() else (name, -1)
