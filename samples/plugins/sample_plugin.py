"""A plugin from outside kwhatif, written over columns: pods go only to nodes of one's favorite color.

    kwhatif place pod.yaml --snapshot samples/three-nodes.json \\
        --policy samples/policies/sample-plugin.yaml --plugin samples/plugins/sample_plugin.py:SamplePlugin

It has two extension points: a filter, and a pre-bind that writes down who went where and refuses nobody. Its
arguments come from ``pluginConfig``, as the plain mapping that stands there.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwhatif.cluster.shapes import PodInfo
from kwhatif.cluster.node_view import NodeView
from kwhatif.errors import PolicyError
from kwhatif.framework.interface import Handle, Plugin, Scope
from kwhatif.framework.status import Rejection


class SamplePlugin(Plugin[None, None]):
    name = "SamplePlugin"  # what a policy calls it
    filter_scope = Scope.NODE  # the answer depends on the Node object alone: worked out once for pods that look alike

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        args = handle.args
        unknown = set(args) - {"favorite_color", "favorite_number", "thanks_to"}
        if unknown:
            raise PolicyError(f"SamplePlugin: unknown argument {min(unknown)}")
        self.color = args.get("favorite_color", "red")
        self.number = args.get("favorite_number", 42)
        self.thanks_to = args.get("thanks_to", "everybody")
        self.bound: list[str] = []

    def filter(self, pod: PodInfo, nodes: NodeView, state: None) -> Iterator[Rejection]:
        # One column, dictionary-encoded: each distinct color is looked at once, however many nodes there are.
        colors = nodes.columns.label("color")
        wrong = colors.broadcast([color != self.color for color in colors.values], missing=True)

        def detail(place: int) -> str:
            code = colors.codes[nodes.row(place)]
            found = f"is {colors.values[code]}" if code >= 0 else "has no color"
            return f"the node {found}, wanted is {self.color}"

        yield Rejection(
            nodes.take_rows(wrong),
            "node(s) had the wrong color",
            unresolvable=True,  # evicting pods does not paint a node
            detail=detail,
        )

    def pre_bind(self, pod: PodInfo, node: str, state: None) -> None:
        self.bound.append(f"{pod.key} goes to {node}, number {self.number}, thanks to {self.thanks_to}")
