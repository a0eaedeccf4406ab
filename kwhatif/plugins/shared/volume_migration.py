"""In-tree volumes on nodes where a CSI driver looks after them: zones go by the driver's own label.

Upstream: plugins/volumebinding/binder.go (tryTranslatePVToCSI) and csi-translation-lib/plugins.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from kwhatif.api.core import NodeSelectorRequirement, NodeSelectorTerm
from kwhatif.api.others import PersistentVolume
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.memory import once_a_cluster
from kwhatif.cluster.types import BoolArray

MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
"""Annotation of a CSINode: the in-tree plugins, separated by commas, that drivers took over on the node."""

CINDER = "kubernetes.io/cinder"
_ZONE_KEYS = {
    "kubernetes.io/aws-ebs": "topology.ebs.csi.aws.com/zone",
    CINDER: "topology.cinder.csi.openstack.org/zone",
    "kubernetes.io/gce-pd": "topology.gke.io/zone",
}
"""In-tree plugins whose volumes' zones are translated -> the driver's label. Azure's disks keep theirs."""

_STABLE = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_BETA = ("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region")


def migrated_plugin(volume: PersistentVolume) -> str | None:
    """The in-tree plugin of a volume, if a driver reads its zones in another way."""
    spec = volume.spec
    if spec.gce_persistent_disk is not None:
        return "kubernetes.io/gce-pd"
    if spec.aws_elastic_block_store is not None:
        return "kubernetes.io/aws-ebs"
    return CINDER if spec.cinder is not None else None


@once_a_cluster
def migrates(cluster: Cluster, plugin: str) -> BoolArray:
    """bool[N]: nodes on which a driver took over from the plugin."""
    if cluster.shapes.features.volume_limits_of_old and plugin != CINDER:
        return np.zeros(len(cluster), np.bool_)
    nodes = (cluster.storage.csi_nodes.get(name) for name in cluster.columns.names)
    listed = ((node.metadata.annotations or {}).get(MIGRATED_PLUGINS, "") if node else "" for node in nodes)
    return np.fromiter((plugin in names.split(",") for names in listed), np.bool_, len(cluster))


def migrated_terms(volume: PersistentVolume, plugin: str) -> list[NodeSelectorTerm] | None:
    """The terms of the volume's node affinity as the driver puts them; None for a volume at home everywhere.

    Zones of the affinity go before those of the volume's labels.
    """
    affinity, labels = volume.spec.node_affinity, volume.metadata.labels or {}
    required = affinity.required if affinity else None
    terms = list((required.node_selector_terms if required else None) or ())
    values: dict[str, set[str]] = {}
    for expression in _expressions(terms):
        values.setdefault(expression.key, set()).update(expression.values or ())
    zone, region = next((pair for pair in (_STABLE, _BETA) if pair[0] in values), _STABLE)
    if zone not in values and zone not in labels and _BETA[0] in labels:
        zone, region = _BETA
    if values.get(zone):
        terms = [_renamed(term, zone, _ZONE_KEYS[plugin]) for term in terms]
    else:
        zones = sorted({part.strip() for part in labels.get(zone, "").split("__")} - {""})
        if zones:
            wanted = NodeSelectorRequirement(key=_ZONE_KEYS[plugin], operator="In", values=zones)
            terms = [
                replace(term, match_expressions=[*(term.match_expressions or ()), wanted])
                for term in terms or [NodeSelectorTerm()]
            ]
    if region == _BETA[1] and values.get(region):
        terms = [_renamed(term, region, _STABLE[1]) for term in terms]
    return terms if terms or required is not None else None


def _expressions(terms: Iterable[NodeSelectorTerm]) -> Iterable[NodeSelectorRequirement]:
    return (expression for term in terms for expression in term.match_expressions or ())


def _renamed(term: NodeSelectorTerm, old: str, new: str) -> NodeSelectorTerm:
    found = [replace(e, key=new) if e.key == old else e for e in term.match_expressions or ()]
    return replace(term, match_expressions=found)
