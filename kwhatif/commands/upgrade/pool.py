"""The rows of a pool's nodes while old ones are cordoned and removed, and new ones join.

All new nodes have a row from the beginning and are inactive until they join. A cordoned node stays one of the domains
that pods are spread over, so its Node object changes in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwhatif.cluster.shapes import PodInfo
from kwhatif.simulation.edits.cordon import cordon_node
from kwhatif.simulation.session import Session


class Pool:
    """``names`` maps the old nodes to the new ones, which are inactive at first."""

    def __init__(self, session: Session, names: Mapping[str, str]) -> None:
        self._session, self.names = session, names
        self._waiting: dict[str, list[PodInfo]] = {}
        cluster = session.cluster
        for name in names.values():
            row = self._row(name)
            self._waiting[name] = list(cluster.pods_on[row])
            cluster.forget_all(self._waiting[name], row)
            cluster.deactivate_node(row)

    def pods_on(self, name: str) -> Sequence[PodInfo]:
        return list(self._session.cluster.pods_on[self._row(name)])

    def join(self, name: str) -> None:
        """A new node is ready, with the pods of its daemon sets."""
        cluster, row = self._session.cluster, self._row(name)
        cluster.activate_node(row)
        cluster.assume_all(self._waiting.pop(name), row)

    def leave(self, name: str) -> None:
        """Delete an old node with the pods left on it."""
        cluster, row = self._session.cluster, self._row(name)
        cluster.nominated.pop(name, None)
        cluster.forget_all(list(cluster.pods_on[row]), row)
        cluster.deactivate_node(row)

    def cordon(self, names: Iterable[str]) -> None:
        """These nodes take no new pods from now on."""
        cluster = self._session.cluster
        changing = set(names)
        cluster.columns = cluster.columns.with_changed_nodes(
            [cordon_node(node) for node in cluster.columns.given if node.name in changing]
        )
        cluster.journal.extend(self._row(name) for name in changing)
        # What was worked out of taints is of the nodes as they were.
        cluster.memory = {}
        cluster.drop_tallies()
        for scheduler in self._session.driver.in_use:
            scheduler.start_over()

    def _row(self, name: str) -> int:
        row = self._session.cluster.columns.row(name)
        assert row is not None
        return row
