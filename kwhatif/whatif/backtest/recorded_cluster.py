"""A cluster that follows a recording: every change is made in it as the scheduler's informers would."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import KINDS
from kwhatif.api.meta import Resource
from kwhatif.cluster.cluster import FINISHED
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.budgets import Budgets
from kwhatif.whatif.session import Asked, Session


class ChangingObjects:
    """A session's objects while they change. Those that its schedulers read are read again when asked to."""

    def __init__(self, session: Session) -> None:
        self._session = session
        session.snapshot = session.snapshot.copy()
        session.cluster.objects = session.snapshot.objects
        self._listed: dict[str, dict[tuple[str, str], Resource]] = {
            kind: {(obj.namespace, obj.name): obj for obj in listed}
            for kind, listed in session.snapshot.objects.by_kind().items()
        }
        session.driver.set_up_all()
        self.readers = {kind: frozenset(plugins) for kind, plugins in session.readings().items()}
        """Kind -> the plugins that read it, besides Node and Pod."""
        self._changed: set[str] = set()

    def put(self, kind: str, key: tuple[str, str], obj: Resource | None) -> Resource | None:
        """An object is so from now on, or gone; what it was before."""
        listed = self._listed.setdefault(kind, {})
        old = listed.get(key)
        if obj == old:
            return old
        if obj is None:
            del listed[key]
        else:
            listed[key] = obj
        if kind != Pod.__name__:
            self._changed.add(kind)
        return old

    def of(self, kind: str) -> dict[tuple[str, str], Resource]:
        """All objects of a kind, by namespace and name."""
        return self._listed.get(kind, {})

    def reread(self) -> set[str]:
        """Have the schedulers read what changed; the kinds that did."""
        changed, self._changed = self._changed, set()
        for kind in changed:
            self._session.snapshot.objects.put(KINDS[kind], self._listed[kind].values())
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
        """An object is so from now on, or gone; what it was before."""
        old = self._objects.put(kind, key, obj)
        if kind == Pod.__name__ and obj != old:
            self._move(old, obj)
        return old

    def pod(self, key: tuple[str, str]) -> Pod | None:
        found = self._objects.of("Pod").get(key)
        return found if isinstance(found, Pod) else None

    @property
    def names(self) -> Sequence[str]:
        """The names of the nodes, by row."""
        return self.session.cluster.columns.names

    def pods_on(self, node: str) -> list[Pod]:
        """The pods bound to a node."""
        pods = self._objects.of("Pod").values()
        return [pod for pod in pods if isinstance(pod, Pod) and pod.spec.node_name == node]

    def with_budgets_of(self, some: Sequence[Pod], pods: Sequence[Pod]) -> list[Pod]:
        """Those of the ``pods`` that have a budget in common with ``some``."""
        budgets, shapes = Budgets(self.session.cluster), self.session.cluster.shapes
        about = {pod.key: set(budgets.about(shapes.info(pod, bound=True).shape)) for pod in (*some, *pods)}
        theirs = set().union(*(about[pod.key] for pod in some))
        return [pod for pod in pods if about[pod.key] & theirs]

    def decides_about(self, pod: Pod) -> bool:
        """Whether the pod is for one of this process's schedulers."""
        return self.session.driver.scheduler(pod.spec.scheduler_name) is not None

    def ask(self, pod: Pod, begin: int | None = None) -> Attempt:
        """What the scheduler would make of a pod now. Nothing comes of it.

        ``begin`` is the row of the node that its search begins at, if not where the last decision left off.
        """
        self._objects.reread()
        info = self.session.info(Asked(pod))
        if pod.metadata.deletion_timestamp:
            # Upstream: skipPodSchedule of pkg/scheduler/schedule_one.go.
            return Attempt(info, message=f"skip schedule deleting pod: {pod.key}")
        return self.session.driver.decide(info, begin)

    def was(self, attempt: Attempt, begin: int | None = None) -> None:
        """A search was like this one, so that the next begins where it ends."""
        shared = self.session.driver.shared
        first = shared.next_start if begin is None else begin
        shared.next_start = (first + attempt.evaluated) % max(len(self.names), 1)

    def _move(self, old: Resource | None, new: Resource | None) -> None:
        """A pod came, changed or went."""
        assert old is None or isinstance(old, Pod)
        assert new is None or isinstance(new, Pod)
        cluster = self.session.cluster
        if old is not None:
            uid = old.metadata.uid or old.key
            cluster.denominate(uid)
            if cluster.find(uid) is not None:
                if new is None or (new.status.phase or "") in FINISHED:
                    cluster.leave(uid)
                else:
                    cluster.forget(uid)
            elif old.spec.node_name:
                cluster.forget_elsewhere(uid, old.spec.node_name)
        if new is None or (new.status.phase or "") in FINISHED:
            return
        if new.spec.node_name:
            cluster.add(cluster.shapes.info(new, bound=True), new.spec.node_name)
        elif new.status.nominated_node_name and self.session.setup.queues(new):
            info = cluster.shapes.info(new)
            cluster.nominate(info, info.nominated)
