"""What a controller has made so far, and what it could not make.

Pods come into being through the API server, which may refuse them; controllers say so in an event and try again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from kwhatif.admission.answer import Answer, Change, Created, Object, Refused
from kwhatif.admission.world import World
from kwhatif.bounds import make_room
from kwhatif.progress import tracked
from kwhatif.workloads.objects import name_of, namespace_of
from kwhatif.workloads.pods import device_claims, ephemeral_claims


class Server(Protocol):
    """The part of the API server that controllers talk to."""

    @property
    def world(self) -> World: ...

    def create(self, obj: Object) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Failed:
    """An event that tells of a failure: its text as upstream's, and how many pods did not come to be for it."""

    owner: str
    message: str
    pods: int


@dataclass(frozen=True, slots=True)
class Made:
    """What became of one object. ``changes`` has one trail for each of the pods, in their order.

    ``objects`` are the controllers in between: the replica set of a deployment, the job of a cron job.
    """

    pods: tuple[Object, ...] = ()
    claims: tuple[Object, ...] = ()
    objects: tuple[Object, ...] = ()
    refusals: tuple[Failed, ...] = ()
    changes: tuple[tuple[Change, ...], ...] = ()

    @property
    def missing(self) -> int:
        """How many pods did not come to be."""
        return sum(failed.pods for failed in self.refusals)


@dataclass
class Making:
    """Creates one object after the other and keeps the record."""

    server: Server
    pods: list[Object] = field(default_factory=list)
    claims: list[Object] = field(default_factory=list)
    objects: list[Object] = field(default_factory=list)
    refusals: list[Failed] = field(default_factory=list)
    changes: list[tuple[Change, ...]] = field(default_factory=list)

    def made(self) -> Made:
        return Made(
            tuple(self.pods), tuple(self.claims), tuple(self.objects), tuple(self.refusals), tuple(self.changes)
        )

    def failed(self, owner: Object, message: str, pods: int) -> None:
        self.refusals.append(Failed(f"{owner.get('kind')} {name_of(owner)}", message, pods))

    def controller(self, body: Object, owner: Object, complaint: str, pods: int) -> Object | None:
        """A controller that another one makes; ``complaint`` opens the event if it is refused."""
        answer = self.server.create(body)
        if isinstance(answer, Created):
            self.objects.append(answer.object)
            return answer.object
        self.failed(owner, f"{complaint}: {answer.message}", pods)
        return None

    def pods_of(self, owner: Object, number: int, body_of: Callable[[int], Object]) -> None:
        """So many pods that are alike but for their names: once one is refused, so would be the rest."""
        make_room(number, f"{owner.get('kind')} {name_of(owner)}")
        for place in tracked(range(number), "Making", "pods"):
            refused = self.pod(body_of(place))
            if refused:
                self.failed(owner, f"Error creating: {refused.message}", number - place)
                return

    def pod(self, body: Object) -> Refused | None:
        """One pod and the claims of its ephemeral volumes; None when all went well."""
        answer = self.server.create(body)
        if isinstance(answer, Refused):
            return answer
        self.keep(answer.object, answer.changes)
        return None

    def keep(self, pod: Object, changes: tuple[Change, ...] = ()) -> None:
        """A pod that has come to be."""
        self.pods.append(pod)
        self.changes.append(changes)
        for claim in ephemeral_claims(pod):
            refused = self.claim(claim)
            if refused:
                volume = name_of(claim).removeprefix(f"{name_of(pod)}-")
                text = f"ephemeral volume {volume}: create PVC {name_of(claim)}: {refused.message}"
                self.failed(pod, text, 0)
        for body in device_claims(pod, self.server.world):
            answer = self.server.create(body)
            if isinstance(answer, Refused):
                self.failed(pod, f"create ResourceClaim {name_of(body)}: {answer.message}", 0)
            else:
                self.claims.append(answer.object)

    def claim(self, body: Object) -> Refused | None:
        """One claim, unless it is there already."""
        if self.server.world.get("PersistentVolumeClaim", namespace_of(body), name_of(body)):
            return None
        answer = self.server.create(body)
        if isinstance(answer, Refused):
            return answer
        self.claims.append(answer.object)
        return None
