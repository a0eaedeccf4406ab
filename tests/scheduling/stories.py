"""Stories: what happens to a batch of pods over time, one line an event, to be read and compared whole.

``12s web bound on n1: the only node``. Pods of the namespace ``default`` go by their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import dedent
from types import MappingProxyType
from typing import Any

from kwhatif.api.core import Node, Pod
from kwhatif.api.meta import Resource
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.interface import ClusterEvent, Handle, Plugin, always
from kwhatif.framework.status import PermitWait, Status
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.driver import Driver
from kwhatif.scheduling.setup import Setup
from kwhatif.scheduling.simulator import Simulator
from kwhatif.versions import Features, features_of
from tests.builders import FEATURES, Json, cluster_of, profile_document

AnyPlugin = type[Plugin[Any, Any]]


class Story:
    """Pods that arrive at their moments, at a cluster, under a configuration; ``tell`` runs it to the end."""

    def __init__(
        self,
        nodes: Iterable[Node],
        running: Iterable[Pod] = (),
        objects: Iterable[Resource] = (),
        *,
        config: Json | None = None,
        outside: Iterable[AnyPlugin] = (),
        features: Features = FEATURES,
        **options: Any,
    ) -> None:
        self.cluster = cluster_of(nodes, running, objects, features=features)
        configuration = load_configuration(config, source="", features=features)
        setup = Setup(configuration, features, {plugin.name: plugin for plugin in outside})
        self.simulator = Simulator(Driver(self.cluster, setup), **options)

    def arrive(self, *pods: Pod, at: float = 0.0) -> Story:
        for pod in pods:
            self.simulator.arrive(self.cluster.shapes.info(pod), at)
        return self

    def delete(self, name: str, at: float) -> Story:
        self.simulator.delete(f"uid-default-{name}", at)
        return self

    def tell(self) -> str:
        """The whole timeline."""
        self.simulator.run()
        return "\n".join(
            f"{entry.time:g}s {_name(entry.pod)} {entry.what}"
            + (f" on {entry.node}" if entry.node else "")
            + (f": {entry.why}" if entry.why else "")
            for entry in self.simulator.diary.entries
        )

    def events(self) -> str:
        """All events of a story that has been told."""
        return "\n".join(
            f"{event.time:g}s {_name(event.pod)} {event.type} {event.reason}: {event.message}"
            for event in self.simulator.diary.events
        )


def told(text: str) -> str:
    """A story as a test spells it."""
    return dedent(text).strip()


def _name(pod: str) -> str:
    return pod.removeprefix("default/")


def popping(at_once: bool) -> Features:
    """Whether a pod that backs off is taken when nothing else is to be done."""
    return features_of(gates={"SchedulerPopFromBackoffQ": at_once})


# --- configurations


def enabling(*names: str, evict: bool = True) -> Json:
    """A configuration that enables these plugins on top of the default ones; without ``evict`` nobody preempts."""
    plugins: Json = {"multiPoint": {"enabled": [{"name": name} for name in names]}}
    if not evict:
        plugins["postFilter"] = {"disabled": [{"name": "*"}]}
    return profile_document(plugins=plugins)


PEACEFUL = enabling(evict=False)
"""Nobody preempts, so messages are short."""


# --- plugins


class Hold(Plugin[None, None]):
    """Holds pods with the label ``hold`` for so many seconds, until one that names them is bound.

    The label ``opens`` names the pod that is let go, ``denies`` one that is turned away, which then nothing brings
    back.
    """

    name = "Hold"
    events_to_register = MappingProxyType({})

    def permit(self, pod: PodInfo, node: str, state: None) -> Status | PermitWait | None:
        seconds = pod.shape.labels.get("hold")
        return None if seconds is None else PermitWait(float(seconds))

    def post_bind(self, pod: PodInfo, node: str, state: None) -> None:
        for held in self.handle.waiting.values():
            if pod.shape.labels.get("opens") == held.pod.pod.name:
                held.allow(self.name)
            if pod.shape.labels.get("denies") == held.pod.pod.name:
                held.reject(self.name, "not wanted")


class Hasty(Hold):
    """Holds the same pods for half as long; the label for letting one go is ``nudges``."""

    name = "Hasty"

    def permit(self, pod: PodInfo, node: str, state: None) -> Status | PermitWait | None:
        seconds = pod.shape.labels.get("hold")
        return None if seconds is None else PermitWait(float(seconds) / 2)

    def post_bind(self, pod: PodInfo, node: str, state: None) -> None:
        for held in self.handle.waiting.values():
            if pod.shape.labels.get("nudges") == held.pod.pod.name:
                held.allow(self.name)


class Restless(Hold):
    """As Hold, but whoever leaves the cluster brings back a pod that was turned away."""

    name = "Restless"
    events_to_register = MappingProxyType({ClusterEvent.POD_DELETED: always})


class Flaky(Plugin[None, None]):
    """Fails to bind a pod as often as its label ``fails`` says."""

    name = "Flaky"

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._tries: dict[str, int] = {}

    def pre_bind(self, pod: PodInfo, node: str, state: None) -> Status | None:
        tries = self._tries[pod.uid] = self._tries.get(pod.uid, 0) + 1
        return Status.error("the disk array is busy") if tries <= int(pod.shape.labels.get("fails", 0)) else None


class Closed(Plugin[None, None]):
    """Keeps pods with the label ``closed`` out of the queue so many times; to be asked again when any pod goes."""

    name = "Closed"
    events_to_register = MappingProxyType({ClusterEvent.POD_DELETED: always})

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self._asked = 0

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if "closed" not in pod.shape.labels:
            return None
        self._asked += 1
        return Status.unresolvable("closed for now") if self._asked <= int(pod.shape.labels["closed"]) else None
