"""The plugin of a custom scheduler for Kubernetes 1.16, under the name and at the extension points it had then.

    kwhatif place samples/legacy/painted.yaml --snapshot samples/three-nodes.json \
        --policy samples/legacy/custom-scheduler.yaml --plugin samples/legacy/sample_plugin.py:SamplePlugin
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.cluster.cluster import Cluster
from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.node_view import NodeView
from kwhatif.framework.interface import Handle, Plugin
from kwhatif.framework.status import SKIP, Rejection, Skip


class SamplePlugin(Plugin[str, None]):
    """Pods go to nodes whose label ``color`` is the favorite one, unless they take any color."""

    name = "sample-plugin"

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self.color = str(handle.args.get("favorite_color", "red"))
        self.number = handle.args.get("favorite_number", 42)
        self.thanks_to = handle.args.get("thanks_to", "everybody")
        self.bound: list[str] = []

    def pre_filter(self, pod: PodInfo, cluster: Cluster) -> str | Skip:
        return SKIP if pod.shape.labels.get("color") == "any" else self.color

    def filter(self, pod: PodInfo, nodes: NodeView, state: str) -> Iterator[Rejection]:
        colors = nodes.columns.label("color")
        wrong = colors.broadcast([color != state for color in colors.values], missing=True)
        yield Rejection(nodes.take_rows(wrong), f"node(s) were not {state}", unresolvable=True)

    def pre_bind(self, pod: PodInfo, node: str, state: None) -> None:
        self.bound.append(f"{pod.key} goes to {node}, number {self.number}, thanks to {self.thanks_to}")
