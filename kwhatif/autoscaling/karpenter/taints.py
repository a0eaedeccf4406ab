"""Taints: all of them repel, those of effect PreferNoSchedule too; and those that a young node is only born with.

Upstream: pkg/scheduling/taints.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.api.core import Taint, Toleration
from kwhatif.api.selectors import tolerates

_EPHEMERAL = frozenset(
    {
        ("node.kubernetes.io/not-ready", "NoSchedule"),
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoSchedule"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
        ("karpenter.sh/unregistered", "NoExecute"),
    }
)


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> list[str]:
    """What is said of each taint that no toleration tolerates."""
    return [
        f"did not tolerate taint (taint={taint.text})"
        for taint in taints
        if not any(tolerates(each, taint, comparison_operators=True) for each in tolerations)
    ]


def is_ephemeral(taint: Taint) -> bool:
    """Whether it goes by itself once the node is up. Taints are told apart by key and effect."""
    return (taint.key, taint.effect) in _EPHEMERAL or taint.key.startswith("readiness.k8s.io/")


def same(one: Taint, other: Taint) -> bool:
    return (one.key, one.effect) == (other.key, other.effect)
