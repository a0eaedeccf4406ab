"""ImageLocality: favours nodes that have the pod's images already, by size and by how many nodes have them.

Upstream: plugins/imagelocality/image_locality.go.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec
import numpy as np

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.declaration import DefaultPlugin
from kwhatif.framework.interface import MAX_SCORE, Plugin, Scope
from kwhatif.framework.signature import IMAGES, Signature

MIB = 1024 * 1024
LEAST = 23 * MIB
MOST_PER_CONTAINER = 1000 * MIB


class ImageLocality(Plugin[None, None]):
    name = "ImageLocality"
    default = DefaultPlugin(210, weight=1)
    depends_on_labels = False
    score_scope = Scope.NODE
    depends_on_node_count = True

    def cache_key(self, pod: PodInfo) -> Hashable:
        spec = pod.shape.spec
        images = [[container.image for container in some or ()] for some in (spec.init_containers, spec.containers)]
        return msgspec.msgpack.encode((images, [volume.image for volume in spec.volumes or ()]))

    def sign_pod(self, pod: PodInfo) -> Signature | None:
        spec = pod.shape.spec
        containers = (*(spec.containers or ()), *(spec.init_containers or ()))
        return {IMAGES: {normalize_image_name(container.image or "") for container in containers}}

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        spec, columns, features = pod.shape.spec, nodes.columns, self.handle.features
        initial = (spec.init_containers or ()) if features.image_locality_counts_init_containers else ()
        containers = [*initial, *(spec.containers or ())]
        mounted = (spec.volumes or ()) if features.image_locality_counts_image_volumes else ()
        volumes = [v.image.reference or "" for v in mounted if v.image is not None]
        most = max(MOST_PER_CONTAINER * len(containers), LEAST)
        total = np.zeros(len(columns), np.int64)
        there = nodes.cluster.active
        size = int(np.count_nonzero(there))
        for image in (*(c.image or "" for c in containers), *volumes):
            state_of = columns.images.get(normalize_image_name(image))
            if state_of is not None:
                rows = state_of.rows[there[state_of.rows]]
                nodes_with_it = len(rows)
                if features.images_count_nodes_so_far:
                    spreads = np.arange(1, nodes_with_it + 1) / size
                    total[rows] += (float(state_of.size) * spreads).astype(np.int64)
                    continue
                total[rows] += int(float(state_of.size) * (nodes_with_it / size))
        np.minimum(np.maximum(total, LEAST, out=total), most, out=total)
        total -= LEAST
        total *= MAX_SCORE
        total //= max(most - LEAST, 1)
        return nodes.take_rows(total)


def normalize_image_name(image: str) -> str:
    """An image name with its tag; ``latest`` where it has none."""
    return f"{image}:latest" if image.rfind(":") <= image.rfind("/") else image
