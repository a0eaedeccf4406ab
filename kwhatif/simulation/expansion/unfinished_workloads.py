"""Workloads of a snapshot whose controllers wait for a pod of theirs: an ordered StatefulSet makes its next pod, an
update its next step, once the one that waits has a node and is ready.

Upstream: pkg/controller/{statefulset,deployment,daemon}, which all act when one of their pods changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.admission.object_store import ObjectStore, name_of, namespace_of
from kwhatif.admission.response import Object
from kwhatif.api.core import Pod
from kwhatif.api.objects import section
from kwhatif.simulation.ownership import Owners
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import Features
from kwhatif.workloads.pod_autoscalers import WorkloadKey
from kwhatif.workloads.rollout import plan_rollout

_IN_STEPS = frozenset({"Deployment", "StatefulSet", "DaemonSet"})
"""Kinds whose controllers wait for pods to become ready."""


def waiting_workloads(snapshot: Snapshot) -> list[WorkloadKey]:
    """The workloads of which a pod waits for a node: kind, namespace, name."""
    waiting = [pod for pod in snapshot.objects.list_all(Pod) if not (pod.spec.node_name or pod.is_finished)]
    if not waiting:
        return []
    owners = Owners(snapshot, {pod.namespace for pod in waiting})
    workloads = dict.fromkeys(map(owners.workload_of, waiting))
    return [(one.kind, one.namespace, one.name) for one in workloads if one.kind in _IN_STEPS]


def goes_on(workload: Object, world: ObjectStore, nodes: Sequence[Object], features: Features) -> bool:
    """Whether its controller would do anything once all its pods were ready."""
    if not section(workload, "spec", "template"):
        return False
    namespace = namespace_of(workload)
    pods = list(world.all("Pod", namespace))
    plan = plan_rollout(
        workload,
        workload,
        pods,
        nodes,
        replica_sets=list(world.all("ReplicaSet", namespace)),
        max_unavailable_stateful_set=features.max_unavailable_stateful_set,
    )
    plan.expect({name_of(pod) for pod in pods})
    plan.rest()
    return next(plan, None) is not None
