"""Workloads of a snapshot whose controllers wait for a pod of theirs: an ordered StatefulSet makes its next pod, an
update its next step, once the one that waits has a node and is ready. And its pods that are made again meanwhile come
as the update has them.

Upstream: pkg/controller/{statefulset,deployment,daemon}, which all act when one of their pods changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.admission.object_store import ObjectStore, name_of, namespace_of
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.admission.server import ApiServer
from kwhatif.api.core import Pod
from kwhatif.api.decode import convert
from kwhatif.api.objects import section
from kwhatif.simulation.expansion.snapshot_objects import build_object_store
from kwhatif.simulation.ownership import Owners
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import Features
from kwhatif.workloads.objects import labels_of
from kwhatif.workloads.pod_autoscalers import WorkloadKey
from kwhatif.workloads.replica_set import owned_by
from kwhatif.workloads.rollout import plan_rollout
from kwhatif.workloads.stateful_set import REVISION, is_behind, ordinal_of, stateful_pod

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


def pods_made_anew(snapshot: Snapshot) -> Mapping[tuple[str, str], Pod]:
    """What a StatefulSet makes in the place of a pod of an older revision: the pod of its update, unless a partition
    holds that back. By ``namespace/name`` and revision of the older pod.

    Upstream: newVersionedStatefulSetPod of pkg/controller/statefulset/stateful_set_utils.go.
    """
    between = [
        stateful_set
        for stateful_set in snapshot.whole.get("StatefulSet", ())
        if (status := section(stateful_set, "status")).get("currentRevision") != status.get("updateRevision")
        and section(stateful_set, "spec", "template")
    ]
    if not between:
        return {}
    kinds = ("Pod", "StatefulSet", "PriorityClass", "LimitRange")
    return snapshot.objects.share(pods_made_anew, kinds, lambda: _make_anew(between, snapshot))


def _make_anew(between: Sequence[Object], snapshot: Snapshot) -> dict[tuple[str, str], Pod]:
    made: dict[tuple[str, str], Pod] = {}
    server = ApiServer(build_object_store(snapshot, set(map(namespace_of, between))))
    for stateful_set in between:
        namespace, update = namespace_of(stateful_set), str(section(stateful_set, "status").get("updateRevision"))
        for pod in owned_by(stateful_set, list(server.world.all("Pod", namespace))):
            ordinal, revision = ordinal_of(name_of(pod)), labels_of(pod).get(REVISION, "")
            if ordinal < 0 or revision == update or is_behind(stateful_set, ordinal):
                continue
            server.world.remove("Pod", namespace, name_of(pod))
            template = section(stateful_set, "spec", "template")
            answer = server.create(stateful_pod(stateful_set, template, update, ordinal))
            if not isinstance(answer, RequestRefusal):
                made[f"{namespace}/{name_of(pod)}", revision] = convert(answer.object, Pod)
    return made
