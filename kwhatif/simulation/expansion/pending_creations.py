"""Pods that a ResourceQuota kept controllers from making: they are tried again once pods have left their namespace.

Upstream: a controller that is refused a pod puts its object back into its queue, with a backoff that grows (the rate
limiter of pkg/controller/replicaset, job, statefulset, daemon). Here it tries again as soon as a quota has room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kwhatif.admission.object_store import namespace_of
from kwhatif.admission.response import Object
from kwhatif.admission.server import ApiServer
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.objects import part_of
from kwhatif.api.times import convert_object
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.results.place import FailedCreate
from kwhatif.simulation.expansion.objects import display_name_of, pod_to_schedule_of
from kwhatif.simulation.session import CreatedLater, PodToSchedule
from kwhatif.workloads.object_creation import CreationFailure, ObjectCreator

Claim = PersistentVolumeClaim | ResourceClaim
_QUOTA = "exceeded quota: "


@dataclass(frozen=True)
class _RefusedCreation:
    """A pod that a controller failed to create: the failure as reported (``told``), and how the creation is resumed."""

    told: FailedCreate
    workload: str
    origin: str
    namespace: str
    retry: Callable[[ObjectCreator], None]


class PendingCreations:
    """Creations that ``server`` refused and that are retried.

    ``pods`` were created since; ``created`` counts them by the reported failure.
    """

    def __init__(self, server: ApiServer, refused: Sequence[_RefusedCreation] = ()) -> None:
        self._server, self._refused = server, list(refused)
        self._freed: set[str] = set()
        self.created: Counter[FailedCreate] = Counter()
        self.pods: list[PodToSchedule] = []

    def record_failures(
        self, failures: Iterable[CreationFailure], workload: Object, origin: str
    ) -> Iterator[FailedCreate]:
        """Record the reported failures of a workload's controllers; creations refused for lack of quota are retried."""
        for each in failures:
            told = FailedCreate(owner=each.owner, message=each.message, pods=each.pods, origin=origin)
            if each.retry is not None and _QUOTA in each.message:
                name = display_name_of(workload)
                self._refused.append(_RefusedCreation(told, name, origin, namespace_of(workload), each.retry))
            yield told

    def __bool__(self) -> bool:
        return bool(self._refused)

    def fork(self) -> PendingCreations:
        """The same for another run. What is created there counts for no quota here."""
        if not (self._refused or self.created):
            return self
        other = PendingCreations(self._server.fork(), self._refused)
        other._freed, other.created, other.pods = set(self._freed), Counter(self.created), list(self.pods)
        return other

    def release(self, namespace: str, name: str) -> None:
        """Account for a pod that is gone for good, so that no controller recreates it."""
        world = self._server.world
        if self._refused and world.get("Pod", namespace, name) is not None:
            world.remove("Pod", namespace, name)
            self._freed.add(namespace)

    def count(self, pods: Iterable[Object]) -> None:
        """Account for pods that were created elsewhere."""
        for pod in pods if self._refused else ():
            self._server.world.put(pod)

    def retry(self) -> CreatedLater:
        """The pods that controllers can create now, in the order in which they were refused."""
        pods, claims, left = list[PodToSchedule](), list[Claim](), list[_RefusedCreation]()
        for each in self._refused:
            if each.namespace not in self._freed:
                left.append(each)
                continue
            making = ObjectCreator(self._server)
            each.retry(making)
            made = making.build_result()
            world = self._server.world
            pods += [
                pod_to_schedule_of(pod, world, each.origin, each.workload, changes)
                for pod, changes in zip(made.pods, made.changes, strict=True)
            ]
            claims += map(convert_claim, made.claims)
            self.created[each.told] += len(made.pods)
            left += [
                _RefusedCreation(each.told, each.workload, each.origin, each.namespace, failure.retry)
                for failure in made.refusals
                if failure.retry is not None
            ]
        self._refused, self._freed = left, set()
        self.pods += pods
        return CreatedLater(pods, claims)


def convert_claim(claim: Object) -> Claim:
    """A claim as scheduling reads it."""
    struct: type[Claim] = ResourceClaim if part_of(claim, "kind") == "ResourceClaim" else PersistentVolumeClaim
    return convert_object(claim, struct)
