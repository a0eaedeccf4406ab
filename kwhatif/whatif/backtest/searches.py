"""Searches of a part of the nodes that begin elsewhere, where it is not known where the real one began."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kwhatif.scheduling.attempt import Attempt
from kwhatif.whatif.backtest import judge
from kwhatif.whatif.backtest.decisions import Decision
from kwhatif.whatif.backtest.recorded_cluster import RecordedCluster

SEARCHES = 8
"""So many searches are tried that come by a node."""
MEASURED = 50
"""For so many decisions is found out which nodes all searches together may lead to."""


@dataclass
class Searches:
    """Above 100 nodes the scheduler looks at a part of them, from where the last search ended. The cluster follows that
    from decision to decision; where it is not known, searches that begin elsewhere are tried.

    ``reach`` has the share of the nodes that pass which some search leads to, for the first decisions that took one.
    """

    cluster: RecordedCluster
    reach: list[float] = field(default_factory=list)

    def lead_to(self, decision: Decision, attempt: Attempt) -> bool:
        """Whether a search that begins elsewhere than this one leads to the recorded node; the next begins where it
        ends.
        """
        cluster, pod = self.cluster, attempt.pod.pod
        row, size = cluster.session.cluster.columns.row(decision.node), len(cluster.names)
        if row is None or not attempt.placed or attempt.evaluated >= size:
            return False
        for begin in _beginnings(row, attempt.evaluated, size):
            other = cluster.ask(pod, begin)
            if judge.agreement(decision, other, cluster.names):
                cluster.was(other, begin)
                if len(self.reach) < MEASURED:
                    answers = [
                        cluster.ask(pod, start) for start in range(0, size, max(attempt.evaluated // SEARCHES, 1))
                    ]
                    passing = {row for answer in answers for row in answer.sampled.tolist()}
                    self.reach.append(len({row for answer in answers for row in answer.best.tolist()}) / len(passing))
                return True
        return False


def _beginnings(row: int, looked: int, size: int) -> Iterator[int]:
    """Rows where a search may begin that looks at so many nodes, one row among them, from near to far."""
    for part in range(SEARCHES):
        yield (row - looked * part // SEARCHES) % size
