"""NodeResourcesAllocatable: prefer nodes by what they have in all, whatever is asked for.

Upstream: pkg/noderesources/allocatable.go of scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec.structs import replace

from kwhatif.cluster.node_view import NodeView
from kwhatif.cluster.pod_requests import is_scalar
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.types import Int64Array
from kwhatif.framework.arithmetic import divide, stretch_scores
from kwhatif.framework.declaration import Args
from kwhatif.framework.interface import Plugin, Scope
from kwhatif.golang.field_validation import Path
from kwhatif.plugins.shared.node_resources import ResourceSpec
from kwhatif.versions import Features

_DEFAULT = (ResourceSpec(name="cpu", weight=1 << 20), ResourceSpec(name="memory", weight=1))
Mode = Annotated[str, msgspec.Meta(extra={"words": ("Least", "Most"), "go": "v1.ModeType"})]


class NodeResourcesAllocatableArgs(Args):
    resources: tuple[ResourceSpec, ...] = ()
    mode: Mode = ""


class NodeResourcesAllocatable(Plugin[None, None]):
    name = "NodeResourcesAllocatable"
    args = NodeResourcesAllocatableArgs
    score_scope = Scope.NODE
    depends_on_labels = False
    checked_at_start = True

    @classmethod
    def fill_defaults(cls, args: Any, features: Features) -> Any:
        return replace(args, resources=args.resources or _DEFAULT, mode=args.mode or "Least")

    @classmethod
    def problems(cls, path: Path, args: Any, features: Features) -> Iterator[str]:
        for index, resource in enumerate(args.resources):
            if resource.weight <= 0:
                problem = f"resource weight of {resource.name} should be a positive value, got :{resource.weight}"
                yield path.child("resources").index(index).child("weight").invalid(resource.weight, problem)
        if args.mode not in ("Least", "Most"):
            yield path.child("mode").invalid(args.mode, "invalid support ModeType")

    def cache_key(self, pod: PodInfo) -> Hashable:
        return None

    def score(self, pod: PodInfo, nodes: NodeView, state: None) -> Int64Array:
        args: NodeResourcesAllocatableArgs = self.handle.args
        weights = {resource.name: resource.weight for resource in args.resources}
        total = np.zeros(nodes.size, np.int64)
        for name, weight in weights.items():
            if name in ("cpu", "memory", "ephemeral-storage") or is_scalar(name):
                total += nodes.cluster.shapes.resources.amounts(nodes.allocatable, name) * weight
        total = -total if args.mode == "Least" else total
        return divide(total, np.full(nodes.size, sum(weights.values()), np.int64))

    def normalize(self, pod: PodInfo, nodes: NodeView, state: None, scores: Int64Array) -> Int64Array:
        return stretch_scores(scores)
