"""DynamicResources for pods without claims: it scores nothing and has a word in every failure message.

A pod with claims is named as not modelled by the fidelity report. Upstream: plugins/dynamicresources.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.cluster.view import NodeView
from kwhatif.framework.diagnosis import Diagnosis
from kwhatif.framework.interface import Plugin, PostFilterResult, Scope
from kwhatif.framework.status import SKIP, Skip, Status


class DynamicResources(Plugin[None, None]):
    name = "DynamicResources"
    needs_pre_filter = True
    requeue_on = MappingProxyType({})
    filter_scope = Scope.NODE
    score_scope = Scope.NODE
    reads = ("DeviceClass", "ResourceClaim", "ResourceSlice")
    also = ("preEnqueue", "filter", "reserve", "preBind")

    @property
    def request_sums(self) -> tuple[int, int]:
        # To look for extended resources that a device class serves.
        return (1, 0) if self.handle.features.dra_extended_resource else (0, 0)

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> Skip:
        return SKIP

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis) -> PostFilterResult:
        if self.name not in diagnosis.evaluation.reached:
            # An earlier plugin's PreFilter refused the pod; upstream then misses its own state here and stops.
            return PostFilterResult(Status.error("not found"))
        return PostFilterResult(Status.unschedulable("no new claims to deallocate"))

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        return np.zeros(nodes.size, np.int64)

    def normalize(self, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
        return scores
