"""Updates by operators that replace pods themselves: which pods stay, and in which order the others are replaced.

Pods with a stable name are compared by name, others with any equal one. Two pods are equal if all that scheduling reads
of the new one is also in the old one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush

import msgspec

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
    """``targets`` are the pods that should come to be, by their place in the order; members of revision ``old`` go.

    An update one by one takes as many steps as there are pods, so no step looks at all of them: the name of a pod that
    should come is ``_waiting`` until the pod that has it is gone, and ``_free`` from then on.
    """

    owner: str
    order: UpdateOrder
    total: int
    wanted: dict[int, Wanted]
    together: str = ""
    _waiting: dict[str, list[int]] = field(default_factory=dict, init=False)
    _free: list[int] = field(default_factory=list, init=False)
    _free_units: dict[str, set[int]] = field(default_factory=dict, init=False)
    _going: list[RolloutPod] = field(default_factory=list, init=False)
    _old_units: dict[str, list[RolloutPod]] = field(default_factory=dict, init=False)

    def __post_init__(self, pods: Iterable[RolloutPod]) -> None:
        super().__post_init__(pods)
        for place, (body, _) in self.wanted.items():
            if (name := name_of(body)) in self._taken:
                self._waiting.setdefault(name, []).append(place)
            else:
                self._release(place)
        self._going = sorted(self.members.of(_OLD), key=lambda member: _by_number(member.name))
        for member in self._going:
            self._old_units.setdefault(self._unit_of(member.pod), []).append(member)

    @classmethod
    def of(
        cls,
        owner: str,
        pods: Sequence[Object],
        targets: Sequence[Wanted],
        order: UpdateOrder,
        admit: Admit,
        together: str = "",
    ) -> PodsRollout:
        """The update from the ``pods`` that are there to the ``targets``.

        One by one, pods that have one value of a label are replaced ``together``.
        """
        there = {name_of(pod): pod for pod in pods}
        staying: dict[str, None] = {}
        unnamed = EqualPods(pods)
        coming: list[Wanted] = []
        for body, claims in targets:
            name = name_of(body)
            if name:
                stays = name in there and (order == UpdateOrder.left or alike(there[name], body))
                same = name if stays else ""
            else:
                same = unnamed.find(body, staying)
            if same:
                staying[same] = None
            elif order != UpdateOrder.left or (name not in there and name):
                coming.append((body, claims))
        members = [
            member_of(pod, _NEW if name_of(pod) in staying or order == UpdateOrder.left else _OLD) for pod in pods
        ]
        return cls(members, admit, owner, order, len(targets), dict(enumerate(coming)), together)

    def sync(self) -> bool:
        if self.order == UpdateOrder.one_by_one:
            return self._replace_next()
        going = [member for member in self.members.of(_OLD) if member.active]
        if self.order == UpdateOrder.new_first:
            return self._create(self._free_places()) or (self._is_new_available() and self._remove(going))
        return self._remove(going) or self._create(self._free_places())

    def _is_new_available(self) -> bool:
        """Whether all pods that stay or came are ready, but those that are over."""
        return self.members.available[_NEW] >= self.members.active[_NEW]

    def _remove(self, members: Sequence[RolloutPod]) -> bool:
        for member in members:
            self.remove(member)
        return bool(members)

    def _replace_next(self) -> bool:
        """One unit comes where its names are free; else, once all that came are ready, the last one goes."""
        if self.members.terminating():
            return False
        if free := self._free_places():
            return self._create(sorted(self._free_units[self._unit_of(self.wanted[free[0]][0])]))
        if not self._is_new_available():
            return False
        while self._going and not self._is_here(self._going[-1]):
            self._going.pop()
        if not self._going:
            return False
        unit = self._old_units[self._unit_of(self._going[-1].pod)]
        return self._remove([member for member in unit if self._is_here(member)])

    def _is_here(self, member: RolloutPod) -> bool:
        return member in self.members and member.active

    def _free_places(self) -> list[int]:
        """The places of ``targets`` whose names no pod has, as a heap."""
        for member in self.members.take_changed():
            if member not in self.members:
                for place in self._waiting.pop(member.name, ()):
                    self._release(place)
        while self._free and self._free[0] not in self.wanted:
            heappop(self._free)
        return self._free

    def _release(self, place: int) -> None:
        heappush(self._free, place)
        self._free_units.setdefault(self._unit_of(self.wanted[place][0]), set()).add(place)

    def _create(self, places: Iterable[int]) -> bool:
        """Create the pods of these places; those that the API server refuses are tried again in the next pass."""
        came = False
        for place in sorted(place for place in places if place in self.wanted):
            wanted, claims = self.wanted[place]
            body = deep_copy_json(wanted)
            part_of(body, "metadata").setdefault("generateName", f"{name_of(body)}-")
            if self.create(body, _NEW, claims) is not None:
                self._free_units[self._unit_of(wanted)].discard(place)
                del self.wanted[place]
                came = True
        return came

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
    return matches_template(_as_read(there), _template_as_read(body))


class EqualPods:
    """Finds, for pods without a name that should be, the pods that are there and may be these.

    The search for a pod goes on where that for the last equal one ended, and looks only at pods with a label in
    common: thousands of pods take thousands of comparisons, not their square.
    """

    def __init__(self, pods: Sequence[Object]) -> None:
        self._pods = pods
        self._read: dict[int, Object] = {}
        self._searches: dict[bytes, Iterator[str]] = {}

    def find(self, body: Object, staying: Container[str]) -> str:
        """The name of the first pod that may be ``body`` and is not ``staying`` yet; empty if there is none."""
        template = _template_as_read(body)
        form = msgspec.json.encode(template, order="deterministic")
        search = self._searches.get(form)
        if search is None:
            search = self._searches[form] = self._search(template)
        return next((name for name in search if name not in staying), "")

    def _search(self, template: Object) -> Iterator[str]:
        for index in self._having(section(template, "metadata", "labels")):
            if index not in self._read:
                self._read[index] = _as_read(self._pods[index])
            if matches_template(self._read[index], template):
                yield name_of(self._pods[index])

    def _having(self, labels: Object) -> Sequence[int]:
        """Those that have the rarest of these labels."""
        having = [self._by_label.get(label, ()) for label in labels.items()]
        return min(having, key=len, default=range(len(self._pods)))

    @cached_property
    def _by_label(self) -> dict[tuple[str, object], list[int]]:
        by_label: defaultdict[tuple[str, object], list[int]] = defaultdict(list)
        for index, pod in enumerate(self._pods):
            for label in section(pod, "metadata", "labels").items():
                by_label[label].append(index)
        return dict(by_label)


def _template_as_read(body: Object) -> Object:
    """What of a pod that should be is compared: without the labels whose values are not known beforehand."""
    template = template_of(body)
    labels = section(template, "metadata", "labels")
    for key in _HASHES:
        labels.pop(key, None)
    return template_of(_as_read({**body, **template}))


def _as_read(pod: Object) -> Object:
    """A pod with those fields only that scheduling reads, as a snapshot has it."""
    return plain(convert({**pod, "kind": "Pod", "apiVersion": "v1"}, Pod), "Pod")


def _by_number(name: str) -> tuple[str, int]:
    head, _, last = name.rpartition("-")
    return (head, int(last)) if last.isdecimal() else (name, -1)
