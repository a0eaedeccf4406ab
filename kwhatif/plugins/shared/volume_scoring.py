"""How full a pod's volumes would be: the score of the gates StorageCapacityScoring and VolumeCapacityPriority.

Upstream: plugins/volumebinding/scorer.go and Score in volume_binding.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kwhatif.api.others import PersistentVolumeClaim
from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.storage import class_of
from kwhatif.cluster.types import BoolArray, Int64Array, IntpArray
from kwhatif.framework.arithmetic import broken_linear, go_round
from kwhatif.framework.interface import MAX_SCORE
from kwhatif.plugins.shared.resource_args import UtilizationShapePoint
from kwhatif.plugins.shared.volume_reach import told_capacity


class _Use:
    """What is asked of one storage class and what there is, int64[N] each, and bool[N] where it is asked at all."""

    def __init__(self, size: int) -> None:
        self.asked: Int64Array = np.zeros(size, np.int64)
        self.there: Int64Array = np.zeros(size, np.int64)
        self.used: BoolArray = np.zeros(size, np.bool_)


def utilization_scores(
    static: Sequence[tuple[PersistentVolumeClaim, IntpArray]],
    provision: Sequence[tuple[PersistentVolumeClaim, BoolArray]],
    cluster: Cluster,
    points: Sequence[UtilizationShapePoint],
) -> Int64Array:
    """int64[N]: each storage class counts alike, by how much of the volumes or of the capacity would be asked for.

    ``static`` are the numbers of the volumes that claims get (intp[N] each, -1 for none), ``provision`` claims with
    the nodes for which volumes are to be made; the latter count where no volume is ready.
    """
    size = len(cluster)
    ready = np.zeros(size, np.bool_)
    for _, got in static:
        ready |= got >= 0
    uses: dict[str, _Use] = {}
    for claim, got in static:
        _count_ready(claim, got, cluster, uses)
    for claim, where in provision:
        _count_to_be_made(claim, where & ~ready, cluster, uses)
    scale = MAX_SCORE // 10
    shape = tuple((point.utilization, point.score * scale) for point in points)
    total, classes = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for use in uses.values():
        full = (use.there == 0) | (use.asked > use.there)
        percent = np.where(full, 100, use.asked * 100 // np.maximum(use.there, 1))
        total += np.where(use.used, broken_linear(shape, percent), 0)
        classes += use.used
    return np.where(classes == 0, 0, go_round(total / np.maximum(classes, 1)))


def _count_ready(claim: PersistentVolumeClaim, got: IntpArray, cluster: Cluster, uses: dict[str, _Use]) -> None:
    for number in np.unique(got[got >= 0]).tolist():
        volume = cluster.storage.listed[number]
        use = uses.setdefault(volume.spec.storage_class_name or "", _Use(len(cluster)))
        here = got == number
        use.asked[here] += claim.storage.value()
        use.there[here] += volume.storage.value()
        use.used |= here


def _count_to_be_made(claim: PersistentVolumeClaim, where: BoolArray, cluster: Cluster, uses: dict[str, _Use]) -> None:
    storage_class = cluster.storage.classes.get(class_of(claim))
    if storage_class is None:
        return
    told = told_capacity(claim, storage_class, cluster)
    here = where & (told >= 0)
    use = uses.setdefault(claim.spec.storage_class_name or "", _Use(len(cluster)))
    use.asked[here] += claim.storage.value()
    use.there[here] = told[here]  # of all claims of a class together, not of each
    use.used |= here
