"""A cluster, a configuration and the pods asked about: what every question starts from."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Collection
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.selectors import SelectorError
from kwhatif.cluster.cluster import FINISHED, Cluster
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import InputError
from kwhatif.scheduling.arrivals import with_claims
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.format.model import Snapshot

__all__ = ["MOST_ATTEMPTS", "Asked", "Session", "pending_pods"]

MOST_ATTEMPTS = 3
"""A preemptor is tried again after its victims left, but not for ever."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod asked about: where it stands, what was filled in, a PriorityClass it names in vain, and who made it."""

    pod: Pod
    origin: str = ""
    defaults: tuple[str, ...] = ()
    unknown_class: str = ""
    owner: str = ""


def pending_pods(snapshot: Snapshot) -> list[Asked]:
    """The snapshot's own pods that wait for a node, the oldest first."""
    waiting = [
        pod for pod in snapshot.objects.of(Pod) if not pod.spec.node_name and (pod.status.phase or "") not in FINISHED
    ]
    waiting.sort(key=lambda pod: pod.metadata.creation_timestamp or "")
    return [Asked(pod, snapshot.source) for pod in waiting]


class Session:
    """A cluster and its schedulers. Profiles share the nodes and the rotating start, as in one kube-scheduler.

    ``covered`` are the kinds the snapshot can be trusted to know, if not all those it holds; ``shapes`` those of an
    earlier session, so that pods are not looked through again.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        setup: Setup,
        *,
        seed: int | None = None,
        detailed: bool = False,
        covered: Collection[str] | None = None,
        shapes: ShapeTable | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.setup = setup
        self.covered = snapshot.objects.covered() if covered is None else frozenset(covered)
        self._seed, self._detailed = seed, detailed
        self._schedulers: dict[str, Scheduler | None] = {}
        self._start = 0
        self._uids: dict[str, str] | None = None
        try:
            self.cluster = Cluster.load(snapshot.objects, setup.features, setup.queues, shapes)
        except (SelectorError, ValueError) as error:
            raise InputError(str(error), source=snapshot.source) from error

    def scheduler(self, name: str | None) -> Scheduler | None:
        """The scheduler of a ``schedulerName``; None if the configuration has no such profile."""
        name = name or "default-scheduler"
        if name not in self._schedulers:
            self._schedulers[name] = self.setup.scheduler(self.cluster, name, seed=self._seed, detailed=self._detailed)
        return self._schedulers[name]

    def schedulers(self) -> list[Scheduler]:
        """The schedulers in use so far."""
        return [scheduler for scheduler in self._schedulers.values() if scheduler is not None]

    def read_kinds(self) -> set[str]:
        """Kinds besides Node and Pod that the plugins in use read."""
        return {
            kind
            for scheduler in self.schedulers()
            for plugin in scheduler.framework.all_plugins
            for kind in plugin.reads
        }

    def info(self, asked: Asked, *, bound: bool = False) -> PodInfo:
        """Wrap a pod for this cluster; claims of its ephemeral volumes and of device templates are made, as their
        controllers would.

        Raises InputError for a selector that cannot be parsed.
        """
        pod = with_claims(asked.pod, self.cluster)
        try:
            info = self.cluster.shapes.info(pod, bound=bound)
        except (SelectorError, ValueError) as error:
            raise InputError(f"pod {asked.pod.key}: {error}", source=asked.origin) from error
        if any(other.uid == info.uid for other in self.cluster.nominated.get(info.nominated, ())):
            # From now on the nomination is this one's to lose.
            self.cluster.nominate(info, info.nominated)
        return info

    def attempt(self, scheduler: Scheduler, pod: PodInfo) -> Attempt:
        """One scheduling cycle."""
        scheduler.next_start = self._start
        attempt = scheduler.decide(pod)
        self._start = scheduler.next_start
        if not attempt.placed:
            return attempt
        self.chosen(scheduler, attempt)
        return scheduler.commit(attempt)

    def chosen(self, scheduler: Scheduler, attempt: Attempt) -> None:
        """Called when a pod has found a node and is not there yet; for those who derive from this."""

    def running(self, pod: Pod) -> tuple[PodInfo, int] | None:
        """The pod of the cluster that this one is, or whose name it has, and the row of its node."""
        found = self.cluster.find(pod.metadata.uid or pod.key)
        if found is None:
            uid = self.uid_of(pod.key)
            found = None if uid is None else self.cluster.find(uid)
        return found

    def uid_of(self, key: str) -> str | None:
        """The uid of a pod that ran when this was first asked, by ``namespace/name``."""
        if self._uids is None:
            self._uids = {info.key: info.uid for info, _ in self.cluster.pods()}
        return self._uids.get(key)

    def before(self, asked: Asked) -> tuple[Session, Asked]:
        """The pod as it was before it got its node, and a session of the same cluster where it does not run yet."""
        pod = asked.pod
        found = self.running(pod)
        if pod.spec.node_name:
            asked = dataclasses.replace(asked, pod=replace(pod, spec=replace(pod.spec, node_name=None)))
        if found is None:
            return self, asked
        earlier = self.apart()
        earlier.cluster.leave(found[0].uid, deleted=False)
        return earlier, asked

    def apart(self) -> Session:
        """A session of a copy of the cluster, to try something in."""
        other = copy.copy(self)
        other.cluster = self.cluster.fork()
        other._schedulers, other._uids = {}, None
        return other
