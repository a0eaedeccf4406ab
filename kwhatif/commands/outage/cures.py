"""How many nodes more it takes to survive a failure: each number is tried by failing the grown cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

import msgspec

from kwhatif.api.core import Node
from kwhatif.bounds import pods_to_make
from kwhatif.cluster.cluster import Cluster
from kwhatif.commands.outage.effects import FailureEffects
from kwhatif.commands.outage.failures import NodeFailure
from kwhatif.results.disruption import Cure, Failure, Requirement
from kwhatif.simulation.edits.document import apply_edits, read_edit
from kwhatif.simulation.fewest_nodes import least_nodes, try_fewest
from kwhatif.simulation.node_pools import pool_of, zone_of
from kwhatif.simulation.study import StudyBase

MOST_FAILURES = 3
"""For how many failures, the worst first, nodes are tried."""

MOST_EXAMPLES = 2
"""Like how many nodes of those that are left more are tried."""

MOST_TRIALS = 12
"""How often a cluster fails for it."""

MOST_PODS = 2_000
"""In a cluster of more pods a trial takes a second or more, and none is made."""


class CureSearch(msgspec.Struct):
    """Grows the cluster of a study, one like the other, and has it fail; ``require`` is what surviving takes."""

    base: StudyBase
    unreachable: bool
    require: Sequence[Requirement]
    left: int = MOST_TRIALS

    def cure_of(self, failure: Failure, fails: NodeFailure) -> Cure | None:
        """The fewest nodes that would do, or why none would; None where pods that find no node are not all of it."""
        if failure.breaks(self.require) != ("back",) or failure.stuck > failure.pending + failure.homeless:
            return None
        bound = next((lost_pod for lost_pod in failure.lost_pods if lost_pod.cause), None)
        if bound is not None:
            return self._none(failure, f"no node helps {bound.pod}: {bound.cause}")
        cluster = self.base.session.cluster
        examples = self._examples(failure, cluster)
        if not examples:
            return self._none(failure, "no node is left that takes pods, to add others like it")
        if sum(cluster.pod_count.tolist()) > MOST_PODS:
            name = examples[0].name
            return self._none(
                failure, f"not tried in a cluster of more than {MOST_PODS:,} pods: ask with --add-nodes N,like={name}"
            )
        if not self.left:
            return None
        best: Cure | None = None
        most = failure.stuck
        again = {lost_pod.pod for lost_pod in failure.lost_pods if lost_pod.replacement}
        pods = [info for info, _ in cluster.pods() if info.key in again]
        left = cluster.without_nodes(failure.nodes)
        for example in examples:
            least = least_nodes(left, pods, example.name)
            if best is None or least <= most:
                attempt = partial(self._try, fails, example)
                cure = try_fewest(least, max(least, most), attempt)
                best, most = (best, most) if cure is None else (cure, cure.nodes - 1)
        names = ", ".join(example.name for example in examples)
        return best or self._none(failure, f"no number of nodes like {names} up to {most} helps")

    def _none(self, failure: Failure, reason: str) -> Cure:
        return Cure(kind=failure.kind, name=failure.name, reason=reason)

    def _examples(self, failure: Failure, cluster: Cluster) -> list[Node]:
        """A node that is left of each pool and zone; pools first from which most pods find no other node."""
        pools = {node.name: pool_of(node) for node in cluster.columns.given}
        hit = Counter(pools.get(pod.node, "") for pod in failure.lost_pods if pod.outcome == "pending")
        examples: dict[tuple[str, str], Node] = {}
        for node in sorted(cluster.columns.given, key=lambda node: node.name):
            if node.name not in failure.nodes and not node.spec.unschedulable and node.is_ready:
                examples.setdefault((pools[node.name], zone_of(node)), node)
        ordered = sorted(examples.items(), key=lambda entry: (-hit[entry[0][0]], entry[0]))
        return [node for _, node in ordered[:MOST_EXAMPLES]]

    def _try(self, fails: NodeFailure, like: Node, count: int) -> Cure | None:
        if not self.left:
            return None
        self.left -= 1
        scenario = self.base.scenario
        with pods_to_make():
            edit = read_edit({"addNodes": {"count": count, "like": like.name}}, "")
            grown = scenario.with_snapshot(apply_edits(scenario.snapshot, [edit]).snapshot)
            failure = FailureEffects(grown.new_session(imagined=True), self.unreachable).failure_of(fails)
        if failure.breaks(self.require):
            return None
        return Cure(
            kind=fails.kind, name=fails.name, nodes=count, like=like.name, pool=pool_of(like), zone=zone_of(like)
        )
