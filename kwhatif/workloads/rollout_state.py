"""The state of a workload during an update: its pods, the changes since the last step, and the controller's next pass.

Each kind of controller is a subclass with one method, ``sync``: a single pass, as upstream's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import InitVar, dataclass, field

import msgspec

from kwhatif.admission.response import Object
from kwhatif.api.objects import part_of, section
from kwhatif.workloads.object_creation import ephemeral_claims
from kwhatif.workloads.objects import is_over, is_ready, name_of
from kwhatif.workloads.rollout_members import Members, RolloutPod

Ready = Callable[[Object], bool]
"""Asked between two steps of every pod that the plan made and that is not ready: has it become so?"""

Admit = Callable[[Object], Object | None]
"""What the API server makes of a new pod; None if it refuses it."""


PodDeleted = Callable[[Object], None]
"""Called for each pod that has disappeared: its name is free again, and so is its quota."""


ClaimNeeded = Callable[[Object], bool]
"""Called for each claim that a pod needs before it is created; False if the API server refuses the claim, or if the one
that is there is being deleted."""


class Counts(msgspec.Struct, frozen=True):
    """Pods of the revision that goes and of the one that comes."""

    old: int
    new: int


class Step(msgspec.Struct, frozen=True):
    """The state when the controllers have come to rest, and the changes that led to it.

    ``creates`` are the plan's own pods: a caller that places one sets its ``spec.nodeName``. ``removes`` are names; a
    pod with a node keeps its room until the next step, and counts as terminating. ``claims`` are those of ephemeral
    volumes of the created pods; ``deleted_claims`` are the names of those that go with removed pods.
    """

    live: Counts
    terminating: Counts
    creates: tuple[Object, ...]
    removes: tuple[str, ...]
    claims: tuple[Object, ...] = ()
    deleted_claims: tuple[str, ...] = ()


@dataclass
class Rollout(ABC):
    """Common to all kinds: pods are created and deleted, and counted by revision."""

    pods: InitVar[Iterable[RolloutPod]]
    admit: Admit
    gone: PodDeleted = field(default=lambda pod: None, init=False)
    create_claim: ClaimNeeded = field(default=lambda claim: True, init=False)
    refused: set[str] = field(default_factory=set, init=False)
    ties: list[tuple[RolloutPod, RolloutPod]] = field(default_factory=list, init=False)
    """Pairs of pods of which one was deleted first by chance."""
    members: Members = field(init=False)
    _created: dict[RolloutPod, None] = field(default_factory=dict, init=False)
    _removed: list[RolloutPod] = field(default_factory=list, init=False)
    _claims: list[Object] = field(default_factory=list, init=False)
    _deleted_claims: list[str] = field(default_factory=list, init=False)
    _numbers: dict[str, int] = field(default_factory=dict, init=False)
    _taken: set[str] = field(default_factory=set, init=False)

    def __post_init__(self, pods: Iterable[RolloutPod]) -> None:
        self.members = Members(pods)
        self._taken = {member.name for member in self.members}

    @abstractmethod
    def sync(self) -> bool:
        """One pass of the controllers; returns whether it changed anything."""

    @abstractmethod
    def is_new(self, revision: str) -> bool:
        """Whether it is the revision that comes."""

    @abstractmethod
    def remaining_work(self) -> str:
        """What is still to be done, in words; empty when the update is complete."""

    def settle(self, ready: Ready) -> bool:
        """Terminating pods disappear, and pods become ready. Returns whether anything changed."""
        leaving = self.members.terminating()
        for member in leaving:
            self.members.discard(member)
            self.gone(member.pod)
        coming = [member for member in self.members.unready() if ready(member.pod)]
        for member in coming:
            self.members.make_ready(member)
        return bool(leaving or coming)

    def take_step(self) -> Step | None:
        """The changes since the last call; None if there are none."""
        if not self._created and not self._removed:
            return None
        step = Step(
            self._counts(self.members.active),
            self._counts(self.members.leaving),
            tuple(member.pod for member in self._created),
            tuple(member.name for member in self._removed),
            tuple(self._claims),
            tuple(self._deleted_claims),
        )
        for member in self._created:
            member.fresh = False
        self._created, self._removed, self._claims, self._deleted_claims = {}, [], [], []
        return step

    def create(self, body: Object, revision: str, claims: Sequence[Object] = ()) -> RolloutPod | None:
        """Create a pod once its ``claims`` are there, unless the API server refuses one of them. A pod without a name
        is numbered.
        """
        metadata = part_of(body, "metadata")
        prefix = part_of(metadata, "generateName")
        numbered = not metadata.get("name")
        if numbered:
            metadata["name"] = self._next_name(prefix)
        claimed = [self.create_claim(claim) for claim in claims]
        pod = self.admit(body) if all(claimed) else None
        if pod is None:
            self.refused.add(name_of(body))
            return None
        if numbered:
            self._numbers[prefix] = int(metadata["name"].removeprefix(prefix))
        self.refused.discard(name_of(body))
        self._taken.add(name_of(pod))
        member = RolloutPod(pod, revision, ready=False, awaited=True, fresh=True)
        self.members.add(member)
        self._created[member] = None
        self._claims += ephemeral_claims(pod)
        return member

    def remove(self, member: RolloutPod) -> None:
        """Delete a pod: one with a node terminates, any other is gone at once."""
        if member.fresh:
            del self._created[member]
        else:
            self._removed.append(member)
        if section(member.pod, "spec").get("nodeName") and not is_over(member.pod) and not member.fresh:
            self.members.terminate(member)
        else:
            self.members.discard(member)
            self.gone(member.pod)

    def _next_name(self, prefix: str) -> str:
        number = self._numbers.get(prefix, 0) + 1
        while f"{prefix}{number}" in self._taken:
            number += 1
        return f"{prefix}{number}"

    def _counts(self, pods: Counter[str]) -> Counts:
        new = sum(number for revision, number in pods.items() if self.is_new(revision))
        return Counts(pods.total() - new, new)


def member_of(pod: Object, revision: str) -> RolloutPod:
    """A pod as it is in the cluster."""
    gone = bool(section(pod, "metadata").get("deletionTimestamp"))
    return RolloutPod(pod, revision, ready=is_ready(pod) and not is_over(pod), terminating=gone)
