"""SelectorSpread: favours nodes and zones with few pods of the same service or controller.

Upstream, until 1.28: plugins/selectorspread/selector_spread.go.
"""

from __future__ import annotations

import numpy as np

from kwhatif.api.core import Node
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo, PodShape, Selection
from kwhatif.cluster.tally import Tally, TallySpec, Weighing
from kwhatif.cluster.types import Int64Array, IntpArray
from kwhatif.framework.interface import MAX_SCORE, Plugin
from kwhatif.framework.status import SKIP, Skip
from kwhatif.plugins.shared.spread_constraints import OWNERS

ZONE_SHARE = 2.0 / 3.0
"""How much of the score is the zone's."""
_BETA = "failure-domain.beta.kubernetes.io"
_STABLE = "topology.kubernetes.io"


class SelectorSpread(Plugin[None, Tally]):
    name = "SelectorSpread"
    needs_pre_score = True
    dependencies = OWNERS

    def pre_score(self, pod: PodInfo, nodes: NodeView, state: None) -> Tally | Skip:
        if pod.shape.spec.topology_spread_constraints:
            return SKIP
        return _siblings(nodes.cluster, pod.shape)

    def score(self, pod: PodInfo, nodes: NodeView, state: Tally) -> Int64Array:
        return nodes.counts(state)

    def normalize(self, pod: PodInfo, nodes: NodeView, state: Tally, scores: Int64Array) -> Int64Array:
        most = int(scores.max(initial=0))
        result = np.full(len(scores), float(MAX_SCORE))
        if most > 0:
            result = float(MAX_SCORE) * ((most - scores) / float(most))
        zones: IntpArray = nodes.take_rows(_zones(nodes.cluster))
        zoned = zones >= 0
        if zoned.any():
            in_zone = np.bincount(zones[zoned], weights=scores[zoned]).astype(np.int64)
            most_in_zone = int(in_zone.max())
            of_zone = np.full(len(scores), float(MAX_SCORE))
            if most_in_zone > 0:
                of_zone = float(MAX_SCORE) * ((most_in_zone - in_zone[zones]) / float(most_in_zone))
            result = np.where(zoned, result * (1.0 - ZONE_SHARE) + ZONE_SHARE * of_zone, result)
        return result.astype(np.int64)


@cached_per_cluster
def _siblings(cluster: Cluster, shape: PodShape) -> Tally:
    """A live count, node by node, of the pods that the same services and controller select."""
    selector, namespace = cluster.owners.default_selector(shape), shape.namespace
    selected = Selection(selector, frozenset((namespace,)), staying=True)
    return cluster.tally(
        TallySpec(("siblings", namespace, selector), Weighing(() if selector.empty else ((selected, 1),)))
    )


@cached_per_cluster
def _zones(cluster: Cluster) -> IntpArray:
    """intp[N]: the number of each node's zone, -1 where it has neither zone nor region."""
    numbers: dict[tuple[str, str], int] = {}
    zones = [_zone(node) for node in cluster.columns.nodes]
    return np.array([numbers.setdefault(zone, len(numbers)) if any(zone) else -1 for zone in zones], np.intp)


def _zone(node: Node) -> tuple[str, str]:
    """Region and zone; the old labels go before the stable ones (upstream: component-helpers/node/topology)."""
    labels = node.metadata.labels or {}
    region, zone = (labels.get(f"{_BETA}/{what}", labels.get(f"{_STABLE}/{what}", "")) for what in ("region", "zone"))
    return region, zone
