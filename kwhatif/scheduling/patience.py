"""When to leave a pod alone: some misfortunes repeat for ever in a real scheduler, but a run has to end."""

from __future__ import annotations

from collections import Counter

from kwhatif.scheduling.attempt import Attempt

MOST_LOSSES = 10
"""A pod that had a node, or had pods evicted for it, so many times and lost it every time, is left alone; so is one
that met so many errors."""


class Patience:
    """Counts, pod by pod, the failures that change the cluster, or that come back by themselves.

    All others happen but once for each change of the cluster, and so come to an end.
    """

    def __init__(self) -> None:
        self._losses: Counter[str] = Counter()

    def spent(self, attempt: Attempt) -> bool:
        """Count one failure; whether it was one too many."""
        refused = attempt.refused
        had_node_or_error = refused is not None and (attempt.diagnosis is None or not refused.rejected)
        if not (had_node_or_error or attempt.evicted or attempt.gated is not None):
            return False
        self._losses[attempt.pod.uid] += 1
        return self._losses[attempt.pod.uid] >= MOST_LOSSES
