"""A cluster that follows a recording: each change is applied as the scheduler's informers would; and the changes that
do not follow from the scheduler's decisions.

Volumes that a claim gets with its pod, and devices, are decided by the simulated scheduler, so they are not taken from
the recording.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Node, Pod
from kwhatif.api.devices import ClaimStatus, ResourceClaim
from kwhatif.api.kinds import KINDS
from kwhatif.api.meta import Resource
from kwhatif.api.workloads_and_storage import PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from kwhatif.cluster.columns import zone_key_of
from kwhatif.cluster.storage import storage_class_of
from kwhatif.commands.backtest.pod_lives import LifeReader, PodLives
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.preemption_candidates import Budgets
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.snapshot.read.objects import resource_of
from kwhatif.snapshot.recording import Change, Recording, rfc3339


class _NodeTree:
    """The order in which the scheduler lists the nodes while they come and go.

    A node stands behind those of its zone that came before, and a zone behind those that had a node before. It keeps
    its place while it has nodes, also when its first one goes. Upstream: pkg/scheduler/backend/cache/node_tree.go.
    """

    def __init__(self) -> None:
        self._turns: dict[tuple[str, tuple[str, str]], int] = {}
        self._zones: dict[tuple[str, str], int] = {}

    def put(self, old: Resource | None, new: Resource | None, nodes: Iterable[Resource]) -> None:
        """A node came, changed or went; ``nodes`` are there now. One whose change is taken back has its former turn."""
        if isinstance(new, Node):
            zone = zone_key_of(new)
            turn = self._turns.setdefault((new.metadata.uid or new.name, zone), len(self._turns))
            self._zones.setdefault(zone, turn)
        if isinstance(old, Node) and (not isinstance(new, Node) or zone_key_of(old) != zone_key_of(new)):
            there = {zone_key_of(node) for node in nodes if isinstance(node, Node)}
            self._zones = {zone: turn for zone, turn in self._zones.items() if zone in there}

    def sort(self, nodes: Iterable[Resource]) -> list[Resource]:
        """The nodes zone by zone."""

        def turn_of(node: Resource) -> tuple[int, int]:
            assert isinstance(node, Node)
            zone = zone_key_of(node)
            return self._zones[zone], self._turns[node.metadata.uid or node.name, zone]

        return sorted(nodes, key=turn_of)


class ChangingObjects:
    """A session's objects while they change. Those that its schedulers read are read again on request."""

    def __init__(self, session: Session) -> None:
        self._session = session
        session.snapshot = session.snapshot.copy()
        session.cluster.objects = session.snapshot.objects
        self._listed: dict[str, dict[tuple[str, str], Resource]] = {
            kind: {(obj.namespace, obj.name): obj for obj in listed}
            for kind, listed in session.snapshot.objects.by_kind().items()
        }
        self._tree = _NodeTree()
        for node in session.snapshot.objects.list_all(Node):
            self._tree.put(None, node, ())
        session.driver.set_up_all()
        self.readers = {kind: frozenset(plugins) for kind, plugins in session.dependencies_by_kind().items()}
        """Kind -> the plugins that read it, besides Node and Pod."""
        self._changed: set[str] = set()

    def put(self, kind: str, key: tuple[str, str], obj: Resource | None) -> Resource | None:
        """Replace or remove an object; returns the former one."""
        listed = self._listed.setdefault(kind, {})
        old = listed.get(key)
        if obj == old:
            return old
        if obj is None:
            del listed[key]
        else:
            listed[key] = obj
        if kind == Node.__name__:
            self._tree.put(old, obj, listed.values())
        if kind != Pod.__name__:
            self._changed.add(kind)
        return old

    def objects_of(self, kind: str) -> dict[tuple[str, str], Resource]:
        """All objects of a kind, by namespace and name."""
        return self._listed.get(kind, {})

    def reread(self) -> set[str]:
        """Have the schedulers read what changed; returns the changed kinds."""
        changed, self._changed = self._changed, set()
        for kind in changed:
            listed = self._listed[kind].values()
            self._session.snapshot.objects.put(
                KINDS[kind], self._tree.sort(listed) if kind == Node.__name__ else listed
            )
        if not changed.isdisjoint({Node.__name__, *self.readers}):
            self._session.driver.reread(changed)
        return changed


