"""Sessions for questions: a cluster in few words, and pods asked about."""

from __future__ import annotations

from collections.abc import Iterable

from kwhatif.api.core import Node, Pod
from kwhatif.api.kinds import Objects
from kwhatif.api.meta import Resource
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.setup import Setup
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import FEATURES, Json


def session_of(
    nodes: Iterable[Node], pods: Iterable[Pod] = (), objects: Iterable[Resource] = (), config: Json | None = None
) -> Session:
    """A session of a cluster under a configuration (None: the defaults)."""
    found = Objects()
    for obj in (*nodes, *pods, *objects):
        found.add(obj)
    return Session(Snapshot(objects=found), Setup(load_configuration(config, source=""), FEATURES))


def asking(*pods: Pod) -> list[PodToSchedule]:
    return [PodToSchedule(pod) for pod in pods]
