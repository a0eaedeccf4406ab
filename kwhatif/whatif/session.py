"""A cluster, a configuration and the pods asked about: what every question starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from kwhatif.admission.defaults import with_defaults
from kwhatif.admission.ephemeral import ephemeral_claims
from kwhatif.api.core import Pod
from kwhatif.api.others import PriorityClass
from kwhatif.api.selectors import SelectorError
from kwhatif.cluster.cluster import FINISHED, Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.errors import InputError
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.scheduling.setup import Setup
from kwhatif.snapshot.load import Manifest
from kwhatif.snapshot.model import Snapshot

__all__ = ["MOST_ATTEMPTS", "Asked", "Session", "asked_pods", "pending_pods"]

MOST_ATTEMPTS = 3
"""A preemptor is tried again after its victims left, but not for ever."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod asked about: where it stands, what was filled in, and a PriorityClass it names in vain."""

    pod: Pod
    origin: str = ""
    defaults: tuple[str, ...] = ()
    unknown_class: str = ""


def asked_pods(manifests: Sequence[Manifest], snapshot: Snapshot) -> tuple[list[Asked], list[Manifest]]:
    """The pods of manifests, completed as the API server would, and the objects that are no pods."""
    classes = [*snapshot.objects.of(PriorityClass)]
    classes += [m.obj for m in manifests if isinstance(m.obj, PriorityClass)]
    asked, others = [], []
    for manifest in manifests:
        if isinstance(manifest.obj, Pod):
            done = with_defaults(manifest.obj, classes)
            asked.append(Asked(done.pod, str(manifest.origin), done.changes, done.unknown_class))
        else:
            others.append(manifest)
    return asked, others


def pending_pods(snapshot: Snapshot) -> list[Asked]:
    """The snapshot's own pods that wait for a node, the oldest first."""
    waiting = [
        pod
        for pod in snapshot.objects.of(Pod)
        if not pod.spec.node_name and (pod.status.phase or "") not in FINISHED
    ]
    waiting.sort(key=lambda pod: pod.metadata.creation_timestamp or "")
    return [Asked(pod, snapshot.source) for pod in waiting]


class Session:
    """A cluster and its schedulers. Profiles share the nodes and the rotating start, as in one kube-scheduler."""

    def __init__(
        self, snapshot: Snapshot, setup: Setup, *, seed: int | None = None, detailed: bool = False
    ) -> None:
        self.snapshot = snapshot
        self.setup = setup
        self._seed, self._detailed = seed, detailed
        self._schedulers: dict[str, Scheduler | None] = {}
        self._start = 0
        try:
            self.cluster = Cluster.load(snapshot.objects, setup.features)
        except (SelectorError, ValueError) as error:
            raise InputError(str(error), source=snapshot.source) from error

    def scheduler(self, name: str | None) -> Scheduler | None:
        """The scheduler of a ``schedulerName``; None if the configuration has no such profile."""
        name = name or "default-scheduler"
        if name not in self._schedulers:
            self._schedulers[name] = self.setup.scheduler(
                self.cluster, name, seed=self._seed, detailed=self._detailed
            )
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

    def info(self, asked: Asked) -> PodInfo:
        """Wrap a pod for this cluster; the claims of its ephemeral volumes are made, as their controller would.

        Raises InputError for a selector that cannot be parsed.
        """
        for claim in ephemeral_claims(asked.pod):
            self.cluster.storage.add_claim(claim)
        try:
            return self.cluster.shapes.info(asked.pod)
        except (SelectorError, ValueError) as error:
            raise InputError(f"pod {asked.pod.key}: {error}", source=asked.origin) from error

    def attempt(self, scheduler: Scheduler, pod: PodInfo) -> Attempt:
        """One scheduling cycle."""
        scheduler.next_start = self._start
        attempt = scheduler.attempt(pod)
        self._start = scheduler.next_start
        return attempt

    def taken_off(self, pod: Pod) -> Pod:
        """A pod as it was before it got its node; it no longer counts on it."""
        uid = pod.metadata.uid or pod.key
        if self.cluster.find(uid) is not None:
            self.cluster.forget(uid)
        return replace(pod, spec=replace(pod.spec, node_name=None))
