"""most-pods: the largest number of pods helped.

Upstream: cluster-autoscaler/expander/mostpods/mostpods.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.autoscaling.cluster_autoscaler.expanders.option import ExpanderContext, Option, least


def most_pods(options: Sequence[Option], choice: ExpanderContext) -> Sequence[Option]:
    return least(options, lambda option: -len(option.pods))
