"""Updates of objects whose operators make pods: which pods belong to one, and how the operator replaces them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import Object
from kwhatif.workloads.objects import name_of, namespace_of
from kwhatif.workloads.rollout_canary import CanaryRollout
from kwhatif.workloads.rollout_pods import PodsRollout, Wanted
from kwhatif.workloads.rollout_state import Admit, Rollout
from kwhatif.workloads.workload_kind import UpdateOrder, WorkloadKind, kind_of_owner

_MOST_OWNERS = 5
"""How far up owners are followed: a Service of Knative has a Configuration, a Revision, a Deployment, a ReplicaSet."""


def operator_pods(
    obj: Object, targets: Sequence[Wanted], world: ObjectStore, pods: Iterable[Object] | None = None
) -> list[Object]:
    """The pods of an object: its own, those of what it controls, and those of what it would control.

    ``pods`` are those to choose from, if not all of the object's namespace.
    """
    namespace = namespace_of(obj)
    tops = {(str(obj.get("kind")), name_of(obj))}
    tops.update(owner for body, _ in targets if all(owner := kind_of_owner(body)))
    return [
        pod
        for pod in (world.all("Pod", namespace) if pods is None else pods)
        if namespace_of(pod) == namespace and _is_owned(pod, tops, world)
    ]


def _is_owned(pod: Object, tops: set[tuple[str, str]], world: ObjectStore) -> bool:
    here: Object | None = pod
    for _ in range(_MOST_OWNERS):
        owner = kind_of_owner(here or {})
        if not all(owner):
            return False
        if owner in tops:
            return True
        here = world.get(owner[0], namespace_of(pod), owner[1])
    return False


def operator_rollout(
    obj: Object, kind: WorkloadKind, targets: Sequence[Wanted], pods: Sequence[Object], admit: Admit
) -> Rollout:
    """The update of an object from its present pods to the ``targets``."""
    order = kind.update_of(obj)
    if order == UpdateOrder.canary:
        return CanaryRollout.of(obj, pods, targets, admit)
    return PodsRollout.of(f"{obj.get('kind')} {name_of(obj)}", pods, targets, order, admit, kind.together_by(obj))
