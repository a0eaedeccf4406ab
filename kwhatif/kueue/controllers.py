"""Kueue's controllers: conditions and checks of workloads, evictions by stopped queues, the status of queues.

Upstream: pkg/controller/core (workload_controller.go, localqueue_controller.go) and step 6 of
pkg/controller/jobframework/reconciler.go.
"""

from __future__ import annotations

from kwhatif.kueue.admission_gates import GATED_BY
from kwhatif.kueue.cluster_queue import ClusterQueue
from kwhatif.kueue.kueue_objects import KueueState
from kwhatif.kueue.workload import ADMITTED, EVICTED, QUOTA_RESERVED, REQUEUED, Check, Usage, Workload

_DRAINED = "HoldAndDrain"
_INADMISSIBLE = "Inadmissible"
_GATED = "AdmissionGated"
_DEACTIVATED = "Deactivated"
_BACKED_OFF = ("PodsReadyTimeout", "AdmissionCheck")


def reconcile(state: KueueState, workload: Workload, now: int) -> bool:
    """Run the controller of a workload until it changes nothing; whether quota was released."""
    released = False
    while True:
        before = workload.status in ("quotaReserved", "admitted")
        cluster_queue, usage = workload.cluster_queue, workload.usage
        changed = _reconcile_once(state, workload, now) or _release_evicted(workload, now)
        if before and workload.status == "pending":
            # Upstream counts until the event; nothing looks in between.
            released = True
            _let_go(state, workload, cluster_queue, usage, now)
        if not changed:
            return released


def _let_go(state: KueueState, workload: Workload, cluster_queue: str, usage: Usage, now: int) -> None:
    state.release_quota(workload, state.queues.get(cluster_queue), usage)
    if workload.is_admissible:
        state.enqueue(workload, now)


def _reconcile_once(state: KueueState, workload: Workload, now: int) -> bool:
    if workload.status == "finished":
        return False
    if not workload.active and not workload.is_true(EVICTED):
        state.dequeue(workload)
        workload.evict(_DEACTIVATED, "The workload is deactivated", now)
        return True
    kept_back = _why_kept_back(workload)
    if kept_back and workload.active and _end_backoff(state, workload, kept_back, now):
        return True
    if kept_back == "LocalQueueStopped":
        local = state.local_queues.get(workload.queue_key)
        if local is not None and not local.spec.is_stopped:
            return _restart(state, workload, "LocalQueue", now)
    if _sync_gate(workload, now):
        return True
    queue = state.queue_of(workload)
    if queue is not None:
        if kept_back == "ClusterQueueStopped" and not queue.source.spec.is_stopped:
            return _restart(state, workload, "ClusterQueue", now)
        if _sync_checks(queue, workload):
            return True
    changed = False
    if not workload.is_true(ADMITTED):
        if not workload.holds_quota and (blocker := _queue_blocker(state, workload)):
            changed = workload.set_condition(QUOTA_RESERVED, False, _INADMISSIBLE, blocker, now)
        changed = workload.sync_admitted(now) or changed
    if workload.holds_quota:
        changed = _evict_for_checks(workload, now) or _stop(state, workload, now) or changed
    return changed


def _why_kept_back(workload: Workload) -> str:
    """The reason for which it may not be tried again; nothing if it may."""
    requeued = workload.conditions.get(REQUEUED)
    return "" if requeued is None or requeued.status else requeued.reason


def _requeue(state: KueueState, workload: Workload, reason: str, message: str, now: int) -> bool:
    """Let it be tried again: the event of the condition puts it back in line."""
    changed = workload.set_condition(REQUEUED, True, reason, message, now)
    if workload.is_admissible:
        state.dequeue(workload)
        state.enqueue(workload, now)
    return changed


def _end_backoff(state: KueueState, workload: Workload, reason: str, now: int) -> bool:
    if reason == _DEACTIVATED:
        return _requeue(state, workload, "Reactivated", "The workload was reactivated", now)
    if reason in _BACKED_OFF and (workload.requeue_at is None or workload.requeue_at <= now):
        workload.requeue_at = None
        return _requeue(state, workload, "BackoffFinished", "The workload backoff was finished", now)
    return False


def _restart(state: KueueState, workload: Workload, kind: str, now: int) -> bool:
    return _requeue(state, workload, f"{kind}Restarted", f"The {kind} was restarted after being stopped", now)


def _evict_for_checks(workload: Workload, now: int) -> bool:
    """A check that says no ends the workload, one that says later sends it back (reconcileCheckBasedEviction)."""
    if workload.is_true(EVICTED):
        return False
    if rejected := _checks_message(workload, "Rejected"):
        workload.active = False
        workload.evict(f"{_DEACTIVATED}DueToAdmissionCheck", f"The workload is deactivated due to {rejected}", now)
        return True
    if later := _checks_message(workload, "Retry"):
        workload.evict("AdmissionCheck", f"Evicted due to {later}", now)
        return True
    return False


def _checks_message(workload: Workload, state: str) -> str:
    checks = sorted((check for check in workload.checks if check.state == state), key=lambda check: check.name)
    parts = [f'"{check.name}" ({check.message})' if check.message else f'"{check.name}"' for check in checks]
    return f"AdmissionCheck{'s' * (len(parts) > 1)} in {state} state: {'; '.join(parts)}" if parts else ""


