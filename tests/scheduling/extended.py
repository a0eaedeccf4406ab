"""Schedulers with extenders, in few words."""

from __future__ import annotations

from typing import Any

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import Cluster
from kwhatif.policy.configuration_file import load_configuration
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.extenders.client import Extender
from kwhatif.scheduling.extenders.extender_cycle import Extenders
from kwhatif.scheduling.schedule_one import Scheduler
from kwhatif.scheduling.setup import Setup
from tests.builders import Json, profile_document
from tests.scheduling.extender_server import Server


def extender(server: Server | str, **more: Any) -> Json:
    """An extender's part of a configuration: the address, and whatever else is to be said."""
    return {"urlPrefix": server if isinstance(server, str) else server.url, "nodeCacheCapable": True, **more}


class Extended:
    """A scheduler that calls extenders."""

    def __init__(
        self, cluster: Cluster, *extenders: Json, bind: bool = False, seed: None = None, **profile: Any
    ) -> None:
        document = profile_document(**profile) | {"extenders": list(extenders)}
        features = cluster.shapes.features
        configuration = load_configuration(document, source="", features=features)
        self.cluster = cluster
        self.extenders = Extenders(configuration.extenders, bind=bind)
        self.setup = Setup(configuration, features, extenders=self.extenders)
        self.scheduler = Scheduler(cluster, self.setup.profile(configuration.profiles[0]), detailed=True)

    @property
    def one(self) -> Extender:
        """The extender, if there is one."""
        (found,) = self.extenders.all
        return found

    def attempt(self, pod: Pod) -> Attempt:
        return self.scheduler.attempt(self.cluster.shapes.info(pod))

    def node(self, attempt: Attempt) -> str:
        return "" if attempt.row is None else self.cluster.columns.names[attempt.row]

    def scores(self, attempt: Attempt, plugin: str) -> dict[str, int]:
        """A plugin's or an extender's weighted scores by node."""
        (found,) = [scores for scores in attempt.scores if scores.plugin == plugin]
        names = [self.cluster.columns.names[row] for row in attempt.sampled]
        return dict(zip(names, found.weighted_score.tolist(), strict=True))
