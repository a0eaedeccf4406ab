"""How many nodes would have to be added for pods that found none, by what they would be like.

Nodes are added as a what-if edit adds them, with the pods of daemon sets on them, to the cluster as it is after the
change. The first number tried is what the requests alone would take; then one more at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.bounds import pods_to_make
from kwhatif.cluster.shapes import PodInfo
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.edits.add_nodes import ADD_NODES, AddNodes
from kwhatif.whatif.edits.apply import edited
from kwhatif.whatif.edits.draft import Draft
from kwhatif.whatif.edits.kind import Given
from kwhatif.whatif.gate.context import Context
from kwhatif.whatif.session import Asked

MOST_NODES = 200
"""No more are tried."""


class Growth:
    """The cluster after a change, to be made larger."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._after = _snapshot_after(context)

    def nodes(self, pods: Sequence[PodInfo], like: str) -> int | None:
        """How many nodes like this one it takes for all the pods; None if that many do not help."""
        count = max(1, self._at_least(pods, like))
        before = 0
        while count <= MOST_NODES:
            placed = self._placed(pods, like, count)
            if placed == len(pods):
                return count
            if placed <= before:
                return None
            before, count = placed, count + 1
        return None

    def _at_least(self, pods: Sequence[PodInfo], like: str) -> int:
        """What the resources and places that no other node has left would take, if requests could be cut at will."""
        cluster = self._context.cluster
        row = cluster.columns.row(like)
        assert row is not None
        asked = sum(cluster.shapes.requests[info.shape.index] for info in pods)
        free = (cluster.columns.allocatable - cluster.requested).clip(min=0).sum(axis=0)
        short = [
            (int(want), int(has)) for want, has in zip(asked - free, cluster.columns.allocatable[row], strict=True)
        ]
        open_slots = int((cluster.columns.allowed_pods - cluster.pod_count).clip(min=0).sum())
        short.append((len(pods) - open_slots, int(cluster.columns.allowed_pods[row])))
        return max((-(-want // has) for want, has in short if want > 0 and has > 0), default=1)

    def _placed(self, pods: Sequence[PodInfo], like: str, count: int) -> int:
        with pods_to_make():
            grown = edited(self._after, [Given(ADD_NODES, AddNodes(count=count, like=like), "the gate")])
        session = self._context.session.anew(grown.snapshot, shapes=self._context.cluster.shapes, imagined=True)
        placed = 0
        for pod in pods:
            if session.driver.scheduler(pod.pod.spec.scheduler_name) is not None:
                spec = replace(pod.pod.spec, preemption_policy="Never")
                placed += session.driver.attempt(session.info(Asked(replace(pod.pod, spec=spec)))).placed
        return placed


def _snapshot_after(context: Context) -> Snapshot:
    """The snapshot with the pods where the change leaves them."""
    draft = Draft(context.snapshot)
    names = context.cluster.columns.names
    draft.change(Pod, lambda pod: None)
    draft.add_pods(
        replace(info.pod, spec=replace(info.pod.spec, node_name=names[row])) for info, row in context.cluster.pods()
    )
    return draft.snapshot
