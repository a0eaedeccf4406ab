"""Why a pod fits nowhere: verdicts by node, what PreFilter said, and the message people see.

Upstream: pkg/scheduler/framework/types.go (FitError.Error).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import BoolArray, IntpArray
from kwhatif.framework.status import Code, Status
from kwhatif.framework.verdicts import Verdicts


def fit_message(nodes: int, histogram: dict[str, int], *, pre_filter: str = "", post_filter: str = "") -> str:
    """``0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods. <what PostFilter said>``."""
    message = f"0/{nodes} nodes are available:"
    if pre_filter:
        message += f" {pre_filter}."
    elif histogram:
        message += f" {', '.join(sorted(f'{count} {reason}' for reason, count in histogram.items()))}."
    return f"{message} {post_filter}" if post_filter else message


class Answers(Protocol):
    """What plugins answered in this cycle, and answer for nodes as they might be.

    It is an ``Evaluation``, of which plugins are told no more: it is made of plugins, and they are given a diagnosis.
    ``reached`` are the plugins that PreFilter got to.
    """

    reached: frozenset[str]

    @property
    def looks_around(self) -> bool:
        """Whether a filter asks where other pods are."""

    def made_by(self, plugin: Any, /) -> object:
        """What a plugin's PreFilter made for the pod; None where it made nothing."""

    def fits_after(self, pod: PodInfo, view: NodeView, /) -> BoolArray:
        """bool[n]: nodes that pass all filters after the view's change of pods."""

    def verdicts_on(self, pod: PodInfo, view: NodeView, /) -> Verdicts:
        """All filters' verdicts on a view as it is."""


@dataclass(slots=True)
class Diagnosis:
    """What is known when no node is left.

    ``considered`` are the rows that were looked at (all, or those PreFilter narrowed the choice to) and
    ``verdicts`` are about all N nodes. ``refusal`` is PreFilter's, when it refused the pod outright.
    ``strangers`` are what extenders say of nodes that the cluster does not have.
    """

    cluster: Cluster
    evaluation: Answers
    verdicts: Verdicts | None = None
    considered: IntpArray | None = None
    narrowed_by: tuple[str, ...] = ()
    refusal: Status | None = None
    strangers: tuple[str, ...] = ()

    def message(self, post_filter: str = "") -> str:
        """The text of the FailedScheduling event."""
        features = self.cluster.shapes.features
        if not features.post_filter_is_heard:
            post_filter = ""
        if self.refusal is not None and not features.pre_filter_speaks_once:
            everywhere = dict.fromkeys(self.refusal.reasons, self._size)
            return fit_message(self._size, everywhere, post_filter=post_filter)
        if self.refusal is not None:
            return fit_message(self._size, {}, pre_filter=self.refusal.message, post_filter=post_filter)
        assert self.verdicts is not None
        histogram = self._histogram()
        return fit_message(self._size, histogram, post_filter=post_filter)

    @property
    def _size(self) -> int:
        """The number of nodes that are there."""
        return len(self.cluster.searched)

    def _histogram(self) -> dict[str, int]:
        assert self.verdicts is not None
        counts: dict[str, int] = {}
        for message in self.strangers:
            counts[message] = counts.get(message, 0) + 1
        if self.considered is None:
            for reason, found in self.verdicts.histogram().items():
                counts[reason] = counts.get(reason, 0) + found
            return counts
        for blocker in self.verdicts.blockers:
            found = int(np.count_nonzero(blocker.counted[self.considered]))
            if found:
                counts[blocker.rejection.reason] = counts.get(blocker.rejection.reason, 0) + found
        # Extenders may leave a node out without a reason.
        spoken = int(np.count_nonzero(self.verdicts.first[self.considered] >= 0)) + len(self.strangers)
        absent = self._size - spoken
        if absent > 0 and self.cluster.shapes.features.nodes_left_out_by_prefilter_are_counted:
            reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(self.narrowed_by))}]"
            counts[reason] = counts.get(reason, 0) + absent
        return counts

    def status(self, row: int) -> Status | None:
        """The verdict on one node."""
        if self.refusal is not None:
            return self.refusal
        assert self.verdicts is not None
        if self.considered is not None and row not in self.considered:
            return Status.unresolvable("node(s) didn't satisfy plugin(s)")
        return self.verdicts.status(row) or Status.unresolvable()

    def preemptable(self) -> IntpArray:
        """Rows, in the scheduler's order, where evicting pods might help (upstream: NodesForStatusCode)."""
        if self.refusal is not None:
            hopeful = self.refusal.code is Code.UNSCHEDULABLE
            return self.cluster.searched if hopeful else np.zeros(0, np.intp)
        assert self.verdicts is not None
        rows = self.cluster.searched
        rows = rows[((self.verdicts.first >= 0) & ~self.verdicts.unresolvable)[rows]]
        return rows if self.considered is None else rows[np.isin(rows, self.considered)]
