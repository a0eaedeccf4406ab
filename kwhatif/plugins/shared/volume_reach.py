"""From which nodes volumes can be reached, and where new ones can be provisioned.

Most volumes belong to one node and most capacities concern one. Such nodes are looked up by the value of a label, so
that many volumes on many nodes do not cost the product of the two.

Upstream: component-helpers/storage/volume/helpers.go (CheckNodeAffinity) and plugins/volumebinding/binder.go
(checkBoundClaims, checkVolumeProvisions, hasEnoughCapacity).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kwhatif.api.core import NodeSelectorRequirement, NodeSelectorTerm
from kwhatif.api.meta import LabelSelector, LabelSelectorRequirement
from kwhatif.api.quantity import Quantity
from kwhatif.api.selectors import NodeTerm, Requirement, Selector, SelectorError
from kwhatif.api.workloads_and_storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.cluster_cache import cached_per_cluster
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.plugins.shared.attachable_volumes import migrated_plugin, migrated_terms, migrates

Affinity = tuple[NodeTerm, ...]
"""What a volume demands of a node's labels: one of the terms."""

_MOST = int(np.iinfo(np.int64).max)


# --- volumes that exist


def affinity_of(volume: PersistentVolume) -> Affinity | None:
    """The terms of a volume's node affinity, None for a volume without one."""
    affinity = volume.spec.node_affinity
    return (
        None if affinity is None or affinity.required is None else _compile_terms(affinity.required.node_selector_terms)
    )


def _compile_terms(terms: Iterable[NodeSelectorTerm] | None) -> Affinity:
    """Upstream matches a node that has labels but no name, so ``matchFields`` do not count."""
    node_terms = (NodeTerm.from_term(term) for term in terms or ())
    return tuple(NodeTerm(term.expressions, (), term.broken) for term in node_terms if term is not None)


@cached_per_cluster
def reach(cluster: Cluster, affinity: Affinity | None) -> IntpArray:
    """intp[]: rows of the nodes that such a volume can be reached from."""
    if affinity is None:
        return np.arange(len(cluster), dtype=np.intp)
    rows = [_meeting(term.expressions, cluster) for term in affinity if not term.broken]
    return rows[0] if len(rows) == 1 else np.unique(np.concatenate([*rows, np.zeros(0, np.intp)]))


def reachable(volume: PersistentVolume, cluster: Cluster) -> BoolArray:
    """bool[N]: nodes from which a bound volume can be reached, by the rules of the driver that each of them runs."""
    mask = _mask(affinity_of(volume), cluster)
    plugin = migrated_plugin(volume)
    if plugin is not None:
        mask = np.where(migrates(cluster, plugin), _mask(_by_driver(volume, plugin), cluster), mask)
    return mask


def _by_driver(volume: PersistentVolume, plugin: str) -> Affinity | None:
    terms = migrated_terms(volume, plugin)
    return None if terms is None else _compile_terms(terms)


def affinity_on(volume: PersistentVolume, cluster: Cluster, row: int) -> Affinity | None:
    """As ``affinity_of``, by the rules of the driver on one node."""
    plugin = migrated_plugin(volume)
    if plugin is not None and migrates(cluster, plugin)[row]:
        return _by_driver(volume, plugin)
    return affinity_of(volume)


def _mask(affinity: Affinity | None, cluster: Cluster) -> BoolArray:
    mask = np.zeros(len(cluster), np.bool_)
    mask[reach(cluster, affinity)] = True
    return mask


def _meeting(requirements: Sequence[Requirement], cluster: Cluster) -> IntpArray:
    """intp[]: rows of nodes whose labels meet all requirements."""
    columns = cluster.columns
    narrow = next((r for r in requirements if r.operator == "In"), None)
    if narrow is None:
        return np.flatnonzero(columns.matching_term(requirements, ()))
    by_value = _rows_by_value(cluster, narrow.key)
    some = [by_value[value] for value in dict.fromkeys(narrow.values) if value in by_value]
    rows = some[0] if len(some) == 1 else np.concatenate([*some, np.zeros(0, np.intp)])
    for requirement in requirements:
        if requirement is not narrow:
            rows = rows[columns.having(requirement)[rows]]
    return rows


@cached_per_cluster
def _rows_by_value(cluster: Cluster, label: str) -> dict[str, IntpArray]:
    column = cluster.columns.label(label)
    order = np.argsort(column.codes, kind="stable")
    ends = np.searchsorted(column.codes[order], np.arange(len(column.values) + 1))
    return {value: order[ends[code] : ends[code + 1]] for code, value in enumerate(column.values)}


