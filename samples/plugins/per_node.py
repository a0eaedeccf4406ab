"""A plugin from outside kwhatif, written the simple way: one pod and one node at a time.

    kwhatif place pod.yaml --snapshot samples/three-nodes.json \\
        --policy samples/policies/per-node.yaml --plugin samples/plugins/per_node.py:SpotAware

Pods with a priority stay off spot nodes; the others prefer them. It needs nothing from kwhatif: pod and node are
the API's objects, with their fields in snake case.
"""

from __future__ import annotations


class SpotAware:
    name = "SpotAware"  # what a policy calls it

    def __init__(self, args):
        self.label = args.get("label", "node.example.com/lifecycle")

    def is_spot(self, node):
        return (node.metadata.labels or {}).get(self.label) == "spot"

    def filter_node(self, pod, node):
        """Why the pod must not go there; None if it may."""
        if self.is_spot(node) and (pod.spec.priority or 0) > 0:
            return "node(s) were spot nodes, which pods with a priority stay off"
        return None

    def score_node(self, pod, node):
        """Any number from 0 up; the highest becomes 100."""
        return 1 if self.is_spot(node) else 0
