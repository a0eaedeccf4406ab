"""Pods whose PodDisruptionBudget allows no more disruptions block the drain.

Upstream: cluster-autoscaler/simulator/drainability/rules/pdb.
"""

from __future__ import annotations

from kwhatif.autoscaling.cluster_autoscaler.drainability.drain_status import DrainContext, Verdict
from kwhatif.cluster.shapes import PodInfo


def disruption_budget(pod: PodInfo, context: DrainContext) -> Verdict:
    return None if context.budgets.allows(pod.shape) else "NotEnoughPdb"
