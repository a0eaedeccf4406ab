"""Opportunistic batching: the list of nodes that a decision keeps as hints for the next pods with the same signature.

Upstream: pkg/scheduler/framework/runtime/batch.go, whose reasons for a missing hint are kept.
"""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.framework.evaluation import Evaluation
from kwhatif.framework.signature import Signature, Signer
from kwhatif.scheduling.node_score_heap import NodeScoreHeap

MOST_SECONDS = 0.5
"""Seconds for which a list is valid."""

POD_SKIPPED = "pod_skipped"
POD_INCOMPATIBLE = "pod_incompatible"
EXPIRED = "expired"
NODE_MISSING = "node_missing"
NODE_NOT_FULL = "node_not_full"
POD_NOT_BATCHABLE = "pod_not_batchable"
EMPTY_LIST = "empty_list"


class KeptNodes(msgspec.Struct, frozen=True):
    """Nodes scored for a pod with this signature at a moment in seconds, and how many of them were used since."""

    signature: Signature
    nodes: NodeScoreHeap
    taken: int
    since: float


class BatchState(msgspec.Struct, frozen=True):
    """What a profile remembers: its list, and of the last pod that it placed the number of the cycle and the node."""

    kept: KeptNodes | None = None
    cycle: int = 0
    node: str = ""


class Batching(msgspec.Struct):
    """The result of batching in one cycle.

    signed     the pod has a signature
    hint       the hinted node, if any; ``used``: the pod went there, other than by its nomination
    flushed    why there was no hint, or no list was kept, in the order of the checks
    kept       how many other nodes are on the list that this decision left; None if it made no new one
    """

    signed: bool
    hint: str = ""
    used: bool = False
    flushed: tuple[str, ...] = ()
    kept: int | None = None


class OpportunisticBatch:
    """The batching of one profile; ``state`` is a value, and may be set back."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self.state = BatchState()

    def forget(self) -> None:
        """Drop the list: the next pod does not follow the last one."""
        self.state = BatchState()

    def concerns(self, pod: PodInfo) -> bool:
        """Whether batching applies to the pod: it has a signature, or there is a list that it may end."""
        return self.state.kept is not None or self._signer.sign(pod) is not None

    def hint(self, pod: PodInfo, evaluation: Evaluation, cluster: Cluster, *, cycle: int, now: float) -> Batching:
        """The hint for a pod that has passed PreFilter; a hinted node is removed from the list."""
        signature = self._signer.sign(pod)
        batching = Batching(signature is not None)
        kept = self.state.kept
        if kept is None or kept.taken >= len(kept.nodes):
            return batching
        problem = self._problem(kept, signature, cycle, now) or self._fits_again(pod, evaluation, cluster)
        if problem:
            batching.flushed = (problem,)
            return batching
        batching.hint = kept.nodes.node(kept.taken)
        self.state = replace(self.state, kept=replace(kept, taken=kept.taken + 1))
        return batching

    def _problem(self, nodes: KeptNodes, signature: Signature | None, cycle: int, now: float) -> str:
        if cycle != self.state.cycle + 1:
            return POD_SKIPPED
        if signature is None or signature != nodes.signature:
            return POD_INCOMPATIBLE
        return EXPIRED if now > nodes.since + MOST_SECONDS else ""

    def _fits_again(self, pod: PodInfo, evaluation: Evaluation, cluster: Cluster) -> str:
        """Why the last node invalidates the list: it no longer exists, or still has room for the pod, nominated pods
        aside.
        """
        row = cluster.columns.row(self.state.node)
        if row is None or not cluster.active[row]:
            return NODE_MISSING
        evaluation.refresh(pod)
        return NODE_NOT_FULL if evaluation.passing_among(pod, np.array([row], np.intp))[0] else ""

    def store(
        self,
        pod: PodInfo,
        batching: Batching,
        node: str,
        scored: tuple[IntpArray, Int64Array] | None,
        cluster: Cluster,
        *,
        cycle: int,
        now: float,
    ) -> None:
        """Keep the nodes found, by their totals, after a pod was placed, unless its node was the only one visited."""
        kept = self.state.kept
        batching.used = batching.hint == node and not pod.nominated
        if batching.hint != node:
            signature = self._signer.sign(pod)
            if signature is not None and scored is not None:
                # The chosen node is the first that came from the top.
                kept = KeptNodes(signature, NodeScoreHeap(*scored, cluster.columns.names), 1, now)
                batching.kept = len(kept.nodes) - 1
            else:
                kept = None
                batching.flushed += (EMPTY_LIST if scored is None else POD_NOT_BATCHABLE,)
        self.state = BatchState(kept, cycle, node)
