"""least-nodes: the smallest number of new nodes.

Upstream: cluster-autoscaler/expander/leastnodes/leastnodes.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.autoscaling.cluster_autoscaler.expanders.option import ExpanderContext, Option, least


def least_nodes(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    return least(options, lambda option: option.nodes)
