"""Autoscalers of workloads and their bounds: HorizontalPodAutoscalers, and KEDA's ScaledObjects.

Upstream: pkg/controller/podautoscaler/horizontal.go (reconcileAutoscaler); of kedacore/keda
apis/keda/v1alpha1/scaledobject_types.go and pkg/scaling/executor/scale_scaledobjects.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from kwhatif.admission.object_store import Index, ObjectStore, name_of
from kwhatif.admission.response import Object
from kwhatif.api.decode import describe_value
from kwhatif.api.objects import section
from kwhatif.errors import InputError, UsageError
from kwhatif.workloads.objects import annotations_of, controller_of, group_of, namespace_of

HPA, SCALED_OBJECT = "HorizontalPodAutoscaler", "ScaledObject"
AUTOSCALERS = (HPA, SCALED_OBJECT)
"""The kinds of objects that scale workloads."""

_KEDA_MIN, _KEDA_MAX = 0, 100
_PAUSED, _PAUSED_REPLICAS = "autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"
_PERCENTAGE = re.compile("([0-9]{1,3})%")

WorkloadKey = tuple[str, str, str]
"""Kind, namespace and name."""


class PodAutoscaler(msgspec.Struct, frozen=True):
    """Scales the workload ``target_kind``/``target_name`` of its own namespace between two numbers of replicas.

    KEDA leaves a workload at ``idle_replicas`` while no trigger is active, and at ``paused_replicas`` if an annotation
    says so.
    """

    kind: str
    namespace: str
    name: str
    target_group: str
    target_kind: str
    target_name: str
    min_replicas: int
    max_replicas: int
    idle_replicas: int | None = None
    paused_replicas: int | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def target(self) -> WorkloadKey:
        return self.target_kind, self.namespace, self.target_name

    def scales(self, obj: Object) -> bool:
        """Whether an object is the target; a target without an API group matches any."""
        key = str(obj.get("kind") or ""), namespace_of(obj), name_of(obj)
        return key == self.target and self.target_group in ("", group_of(obj))

    def is_off(self, replicas: int) -> bool:
        """Whether nothing is scaled: a HorizontalPodAutoscaler leaves a workload with zero replicas alone."""
        return self.kind == HPA and not replicas

    def replicas(self, running: int) -> int:
        """The replicas that a workload is scaled to under an unchanged load, from its current number."""
        if self.paused_replicas is not None:
            return self.paused_replicas
        if self.is_off(running) or running == self.idle_replicas:
            return running
        return max(self.min_replicas, min(running, self.max_replicas))

    def replicas_at(self, percent: int, running: int) -> int:
        """The replicas at ``percent`` of the way from the lower bound to the upper one, rounded up."""
        if self.paused_replicas is not None or self.is_off(running):
            return self.replicas(running)
        return self.min_replicas + -(-percent * max(self.max_replicas - self.min_replicas, 0) // 100)


AS_STORED: Literal["stored"] = "stored"
"""Scaled workloads with the replicas that their manifests have: the moment before their autoscalers act."""

Position = int | Literal["stored"] | None
"""Percent of the way between the bounds of autoscalers, ``AS_STORED``, or None for what runs today."""


def parse_scale(text: str) -> Position:
    """``min``, ``max`` or ``50%`` as percent, or ``stored``. Raises UsageError."""
    if text == "stored":
        return AS_STORED
    if text in ("min", "max"):
        return 0 if text == "min" else 100
    match = _PERCENTAGE.fullmatch(text)
    if match is None or int(match[1]) > 100:
        raise UsageError(f"--at {text}: expected min, max or a percentage between them, such as 50%, or stored")
    return int(match[1])


def is_autoscaler(obj: Object) -> bool:
    """Whether an object scales workloads."""
    groups = {HPA: "autoscaling", SCALED_OBJECT: "keda.sh"}
    return groups.get(str(obj.get("kind") or "")) == group_of(obj)


def pod_autoscaler_of(obj: Object) -> PodAutoscaler | None:
    """An autoscaler as it scales; None for one that names no target, or that is paused.

    Raises InputError for bounds that are no numbers.
    """
    spec, keda = section(obj, "spec"), obj.get("kind") == SCALED_OBJECT
    target = section(spec, "scaleTargetRef")
    name, kind = target.get("name"), target.get("kind") or ("Deployment" if keda else None)
    if not name or not kind or (keda and annotations_of(obj).get(_PAUSED) == "true"):
        return None
    group = str(target.get("apiVersion") or ("apps/v1" if keda and kind == "Deployment" else "")).rpartition("/")[0]
    called = f"{obj.get('kind')} {namespace_of(obj)}/{name_of(obj)}"
    lower, upper = ("minReplicaCount", "maxReplicaCount") if keda else ("minReplicas", "maxReplicas")
    least = _count(spec.get(lower), called, f"spec.{lower}")
    most = _count(spec.get(upper), called, f"spec.{upper}")
    least = (_KEDA_MIN if keda else 1) if least is None else least
    most = (_KEDA_MAX if keda else least) if most is None else most
    return PodAutoscaler(
        kind=str(obj.get("kind")),
        namespace=namespace_of(obj),
        name=name_of(obj),
        target_group=group,
        target_kind=str(kind),
        target_name=str(name),
        min_replicas=least,
        max_replicas=most,
        idle_replicas=_count(spec.get("idleReplicaCount"), called, "spec.idleReplicaCount") if keda else None,
        paused_replicas=_paused_replicas(obj) if keda else None,
    )


def _count(value: Any, called: str, path: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    problem = f"expected a number of replicas for {called}, found {describe_value(value)}"
    raise InputError(problem, place=f"$.{path}")


def _paused_replicas(obj: Object) -> int | None:
    text = str(annotations_of(obj).get(_PAUSED_REPLICAS) or "")
    return int(text) if text.isdecimal() and len(text) < 10 else None


def _target_of(obj: Object) -> Iterator[WorkloadKey]:
    target = section(section(obj, "spec"), "scaleTargetRef")
    kind = target.get("kind") or ("Deployment" if obj.get("kind") == SCALED_OBJECT else "")
    yield str(kind), namespace_of(obj), str(target.get("name") or "")


_BY_TARGET = tuple(Index(kind, _target_of) for kind in AUTOSCALERS)


def pod_autoscalers_of(workload: Object, world: ObjectStore) -> list[PodAutoscaler]:
    """The autoscalers of a workload; of a ScaledObject and the HorizontalPodAutoscaler that KEDA made of it, the
    ScaledObject. Raises InputError for bounds that are no numbers.
    """
    key = str(workload.get("kind") or ""), namespace_of(workload), name_of(workload)
    there = (obj for index in _BY_TARGET for obj in world.find(index, key) if is_autoscaler(obj))
    autoscalers = (pod_autoscaler_of(obj) for obj in there if not _is_of_keda(obj, world))
    return [autoscaler for autoscaler in autoscalers if autoscaler is not None and autoscaler.scales(workload)]


def _is_of_keda(obj: Object, world: ObjectStore) -> bool:
    owner = controller_of(obj)
    if owner.get("kind") != SCALED_OBJECT:
        return False
    there = world.get(SCALED_OBJECT, namespace_of(obj), str(owner.get("name") or ""))
    return there is not None and is_autoscaler(there)
