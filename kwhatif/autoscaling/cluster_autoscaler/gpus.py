"""GPUs, by the label that the cloud puts on nodes that have some.

Upstream: cluster-autoscaler/utils/gpu/gpu.go.
"""

from __future__ import annotations

from kwhatif.api.core import Node
from kwhatif.cluster.shapes import PodInfo

GPU_RESOURCES = ("nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu", "microsoft.com/directx")


def gpu_resource(node: Node, label: str) -> str | None:
    """The resource that a node's GPUs go by; None for a node without any."""
    found = next((name for name in GPU_RESOURCES if _has(node, name)), None)
    return found or (GPU_RESOURCES[0] if label in (node.metadata.labels or {}) else None)


def gpus_are_missing(node: Node, label: str) -> bool:
    """Whether the label promises GPUs that have not appeared yet."""
    return label in (node.metadata.labels or {}) and not any(_has(node, name) for name in GPU_RESOURCES)


def asks_for_gpus(pod: PodInfo) -> bool:
    return any(name in pod.shape.score_requests for name in GPU_RESOURCES)


def _has(node: Node, name: str) -> bool:
    quantity = (node.status.allocatable or {}).get(name)
    return quantity is not None and not quantity.is_zero
