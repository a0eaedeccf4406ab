"""Sets up and runs the replacement of a pool: cluster, budgets, workloads and agenda."""

from __future__ import annotations

from collections.abc import Mapping

from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.cluster.cluster import FINISHED
from kwhatif.commands.upgrade.evictions import Evictions, EvictionTimes
from kwhatif.commands.upgrade.pool import Pool
from kwhatif.commands.upgrade.ready_replicas import Workloads
from kwhatif.commands.upgrade.replacement import Replacement
from kwhatif.commands.upgrade.scaling import ScalingOverTime
from kwhatif.scheduling.budget_status import with_statuses
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.scheduling.timeline import Agenda
from kwhatif.simulation.autoscalers.scaler import Scaler
from kwhatif.simulation.session import Session
from kwhatif.upgrading.replacement_plan import ReplacementPlan

PROVISION = 120.0
"""Seconds that a new node takes to be ready, by default."""


def replace_pool(
    session: Session,
    names: Mapping[str, str],
    plan: ReplacementPlan,
    times: EvictionTimes | None = None,
    provision: float = PROVISION,
    scaler: Scaler | None = None,
) -> Replacement:
    """Replace the nodes of a session's own cluster, old name -> new name, from the first new node to the end.

    Autoscalers, if there are any, help pods without a node with nodes of other groups.
    """
    pods = session.snapshot.objects.list_all(Pod)
    budgets = EvictionBudgets(with_statuses(session.snapshot.objects.list_all(PodDisruptionBudget), pods))
    running = (pod for pod in pods if pod.spec.node_name and (pod.status.phase or "") not in FINISHED)
    agenda = Agenda()
    scaling = None if scaler is None else ScalingOverTime(session, agenda, scaler)
    evictions = Evictions(session, budgets, Workloads(running), agenda, times or EvictionTimes(), lambda: None, scaling)
    found = Replacement(plan, Pool(session, names), evictions, agenda, provision)
    evictions.changed, evictions.on_new_nodes = found.budgets_changed, found.tell_new_nodes
    found.run()
    evictions.run.explain_futile()
    return found
