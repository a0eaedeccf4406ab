"""Autoscalers during an upgrade: asked whenever pods have no node; their nodes join some time later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kwhatif.api.core import Node, Pod
from kwhatif.autoscaling.upcoming_nodes import UpcomingNode
from kwhatif.scheduling.timeline import Agenda
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.session import Session
from kwhatif.snapshot.format.model import Snapshot


class ScalingOverTime:
    """Requests nodes, but not while some are being provisioned, nor twice for the same pods. ``joined`` is called with
    new ones.
    """

    def __init__(self, session: Session, agenda: Agenda, scaler: Scaler) -> None:
        self._session, self._agenda = session, agenda
        later = scaler.later
        self.scaler = replace(scaler, later=lambda of, waiting: _without_absent(later(of, waiting), of))
        self._on_their_way = False
        self._asked_about: tuple[tuple[str, ...], int] | None = None

    def ask(self, waiting: Sequence[Pod], joined: Callable[[Sequence[UpcomingNode]], None]) -> None:
        """Ask about pods without a node; ``joined`` is called when nodes that come for them are there."""
        question = tuple(pod.key for pod in waiting), self._session.cluster.membership_version
        if not waiting or self._on_their_way or question == self._asked_about:
            return
        self._asked_about, self.scaler.time = question, self._agenda.now
        nodes = self.scaler.ask(self._session, waiting)
        if not nodes:
            return
        self._on_their_way = True

        def join() -> None:
            self._on_their_way = False
            self.scaler.join(self._session, nodes)
            joined(nodes)

        self._agenda.after(self.scaler.provision, join)


def _without_absent(snapshot: Snapshot, session: Session) -> Snapshot:
    """The snapshot without nodes that are yet to come or have left, which have rows all the same."""
    cluster = session.cluster
    there = {name for name, active in zip(cluster.columns.names, cluster.active.tolist(), strict=True) if active}
    snapshot.objects.put(Node, [node for node in snapshot.objects.list_all(Node) if node.name in there])
    return snapshot
