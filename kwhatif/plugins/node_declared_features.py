"""NodeDeclaredFeatures: what a pod needs of its kubelet, against what nodes declare.

Upstream: plugins/nodedeclaredfeatures and component-helpers/nodedeclaredfeatures/features; only features that
are inferred for scheduling appear here.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import msgspec
import numpy as np

from kwhatif.api.core import PodSpec
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import Plugin, Scope
from kwhatif.framework.signature import DECLARED_FEATURES, Signature
from kwhatif.framework.status import SKIP, Rejection, Skip
from kwhatif.versions import Features


class NeededFeatures(msgspec.Struct, frozen=True):
    names: frozenset[str]


class NodeDeclaredFeatures(Plugin[NeededFeatures, None]):
    name = "NodeDeclaredFeatures"
    depends_on_labels = False
    needs_pre_filter = True
    events_to_register = MappingProxyType({})
    filter_scope = Scope.NODE

    @classmethod
    def exists(cls, features: Features) -> bool:
        return features.gang_scheduling_plugin

    @classmethod
    def by_default(cls, features: Features) -> DefaultPlugin | None:
        return DefaultPlugin(240) if features.node_declared_features else None

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        return {DECLARED_FEATURES: required_features_of(pod.shape.spec, self.handle.features)}

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> NeededFeatures | Skip:
        if not self.handle.features.node_declared_features:
            return SKIP
        names = required_features_of(pod.shape.spec, self.handle.features)
        return NeededFeatures(names) if names else SKIP

    def filter(self, pod: PodInfo, nodes: NodeView, state: NeededFeatures) -> Iterator[Rejection]:
        lacking = [", ".join(sorted(state.names - declared)) for declared in nodes.columns.declared_features]
        for names in dict.fromkeys(filter(None, lacking)):
            reason = "node(s) didn't match Pod's required features"
            if self.handle.features.missing_node_features_are_named:
                reason = f"node declared features check failed - unsatisfied requirements: {names}"
            yield Rejection(
                nodes.take_rows(np.array([lacks == names for lacks in lacking], np.bool_)),
                reason,
                unresolvable=True,
                detail=lambda place: f"node does not declare {lacking[nodes.row(place)]}",
            )


def required_features_of(spec: PodSpec, features: Features) -> frozenset[str]:
    """The node features a pod cannot run without."""
    names = set()
    rules = [
        rule
        for container in (*(spec.containers or ()), *(spec.init_containers or ()))
        for rule in container.restart_policy_rules or ()
    ]
    if any(rule.action == "RestartAllContainers" for rule in rules):
        names.add("RestartAllContainersOnContainerExits")
    on_host = spec.host_network and spec.host_users is False
    if on_host and features.user_namespaces_on_host_network_are_declared:
        names.add("UserNamespacesHostNetworkSupport")
    return frozenset(names)