class RecordedCluster:
    """The state of a recording at one moment, and the scheduler process that is asked then.

    Pods come and go one by one. Of other kinds, those that changed are read again before the scheduler is asked, if it
    reads any of them.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._objects = ChangingObjects(session)

    def apply(self, kind: str, key: tuple[str, str], obj: Resource | None) -> Resource | None:
        """Replace or remove an object; returns the former one."""
        old = self._objects.put(kind, key, obj)
        if kind == Pod.__name__ and obj != old:
            self._move(old, obj)
        return old

    def pod(self, key: tuple[str, str]) -> Pod | None:
        resource = self._objects.objects_of("Pod").get(key)
        return resource if isinstance(resource, Pod) else None

    @property
    def names(self) -> Sequence[str]:
        """The names of the nodes, by row."""
        return self.session.cluster.columns.names

    def pods_on(self, node: str) -> list[Pod]:
        """The pods bound to a node."""
        pods = self._objects.objects_of("Pod").values()
        return [pod for pod in pods if isinstance(pod, Pod) and pod.spec.node_name == node]

    def with_budgets_of(self, some: Sequence[Pod], pods: Sequence[Pod]) -> list[Pod]:
        """Those of the ``pods`` that have a budget in common with ``some``."""
        budgets, shapes = Budgets(self.session.cluster), self.session.cluster.shapes
        about = {pod.key: set(budgets.indices_of(shapes.info(pod, bound=True).shape)) for pod in (*some, *pods)}
        theirs = set().union(*(about[pod.key] for pod in some))
        return [pod for pod in pods if about[pod.key] & theirs]

    def decides_about(self, pod: Pod) -> bool:
        """Whether the pod is for one of this process's schedulers."""
        return self.session.driver.scheduler(pod.spec.scheduler_name) is not None

    def ask(self, pod: Pod, begin: int | None = None) -> Attempt:
        """The decision about a pod now, without acting on it.

        ``begin`` is the row of the node that its search begins at, if not where the last decision left off.
        """
        self._objects.reread()
        info = self.session.info(PodToSchedule(pod))
        if pod.metadata.deletion_timestamp:
            # Upstream: skipPodSchedule of pkg/scheduler/schedule_one.go.
            return Attempt(info, message=f"skip schedule deleting pod: {pod.key}")
        return self.session.driver.decide(info, begin)

    def follow_search(self, attempt: Attempt) -> None:
        """Take this search as the last one, so that the next begins where it ends."""
        if attempt.next_start is not None:
            self.session.driver.shared.next_start = attempt.next_start

    def _move(self, old: Resource | None, new: Resource | None) -> None:
        """Add, change or remove a pod."""
        assert old is None or isinstance(old, Pod)
        assert new is None or isinstance(new, Pod)
        cluster = self.session.cluster
        if old is not None:
            uid = old.metadata.uid or old.key
            cluster.remove_nomination(uid)
            if cluster.find(uid) is not None:
                if new is None or new.is_finished:
                    cluster.remove_pod(uid)
                else:
                    cluster.forget(uid)
            elif old.spec.node_name:
                cluster.forget_elsewhere(uid, old.spec.node_name)
        if new is None or new.is_finished:
            return
        if new.spec.node_name:
            cluster.add(cluster.shapes.info(new, bound=True), new.spec.node_name)
        elif new.status.nominated_node_name and self.session.setup.queues(new):
            info = cluster.shapes.info(new)
            cluster.nominate(info, info.nominated)


Put = tuple[str, tuple[str, str], Resource | None]
"""Kind, namespace and name, and the object, None if it goes."""


class RecordedDay(msgspec.Struct):
    """What happens when, in seconds since the recording ``begins`` (in seconds since 1970), which ``lasts`` so long.

    ``changes`` are those of other objects than pods, by moment. Pods that were deleted took ``leaving`` seconds,
    the median; None if none is in the recording.
    """

    begins: float
    lasts: float = 0.0
    lives: PodLives = msgspec.field(default_factory=lambda: PodLives([], []))
    changes: list[tuple[float, list[Put]]] = []
    leaving: float | None = None

    @property
    def start(self) -> str:
        return rfc3339(self.begins)


def recorded_world(recording: Recording, start: Snapshot) -> RecordedDay:
    """What a recording has of it; ``start`` is the cluster that it begins with. Raises InputError with the line."""
    begins = max((change.at for change in recording.start), default=0.0)
    day, kept = RecordedDay(begins), _ChangeFilter(start)
    lives = LifeReader(start.objects)
    for change in recording.changes:
        kind = change.kind.struct
        day.lasts = max(day.lasts, change.at - begins)
        if kind is None or change.version <= recording.begins:
            continue
        obj = resource_of(change.item, kind)
        # The order is that of the versions; a line that is late does not turn back time.
        lives.take(day.lasts, change, obj)
        put = kept.put(change, obj)
        if put is None:
            continue
        if not day.changes or day.changes[-1][0] < day.lasts:
            day.changes.append((day.lasts, []))
        day.changes[-1][1].append(put)
    day.lives = lives.lives()
    left = [life.leaving for life in day.lives.lives if life.leaving is not None and life.bound is not None]
    day.leaving = median(left) if left else None
    return day


class _ChangeFilter:
    """Selects changes of objects other than pods that do not follow from decisions."""

    def __init__(self, start: Snapshot) -> None:
        self._classes = {storage_class.name: storage_class for storage_class in start.objects.list_all(StorageClass)}
        claims = (*start.objects.list_all(PersistentVolumeClaim), *start.objects.list_all(ResourceClaim))
        self._known = {(type(claim).__name__, claim.namespace, claim.name) for claim in claims}

    def put(self, change: Change, obj: Resource) -> Put | None:
        """What to do about a change, None if nothing."""
        match obj:
            case Pod() | VolumeAttachment():
                return None
            case StorageClass():
                self._classes[obj.name] = obj
            case PersistentVolume() if obj.spec.claim_ref is not None and self._waits(obj) and not change.deleted:
                return None
            case PersistentVolumeClaim():
                if _belongs_to_pod(obj) or (self._is_known(change) and self._waits(obj) and not change.deleted):
                    return None
            case ResourceClaim():
                if _belongs_to_pod(obj) or (self._is_known(change) and not change.deleted):
                    return None
                obj = replace(obj, status=ClaimStatus())
        return change.kind.name, change.key, None if change.deleted else obj

    def _is_known(self, change: Change) -> bool:
        """Whether a claim was there before; from now on it is, or it is gone."""
        key = (change.kind.name, *change.key)
        known = key in self._known
        (self._known.discard if change.deleted else self._known.add)(key)
        return known

    def _waits(self, obj: PersistentVolume | PersistentVolumeClaim) -> bool:
        class_ = self._classes.get(storage_class_of(obj))
        return class_ is not None and class_.volume_binding_mode == "WaitForFirstConsumer"


def _belongs_to_pod(obj: Resource) -> bool:
    owner = obj.controller
    return owner is not None and owner.kind == "Pod"
