"""A session: a cluster, a scheduler process, and the pods to schedule, which every question starts from."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Protocol, Self, Unpack

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.admission.response import Doubts, Object
from kwhatif.api.core import Node, Pod
from kwhatif.api.devices import ResourceClaim
from kwhatif.api.meta import Resource
from kwhatif.api.selectors import SelectorError
from kwhatif.api.workloads_and_storage import PersistentVolumeClaim
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.creation_turns import CreationTurns
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import Storage
from kwhatif.errors import InputError
from kwhatif.framework.interface import Dependency
from kwhatif.golang.parsing import parse_int
from kwhatif.results.base import Gap
from kwhatif.results.place import FailedCreate
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.controllers import with_claims
from kwhatif.scheduling.driver import Driver, DriverOptions
from kwhatif.scheduling.preemption_candidates import Budgets
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.queueing.queued_pods import NO_QUEUES, QueuedPods
from kwhatif.snapshot.format.model import Snapshot


class PodToSchedule(msgspec.Struct, frozen=True):
    """A pod of the question: its origin, the defaults that were filled in, a PriorityClass that does not exist, and its
    owner.

    ``edited``: it exists because of a what-if edit, so its workload need not be known. ``ran_before``: a pod like it
    ran before, so the API server accepts it. ``service_account`` is the account that it runs as, where a manifest has
    it.
    """

    pod: Pod
    origin: str = ""
    defaults: tuple[str, ...] = ()
    unknown_class: str = ""
    owner: str = ""
    edited: bool = False
    ran_before: bool = False
    service_account: str = ""


class CreatedLater(msgspec.Struct, frozen=True):
    """Pods that controllers could create after all, and the claims made for them."""

    pods: Sequence[PodToSchedule] = ()
    claims: Sequence[PersistentVolumeClaim | ResourceClaim] = ()


class Creations(Protocol):
    """The refused creations that controllers retry (``expansion/pending_creations.py``).

    ``pods`` were created since; ``created`` counts them by the reported failure.
    """

    created: Counter[FailedCreate]
    pods: list[PodToSchedule]

    def __bool__(self) -> bool:
        """Whether anything is left to be tried again."""

    def fork(self) -> Creations:
        """The same for another run."""

    def release(self, namespace: str, name: str) -> None:
        """A pod is gone for good."""

    def count(self, pods: Iterable[Object]) -> None:
        """These pods have been created by others."""

    def retry(self) -> CreatedLater:
        """What can be created now."""


def pending_pods(snapshot: Snapshot) -> list[PodToSchedule]:
    """The snapshot's own pods that wait for a node: who came to the queue first, as far as the snapshot can tell.

    A pod that was tried is at the end of the queue again (AddUnschedulableIfNotPresent of pkg/scheduler/backend/queue).
    The scheduler writes what it came to into the pod when that differs from the last time, which the version of the
    object shows; without versions pods come by age.
    """

    def sort() -> list[Pod]:
        waiting = filter(is_waiting, snapshot.objects.list_all(Pod))
        return sorted(waiting, key=_written_last)

    waiting = snapshot.objects.share(is_waiting, (Pod.__name__,), sort)
    return [PodToSchedule(pod, snapshot.source) for pod in waiting]


def _written_last(pod: Pod) -> tuple[int, str]:
    return parse_int(pod.metadata.resource_version or "") or 0, pod.metadata.creation_timestamp or ""


def is_waiting(pod: Pod) -> bool:
    """Whether a pod waits for a node."""
    return not pod.spec.node_name and not pod.is_finished


def is_unattempted(pod: Pod) -> bool:
    """Whether the scheduler has yet to take up a pod that waits: of one that it tried it says why there was no node.

    Upstream: handleSchedulingFailure of pkg/scheduler/schedule_one.go sets the condition; that of a pod with gates is
    the API server's.
    """
    tried = any(one.type == "PodScheduled" and one.reason != "SchedulingGated" for one in pod.status.conditions or ())
    return not (tried or pod.status.nominated_node_name or pod.metadata.deletion_timestamp)


class Session:
    """A cluster and the scheduler process that is asked about it.

    ``covered`` are the kinds the snapshot can be trusted to know, if not all those it holds; ``shapes`` those of an
    earlier session, so that pods are not looked through again; ``doubts`` are about the requests to the API server
    that led to the pods asked about, ``gaps`` what is missing in their manifests; if ``strict``, none may touch a pod
    of an answer. ``creations`` are those of controllers that were refused for want of quota, ``queues`` what Kueue
    decided; ``ties`` are pods of which an edit had one deleted by chance; pods of the snapshot that are ``made_later``
    (``namespace/name``) come in the turn of their StatefulSet. The other ``options`` are those of the process.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        setup: Setup,
        *,
        covered: Collection[str] | None = None,
        shapes: ShapeTable | None = None,
        doubts: Sequence[Doubts] = (),
        gaps: Sequence[Gap] = (),
        strict: bool = False,
        creations: Creations | None = None,
        queues: QueuedPods = NO_QUEUES,
        ties: Sequence[tuple[Object, Object]] = (),
        made_later: Collection[str] = (),
        **options: Unpack[DriverOptions],
    ) -> None:
        self.snapshot = snapshot
        self.setup = setup
        self.covered = snapshot.covered_kinds() if covered is None else frozenset(covered)
        self.doubts, self.creations, self.queues = doubts, creations, queues
        self.gaps, self.strict, self.ties = gaps, strict, ties
        self._made_later = made_later
        self._uids: Mapping[str, str] | None = None
        try:
            self.cluster = Cluster.load(snapshot.objects, setup.features, setup.queues, shapes)
        except (SelectorError, ValueError) as error:
            raise InputError(str(error), source=snapshot.source) from error
        self.cluster.storage.unknown = Storage.KINDS - (self.covered - snapshot.unreadable.keys())
        self.driver = Driver(self.cluster, setup, **options)

    def make_pods_in_turn(self) -> None:
        """Let StatefulSets make pods as those before them get a node, from now on; all that are there exist."""
        if self.cluster.creation_turns is None:
            self.cluster.creation_turns = CreationTurns(self.snapshot.objects, self._made_later)

    @property
    def created_later(self) -> Mapping[FailedCreate, int]:
        """The number of pods that controllers could create after all, by the reported failure."""
        return {} if self.creations is None else dict(self.creations.created)

    @cached_property
    def budgets(self) -> Budgets:
        return Budgets(self.cluster)

    def dependencies_by_kind(self) -> Mapping[str, Mapping[str, Dependency]]:
        """Kinds besides Node and Pod that the plugins in use read -> the plugins, by name, and what for."""
        dependencies: dict[str, dict[str, Dependency]] = {}
        for plugin in self.driver.plugins():
            for kind, reading in plugin.dependencies.items():
                dependencies.setdefault(kind, {})[plugin.name] = reading
        return dependencies

    @contextmanager
    def without(self, leaving: Sequence[tuple[PodInfo, int]]) -> Iterator[None]:
        """Its cluster as it would be if these pods, each with the row of its node, were gone."""
        cluster = self.cluster
        before = {row: cluster.pods_on[row] for _, row in leaving}
        for info, _ in leaving:
            cluster.forget(info.uid)
        try:
            yield
        finally:
            for info, row in leaving:
                cluster.assume(info, row)
            # Pods keep their order on a node.
            for row, pods in before.items():
                cluster.pods_on[row] = pods

    def info(self, pod_to_schedule: PodToSchedule, *, bound: bool = False) -> PodInfo:
        """Wrap a pod for this cluster; claims of its ephemeral volumes and of device templates are made, as their
        controllers would.

        Raises InputError for a selector that cannot be parsed.
        """
        try:
            pod = with_claims(pod_to_schedule.pod, self.cluster)
            info = self.cluster.shapes.info(pod, bound=bound)
        except (SelectorError, ValueError) as error:
            raise InputError(f"pod {pod_to_schedule.pod.key}: {error}", source=pod_to_schedule.origin) from error
        if not bound and pod.spec.scheduling_group is not None:
            # It counts towards its group's quorum as soon as it is there.
            self.cluster.pod_groups.add(info, pending=True)
        if any(other.uid == info.uid for other in self.cluster.nominated.get(info.nominated, ())):
            # From now on the nomination is this one's to lose.
            self.cluster.nominate(info, info.nominated)
        return info

    def reason_of_gate(self, attempt: Attempt) -> str:
        """Why a pod is not tried: for one that Kueue holds its reason; empty for one that is."""
        if attempt.gated is None:
            return ""
        return self.queues.held.get(attempt.pod.key) or attempt.gated.message

    def change_nodes(self, nodes: Sequence[Node]) -> None:
        """Nodes that are there change while pods are placed: whether they take pods, and their taints."""
        cluster = self.cluster
        cluster.change_nodes(nodes)
        if not all(scheduler.framework.is_in_tree for scheduler in self.driver.in_use):
            # What others worked out of taints is of the nodes as they were.
            cluster.drop_tallies()
            for scheduler in self.driver.in_use:
                scheduler.start_over()

    def running(self, pod: Pod) -> tuple[PodInfo, int] | None:
        """The pod of the cluster with this identity or name, and the row of its node."""
        pod_and_row = self.cluster.find(pod.identity)
        if pod_and_row is None:
            uid = self.uid_of(pod.key)
            pod_and_row = None if uid is None else self.cluster.find(uid)
        return pod_and_row

    def uid_of(self, key: str) -> str | None:
        """The uid of a pod that ran when this was first called, by ``namespace/name``."""
        if self._uids is None:
            self._uids = self.cluster.uids()
        return self._uids.get(key)

    def before_binding(self, pod_to_schedule: PodToSchedule) -> tuple[Session, PodToSchedule]:
        """The pod as it was before it got its node, and a session of the same cluster where it does not run yet."""
        pod = pod_to_schedule.pod
        pod_and_row = self.running(pod)
        if pod.spec.node_name:
            pod_to_schedule = structs.replace(pod_to_schedule, pod=replace(pod, spec=replace(pod.spec, node_name=None)))
        if pod_and_row is None:
            return self, pod_to_schedule
        earlier = self.sandbox()
        earlier.cluster.remove_pod(pod_and_row[0].uid, deleted=False)
        return earlier, pod_to_schedule

    def join(self, nodes: Sequence[Node], pods: Sequence[Pod] = (), others: Sequence[Resource] = ()) -> None:
        """Add new nodes, with the pods that are bound to them and the objects that come with them."""
        self.snapshot = self.snapshot.copy()
        for node in (*nodes, *others):
            self.snapshot.objects.add(node)
        self.cluster.objects = self.snapshot.objects
        self.driver.add_nodes(nodes, pods)

    def driven_by(self, driver: Driver) -> Session:
        """A session of the cluster of another scheduler process for the same snapshot."""
        other = copy.copy(self)
        other.__dict__.pop("budgets", None)
        other.driver, other.cluster, other._uids = driver, driver.cluster, None
        return other._fork_creations()

    def _fork_creations(self) -> Self:
        self.creations = None if self.creations is None else self.creations.fork()
        return self

    def replace_cluster(self, cluster: Cluster) -> None:
        """Use another cluster of the same snapshot from now on; the scheduler process has to be restarted."""
        self.__dict__.pop("budgets", None)
        self._uids = None
        self.cluster = self.driver.cluster = cluster

    def with_snapshot(
        self,
        snapshot: Snapshot,
        *,
        covered: Collection[str] | None = None,
        shapes: ShapeTable | None = None,
        **options: Unpack[DriverOptions],
    ) -> Session:
        """A session of another snapshot, derived from this one, for the same scheduler.

        It covers the kinds that this one covers, unless ``covered`` says otherwise.
        """
        known = self.covered if covered is None else covered
        return Session(
            snapshot,
            self.setup,
            covered=known,
            shapes=shapes,
            doubts=self.doubts,
            gaps=self.gaps,
            strict=self.strict,
            queues=self.queues,
            ties=self.ties,
            **options,
        )

    def fork(self, setup: Setup | None = None, **options: Unpack[DriverOptions]) -> Session:
        """A session of a copy of the cluster as it is, with a scheduler process that has done nothing yet."""
        other = copy.copy(self)
        other.__dict__.pop("budgets", None)
        other.setup, other._uids = setup or self.setup, None
        other.cluster = self.cluster.fork()
        other.driver = Driver(other.cluster, other.setup, **options)
        return other._fork_creations()

    def sandbox(self) -> Session:
        """A session of a copy of the cluster, to try changes in."""
        other = copy.copy(self)
        # What was worked out of the cluster is about that one.
        other.__dict__.pop("budgets", None)
        other.driver, other._uids = self.driver.sandbox(), None
        other.cluster = other.driver.cluster
        return other._fork_creations()
