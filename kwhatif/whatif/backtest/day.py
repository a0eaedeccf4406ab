"""A recorded day lived again by a simulated scheduler: the world does what it did, and the scheduler as it likes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from kwhatif.api.core import Pod
from kwhatif.api.others import PersistentVolume, PersistentVolumeClaim
from kwhatif.cluster.claim_store import Devices
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.storage import Storage
from kwhatif.results.diff import ClusterUse
from kwhatif.results.place import TimelineEntry
from kwhatif.scheduling.replacements import grace_of
from kwhatif.scheduling.simulator import Simulator
from kwhatif.whatif.backtest.lives import Life
from kwhatif.whatif.backtest.recorded_cluster import ChangingObjects
from kwhatif.whatif.backtest.recorded_world import Put, RecordedWorld
from kwhatif.whatif.diff.cluster_use import use_of
from kwhatif.whatif.place.afterwards import store_volumes
from kwhatif.whatif.session import Asked, Session

_ASSUMED = Storage.KINDS | Devices.KINDS


@dataclass(frozen=True)
class Stay:
    """One pod on its way to a node: when it could first be tried, and when it was ``bound`` and where. None and nothing
    if it was not; it waited ``until`` then.
    """

    entered: float
    bound: float | None
    node: str
    until: float

    @property
    def waited(self) -> float:
        return (self.until if self.bound is None else self.bound) - self.entered


@dataclass
class Lived:
    """What became of a day.

    ``stays`` are by the pods' uids in the recording: of each life one, and one more whenever it had to go and was made
    again; ``homes`` are all nodes by uid. ``preempted`` are the lives in which the scheduler told it to go,
    ``preemptions`` say so in words. ``uses`` are the cluster at each of the moments asked about, and how many waited.
    """

    session: Session
    stays: dict[str, list[Stay]] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)
    preempted: set[str] = field(default_factory=set)
    preemptions: list[TimelineEntry] = field(default_factory=list)
    uses: list[tuple[float, ClusterUse, int]] = field(default_factory=list)


class Day:
    """What happened outside, brought to a scheduler that begins with the cluster of ``session``."""

    def __init__(self, session: Session, world: RecordedWorld) -> None:
        self._session, self._world = session, world
        self._objects = ChangingObjects(session)
        self._by_uid = {life.uid: life for life in world.lives.lives}
        self._simulator = Simulator(
            session.driver, leaves_after=self._leaves_after, works_for=self._works_for, begins=world.begins
        )

    def live(self, moments: Sequence[float]) -> Lived:
        """The whole day; how full the cluster is at the given moments."""
        simulator, lived = self._simulator, Lived(self._session)
        for moment in moments:
            simulator.at(moment, lambda: lived.uses.append(self._use()))
        for life in self._world.lives:
            self._plan(life)
        for at, puts in self._world.changes:
            simulator.at(at, partial(self._renew, puts))
        for at, node in self._world.lives.emptied:
            simulator.at(at, partial(simulator.empty, node))
        simulator.run(self._world.lasts)
        lived.stays = {life.uid: list(self._stays(life)) for life in self._world.lives}
        lived.homes = {uid: node for uid, (_, node) in simulator.bound.items()}
        lived.preempted = {simulator.stands_for.get(uid, uid) for uid in simulator.evicted}
        lived.preemptions = [entry for entry in simulator.diary.entries if entry.what == "preempted"]
        return lived

    # --- pods

    def _plan(self, life: Life) -> None:
        """When a pod comes, changes and goes."""
        simulator = self._simulator
        if life.there and not life.created:
            if life.works_for is not None:
                simulator.done(life.uid, life.works_for)
        elif life.there or not self._is_ours(life.pod):
            if life.bound is not None:
                simulator.at(life.bound, lambda: self._appears(life))
        else:
            simulator.at(life.created, lambda: simulator.enter(self._info(life.pod)))
        for at, pod in life.changes:
            simulator.at(at, partial(self._changes, pod))
        if (end := life.unwanted_at) is not None:
            simulator.at(end, lambda: simulator.remove(life.uid))

    def _is_ours(self, pod: Pod) -> bool:
        return self._session.driver.scheduler(pod.spec.scheduler_name) is not None

    def _info(self, pod: Pod, *, bound: bool = False) -> PodInfo:
        return self._session.info(Asked(pod), bound=bound)

    def _appears(self, life: Life) -> None:
        """Somebody else binds a pod, as recorded, and it works as long as recorded."""
        info = self._info(life.pod, bound=True)
        self._simulator.appear(info, life.node)
        if life.works_for is not None:
            self._simulator.done(info.uid, self._simulator.now + life.works_for)

    def _changes(self, pod: Pod) -> None:
        found = self._session.cluster.find(pod.identity)
        self._simulator.change(self._info(pod, bound=found is not None))

    def _works_for(self, pod: PodInfo) -> float | None:
        life = self._by_uid.get(self._simulator.stands_for.get(pod.uid, pod.uid))
        return None if life is None else life.works_for

    def _leaves_after(self, pod: PodInfo) -> float:
        """As long as it took the very pod in the recording, else as long as it took others, within its grace period."""
        life = self._by_uid.get(pod.uid)
        recorded = self._world.leaving if life is None or life.leaving is None else life.leaving
        grace = float(grace_of(pod))
        return grace if recorded is None else min(recorded, grace)

    # --- other objects

    def _renew(self, puts: Sequence[Put]) -> None:
        """Objects become others: schedulers read them, pods hear of it."""
        objects, cluster = self._objects, self._session.cluster
        if any(kind in _ASSUMED for kind, _, _ in puts):
            self._store_assumed()
        nodes: list[str] = []
        for kind, key, obj in puts:
            if kind == "Node" and obj is None:
                self._simulator.empty(key[1], lost=True)
            if objects.put(kind, key, obj) != obj and kind == "Node":
                nodes.append(key[1])
        changed = objects.reread()
        readers = frozenset[str]().union(*(objects.readers.get(kind, frozenset()) for kind in changed))
        if changed:
            self._simulator.renewed([name for name in nodes if cluster.columns.row(name) is not None], readers)

    def _store_assumed(self) -> None:
        """What the scheduler made of claims is in the objects, before they are read again."""
        objects, cluster = self._session.snapshot.objects, self._session.cluster
        store_volumes(objects, cluster.storage)
        claims = cluster.devices.claims.values()
        for obj in (*objects.of(PersistentVolumeClaim), *objects.of(PersistentVolume), *claims):
            self._objects.put(type(obj).__name__, (obj.namespace, obj.name), obj)

    # --- what came of it

    def _use(self) -> tuple[float, ClusterUse, int]:
        queue = self._simulator.queue
        waiting = [each for each in (*queue.waiting(), *queue.backing_off()) if each.gate is None]
        return self._simulator.now, use_of(self._session.cluster), len(waiting)

    def _stays(self, life: Life) -> list[Stay]:
        """Each pod of a life that the scheduler was to find a node for."""
        simulator, found = self._simulator, []
        uid: str | None = life.uid
        while uid is not None:
            entered = simulator.entered.get(uid)
            if entered is not None:
                bound, node = simulator.bound.get(uid, (None, ""))
                until = self._world.lasts if life.unwanted_at is None else life.unwanted_at
                found.append(Stay(entered, bound, node, max(until, entered)))
            uid = simulator.remade.get(uid)
        return found
