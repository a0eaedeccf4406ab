"""The state of a session before a run, to repeat the run in another way."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.simulation.session import PodToSchedule, Session


class StartingPoint:
    """A session as it is now. ``return_to`` restores it, with a scheduler process that has done nothing yet.

    Where everything can be undone, that costs what was done; else a copy of the cluster is kept.
    """

    def __init__(self, session: Session, asked: Sequence[PodToSchedule]) -> None:
        self._session = session
        for name in dict.fromkeys(item.pod.spec.scheduler_name for item in asked):
            session.driver.scheduler(name)
        undoable = session.driver.undoable
        self._checkpoint = session.cluster.checkpoint() if undoable else None
        self._copy = None if undoable else session.cluster.fork()

    def return_to(self) -> None:
        """Undo all that was done since."""
        session = self._session
        if self._checkpoint is not None:
            session.cluster.go_back(self._checkpoint)
        elif self._copy is not None:
            session.replace_cluster(self._copy)
        session.driver.restart()
