"""What became of manifests: pods, other objects, refusals, pods that are not created, and the updates that are
still to be rolled out.

An update asks the API server for each pod and claim when its turn comes, since that depends on which pods find a node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from kwhatif.admission.object_store import ObjectStore, name_of, namespace_of
from kwhatif.admission.response import Doubts, Object, RequestRefusal
from kwhatif.admission.server import ApiServer
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.meta import Resource
from kwhatif.api.objects import part_of, section
from kwhatif.api.times import convert_object
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.errors import InputError
from kwhatif.results.expand import ChangeRecord
from kwhatif.results.place import FailedCreate, Refusal, RequestWarning
from kwhatif.simulation.expansion.objects import at_home, display_name_of, pod_to_schedule_of
from kwhatif.simulation.expansion.scaled_workloads import ScaledWorkload
from kwhatif.simulation.expansion.snapshot_objects import drop_emptied_volumes, restore_template
from kwhatif.simulation.session import CreatedLater, Creations, PodToSchedule
from kwhatif.workloads.object_creation import CreationFailure, ObjectCreator, create_unless_there, device_claims
from kwhatif.workloads.objects import integer, last_moment_of, moment
from kwhatif.workloads.rollout import Plan, plan_rollout
from kwhatif.workloads.rollout_state import Admit, Step
from kwhatif.workloads.rollout_state import Rollout as PodRollout

Claim = PersistentVolumeClaim | ResourceClaim
_QUOTA = "exceeded quota: "


class _RefusedCreation(msgspec.Struct, frozen=True):
    """A pod that a controller failed to create: the failure as reported, and how the creation is resumed."""

    failure: FailedCreate
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
        for creation_failure in failures:
            failure = FailedCreate(
                owner=creation_failure.owner,
                message=creation_failure.message,
                pods=creation_failure.pods,
                origin=origin,
            )
            if creation_failure.retry is not None and _QUOTA in creation_failure.message:
                name = display_name_of(workload)
                self._refused.append(
                    _RefusedCreation(failure, name, origin, namespace_of(workload), creation_failure.retry)
                )
            yield failure

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
        for creation in self._refused:
            if creation.namespace not in self._freed:
                left.append(creation)
                continue
            making = ObjectCreator(self._server)
            creation.retry(making)
            made = making.build_result()
            world = self._server.world
            pods += [
                pod_to_schedule_of(pod, world, creation.origin, creation.workload, changes)
                for pod, changes in zip(made.pods, made.changes, strict=True)
            ]
            claims += map(convert_claim, made.claims)
            self.created[creation.failure] += len(made.pods)
            left += [
                _RefusedCreation(
                    creation.failure, creation.workload, creation.origin, creation.namespace, failure.retry
                )
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


Operated = Callable[[Sequence[Object], Admit], PodRollout]
"""Begins an update that an operator rolls out."""


class ExpandedManifests(msgspec.Struct):
    """What became of manifests.

    ``pods`` are to be scheduled, in order of creation. ``objects`` are others that the scheduler reads,
    ``unknown`` counts unknown kinds, ``warnings`` are the API server's, and ``doubts`` what is not known
    of it. ``world`` has all objects as the API server stores them, and ``plans`` are the updates that were begun.
    ``unreadable`` is what is wrong with objects of directories that are left out, by file.
    ``scaled`` are the workloads whose replicas an autoscaler of pods decides, ``creations`` what controllers try again.
    """

    pods: list[PodToSchedule] = []
    whole: dict[str, Object] = {}
    trails: dict[str, tuple[ChangeRecord, ...]] = {}
    objects: list[Resource] = []
    claims: list[Object] = []
    refusals: list[Refusal] = []
    failed: list[FailedCreate] = []
    rollouts: list[Rollout] = []
    unknown: Counter[str] = msgspec.field(default_factory=Counter)
    warnings: list[RequestWarning] = []
    world: ObjectStore = msgspec.field(default_factory=ObjectStore)
    plans: list[Plan] = []
    doubts: list[Doubts] = []
    scaled: list[ScaledWorkload] = []
    creations: Creations | None = None
    unreadable: dict[str, InputError] = {}

    def all_pods(self) -> Iterator[PodToSchedule]:
        """All pods, those of updates as if every new pod found its node."""
        yield from self.pods
        for rollout in self.rollouts:
            for step in rollout.begin(lambda pod: True, {}):
                yield from map(rollout.pods_to_schedule, step.creates)

    def record_pod(self, pod: Object, origin: str, owner: str, changes: tuple[ChangeRecord, ...]) -> PodToSchedule:
        """A pod to be scheduled as the API server stores it, kept whole for what is asked about it later."""
        item = pod_to_schedule_of(pod, self.world, origin, owner, changes)
        self.whole[item.pod.key], self.trails[item.pod.key] = pod, changes
        return item

    def add(self, other: ExpandedManifests) -> None:
        """Add the results of other manifests, except pods and updates."""
        for name in ("objects", "claims", "refusals", "failed", "warnings", "doubts", "scaled"):
            getattr(self, name).extend(getattr(other, name))
        self.whole.update(other.whole)
        self.trails.update(other.trails)
        self.unknown.update(other.unknown)
        self.unreadable.update(other.unreadable)

    @property
    def empty(self) -> bool:
        """Whether nothing in here has, or would have had, pods."""
        return not (self.pods or self.refusals or self.failed or self.rollouts)


class Rollout:
    """The update of one workload, not planned yet, since it depends on which pods find a node.

    ``assumed``: the template is assumed to be unchanged, though the snapshot leaves out parts of it (``dropped``).
    ``resumed``: no manifest updates the workload; its controller goes on once a pod that waits has found a node.
    """

    def __init__(
        self,
        old: Object,
        new: Object,
        origin: str,
        server: ApiServer,
        done: ExpandedManifests,
        *,
        nodes: Sequence[Object],
        dropped: Collection[str],
        taken_at: str | None,
        operated: Operated | None = None,
        resumed: bool = False,
    ) -> None:
        self.resumed = resumed
        self.name, self.namespace, self.origin = display_name_of(new), namespace_of(new), origin
        self._old, self._new = restore_template(old, new, dropped), new
        self.assumed = self._old is not old
        self._server, self._world, self._done = server, server.world, done
        self._nodes, self._dropped, self._taken_at, self._operated = nodes, dropped, taken_at, operated
        self._trails: dict[str, tuple[ChangeRecord, ...]] = {}
        self._failures: dict[tuple[str, str], FailedCreate] = {}
        self._created: list[Claim] = []
        self.plan: Plan | None = None
        """The plan that was begun last."""

    @property
    def wants_pods(self) -> bool:
        """Whether the workload is to have any pods, as far as its replicas tell."""
        return integer(section(self._new, "spec").get("replicas"), 1) > 0

    def begin(self, ready: Callable[[Object], bool], homes: Mapping[str, str]) -> Plan:
        """Start the plan; ``homes`` are the nodes that pods of the cluster, by ``namespace/name``, have found."""
        pods = [at_home(pod, homes) for pod in self._world.all("Pod", self.namespace)]
        if self._operated is None:
            sets = self._world.all("ReplicaSet", self.namespace)
            begun = plan_rollout(
                self._old,
                self._new,
                pods,
                self._nodes,
                ready,
                admit=self._admit,
                gone=self._delete_pod,
                create_claim=self._create_claim,
                replica_sets=[restore_template(pod_set, self._new, self._dropped) for pod_set in sets],
                now=moment(self._taken_at) or last_moment_of(pods),
                max_unavailable_stateful_set=self._server.features.max_unavailable_stateful_set,
            )
        else:
            begun = Plan(self._operated(pods, self._admit), ready, self._delete_pod, self._create_claim)
        if self.resumed:
            begun.rest()
        self._done.plans.append(begun)
        self.plan = begun
        return begun

    def pods_to_schedule(self, pod: Object) -> PodToSchedule:
        """A pod of the plan, to be scheduled."""
        return self._done.record_pod(pod, self.origin, self.name, self._trails.get(name_of(pod), ()))

    def claims(self, step: Step | None = None) -> list[Claim]:
        """The claims that came with a step, and those of pods that were refused after their claims had been created."""
        for body in () if step is None else (*step.claims, *self._device_claims(step)):
            self._create_claim(body)
        created, self._created = self._created, []
        return created

    def _device_claims(self, step: Step) -> Iterator[Object]:
        return (body for pod in step.creates for body in device_claims(pod, self._world))

    def delete_claims(self, step: Step) -> list[tuple[str, str]]:
        """The claims (namespace, name) that go with a step."""
        for claim in step.deleted_claims:
            self._world.remove("PersistentVolumeClaim", self.namespace, claim)
        return [(self.namespace, claim) for claim in step.deleted_claims]

    def _admit(self, body: Object) -> Object | None:
        answer = self._server.create(drop_emptied_volumes(body, self._dropped))
        if isinstance(answer, RequestRefusal):
            self._record_failure(body, f"Error creating: {answer.message}", pods=1)
            return None
        self._forget_failure(answer.object)
        self._trails[name_of(answer.object)] = answer.changes
        return answer.object

    def _delete_pod(self, pod: Object) -> None:
        self._world.remove("Pod", namespace_of(pod), name_of(pod))

    def _create_claim(self, body: Object) -> bool:
        answer = create_unless_there(self._server, body)
        if answer is None:
            return True
        if isinstance(answer, RequestRefusal):
            self._record_failure(body, f"failed to create PVC {name_of(body)}: {answer.message}", pods=0)
            return False
        self._forget_failure(answer.object)
        typed = convert_claim(answer.object)
        self._created.append(typed)
        self._done.claims.append(answer.object)
        self._done.objects.append(typed)
        return True

    def _record_failure(self, body: Object, message: str, *, pods: int) -> None:
        if self.resumed:
            # That is nothing which the question has brought about.
            return
        # The last refusal of an object is the one that holds.
        self._forget_failure(body)
        failed = FailedCreate(owner=self.name, message=message, pods=pods, origin=self.origin)
        self._failures[part_of(body, "kind"), name_of(body)] = failed
        if failed not in self._done.failed:
            self._done.failed.append(failed)

    def count_missing(self, pods: int) -> None:
        """Count all pods that are not there, of those that are in the end: a controller stops at the first refusal."""
        failed = [fromkey for fromkey in dict.fromkeys(self._failures.values()) if fromkey.pods]
        wanted = section(self._new, "spec").get("replicas")
        missing = integer(wanted, 0) - pods - sum(failed_create.pods for failed_create in failed)
        if failed and missing > 0:
            place = self._done.failed.index(failed[0])
            self._done.failed[place] = replace(failed[0], pods=failed[0].pods + missing)

    def _forget_failure(self, obj: Object) -> None:
        """A controller has tried again."""
        created = self._failures.pop((part_of(obj, "kind"), name_of(obj)), None)
        if created is not None and created not in self._failures.values():
            self._done.failed.remove(created)