# --- volumes to be made

NO_PROVISIONER = "kubernetes.io/no-provisioner"


def provisions(storage_class: StorageClass) -> bool:
    """Whether volumes of a class are provisioned at all."""
    return bool(storage_class.provisioner) and storage_class.provisioner != NO_PROVISIONER


@cached_per_cluster
def topologies_admit(cluster: Cluster, class_name: str) -> BoolArray:
    """bool[N]: nodes that the ``allowedTopologies`` of a class admit."""
    terms = cluster.storage.classes[class_name].allowed_topologies or ()
    allowed = np.full(len(cluster), not terms, np.bool_)
    for term in terms:
        expressions = [
            LabelSelectorRequirement(key=e.key, operator="In", values=e.values)
            for e in term.match_label_expressions or ()
        ]
        if expressions:
            allowed[_select_rows(LabelSelector(match_expressions=expressions), cluster)] = True
    return allowed


def allowed_topologies_of(storage_class: StorageClass) -> Affinity:
    """The ``allowedTopologies`` of a class as terms of a node affinity."""
    terms = (term.match_label_expressions or () for term in storage_class.allowed_topologies or ())
    return _compile_terms(
        NodeSelectorTerm(
            match_expressions=[NodeSelectorRequirement(key=e.key, operator="In", values=e.values) for e in expressions]
        )
        for expressions in terms
    )


def _select_rows(selector: LabelSelector | None, cluster: Cluster) -> IntpArray:
    """intp[]: rows of nodes that a label selector selects; one that makes no sense selects none."""
    try:
        compiled = Selector.from_label_selector(selector)
    except SelectorError:
        return np.zeros(0, np.intp)
    return np.zeros(0, np.intp) if compiled.nothing else _meeting(compiled.requirements, cluster)


def enough_capacity(claim: PersistentVolumeClaim, storage_class: StorageClass, cluster: Cluster) -> BoolArray:
    """bool[N]: nodes for which the driver reports room for the claim, or reports nothing."""
    if not _capacity_counts(claim, storage_class, cluster):
        return np.ones(len(cluster), np.bool_)
    largest = largest_volume(cluster, storage_class.name)
    enough: BoolArray = largest >= min(claim.storage.value(), _MOST)
    return enough


def reported_capacity(claim: PersistentVolumeClaim, storage_class: StorageClass, cluster: Cluster) -> Int64Array:
    """int64[N]: the capacity for a volume to be provisioned, -1 where the driver reports none.

    Of several that suffice upstream takes any; here the first.
    """
    capacities = np.full(len(cluster), -1, np.int64)
    if not _capacity_counts(claim, storage_class, cluster):
        return capacities
    for capacity in cluster.storage.capacities:
        if capacity.storage_class_name == storage_class.name and _limit(capacity) >= claim.storage.value():
            rows = _select_rows(capacity.node_topology, cluster)
            capacities[rows] = np.where(capacities[rows] < 0, _bytes(capacity.capacity), capacities[rows])
    return capacities


def _capacity_counts(claim: PersistentVolumeClaim, storage_class: StorageClass, cluster: Cluster) -> bool:
    """Whether the claim has a size and the driver says how much room there is."""
    if CSIStorageCapacity.__name__ in cluster.storage.unknown:
        return False
    driver = cluster.storage.drivers.get(storage_class.provisioner or "")
    resources = claim.spec.resources
    asks = "storage" in ((resources.requests if resources else None) or {})
    return asks and driver is not None and bool(driver.spec.storage_capacity)


@cached_per_cluster
def largest_volume(cluster: Cluster, class_name: str) -> Int64Array:
    """int64[N]: the most bytes that a volume of the class may have on each node, as the driver reports; else -1."""
    largest = np.full(len(cluster), -1, np.int64)
    for capacity in cluster.storage.capacities:
        if capacity.storage_class_name == class_name:
            rows = _select_rows(capacity.node_topology, cluster)
            largest[rows] = np.maximum(largest[rows], _limit(capacity))
    return largest


def _limit(capacity: CSIStorageCapacity) -> int:
    """The largest volume that fits, in bytes; -1 if nothing is said."""
    limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
    return -1 if limit is None else _bytes(limit)


def _bytes(quantity: Quantity | None) -> int:
    return 0 if quantity is None else min(quantity.value(), _MOST)