def _sync_gate(workload: Workload, now: int) -> bool:
    reserved = workload.conditions.get(QUOTA_RESERVED)
    has_condition = reserved is not None and reserved.reason == _GATED
    if workload.is_gated and not has_condition:
        annotation = (workload.source.metadata.annotations or {}).get(GATED_BY)
        return workload.unset_quota(_GATED, f"Admission is gated by: {annotation}", now)
    if has_condition and not workload.is_gated:
        return workload.unset_quota("Pending", "AdmissionGatedBy cleared, waiting for quota reservation", now)
    return False


def _sync_checks(queue: ClusterQueue, workload: Workload) -> bool:
    """Give it the states of the checks that are for it; their controllers answer elsewhere."""
    if not queue.checks and not workload.checks:
        return False
    if workload.admission is None:
        wanted = {name for name, flavors in queue.checks.items() if flavors >= queue.flavors}
    else:
        used = {flavor for admission in workload.admission for flavor in admission.flavors.values()}
        wanted = {name for name, flavors in queue.checks.items() if flavors & used}
    known = {check.name: check for check in workload.checks}
    if known.keys() == wanted and len(known) == len(workload.checks):
        return False
    workload.checks = [known.get(name) or Check(name) for name in sorted(wanted)]
    return True


def _queue_blocker(state: KueueState, workload: Workload) -> str:
    """Why it stands in no queue that moves; nothing if it does (upstream: getQueueBlocker)."""
    local = state.local_queues.get(workload.queue_key)
    if local is None:
        return f"LocalQueue {workload.queue_name} doesn't exist"
    if local.spec.is_stopped:
        return f"LocalQueue {workload.queue_name} is inactive"
    queue = state.queues.get(local.spec.cluster_queue)
    if queue is None:
        return f"ClusterQueue {local.spec.cluster_queue} doesn't exist"
    return "" if queue.is_active else f"ClusterQueue {queue.name} is inactive"


def _stop(state: KueueState, workload: Workload, now: int) -> bool:
    """A stopped queue takes quota that is only reserved, and with HoldAndDrain also that of running workloads."""
    local = state.local_queues.get(workload.queue_key)
    # The queue that it would wait in, which is none if its LocalQueue is stopped or gone.
    name = state.queue_name_of(workload)
    queue = state.queues.get(name)
    policies = (
        ("LocalQueue", workload.queue_name, local.spec.stop_policy if local else None, local is not None),
        ("ClusterQueue", name, queue.source.spec.stop_policy if queue else None, queue is not None),
    )
    for kind, named, policy, exists in policies:
        if workload.is_true(ADMITTED):
            if policy == _DRAINED and not workload.is_true(EVICTED):
                workload.evict(f"{kind}Stopped", f"The {kind} is stopped", now)
                return True
            continue
        if not exists:
            return workload.unset_quota(_INADMISSIBLE, f"{kind} {named} is terminating or missing", now)
        if (policy or "None") != "None":
            return workload.unset_quota(_INADMISSIBLE, f"{kind} {named} is stopped", now)
    return False


def _release_evicted(workload: Workload, now: int) -> bool:
    """What the job's controller does once the pods of an evicted workload are gone, which here is at once."""
    if not workload.is_true(EVICTED) or not workload.holds_quota:
        return False
    evicted = workload.conditions[EVICTED]
    requeued = evicted.reason in ("Preempted", "NodeFailures")
    workload.set_condition(REQUEUED, requeued, evicted.reason, evicted.message, now)
    workload.unset_quota("Pending", evicted.message, now)
    return True


def waits_for_topology(state: KueueState, workload: Workload) -> bool:
    """Whether a workload with quota gets its domains only once the nodes are there: upstream's second pass."""
    queue = state.queues.get(workload.cluster_queue)
    if queue is None or queue.is_multi_cluster:
        return False
    return any(pod_set.is_delayed for pod_set in workload.admission or ())


def answer_provisioning(state: KueueState, workload: Workload) -> bool:
    """Say yes to the ProvisioningRequests of a workload with quota; whether there were any.

    Where a topology waits for the nodes, its second pass is not modelled, and the checks stay as they are.
    """
    queue = state.queues.get(workload.cluster_queue)
    if queue is None or workload.status != "quotaReserved" or waits_for_topology(state, workload):
        return False
    open_checks = [check for check in workload.checks if check.name in queue.provisioning and check.state == "Pending"]
    for check in open_checks:
        check.state, check.message = "Ready", "the autoscaler has the nodes"
    return bool(open_checks)


def local_queue_condition(state: KueueState, key: str) -> tuple[bool, str, str]:
    """Whether a LocalQueue is active, with reason and message."""
    local = state.local_queues[key]
    if local.spec.is_stopped:
        return False, "Stopped", "LocalQueue is stopped"
    queue = state.queues.get(local.spec.cluster_queue)
    closed = "Can't submit new workloads to clusterQueue"
    if queue is None:
        return False, "ClusterQueueDoesNotExist", closed
    if not queue.is_active:
        return False, "ClusterQueueIsInactive", closed
    return True, "Ready", "Can submit new workloads to localQueue"
