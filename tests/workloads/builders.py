"""Workloads in few words, a cluster of slots to roll them out in, and plans told as stories."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.response import ApiResponse, Object, RequestRefusal, StoredObject
from kwhatif.admission.server import ApiServer
from kwhatif.api.objects import section
from kwhatif.workloads.controllers import CreatedObjects, TemplatePath, reconcile
from kwhatif.workloads.object_creation import template_hash
from kwhatif.workloads.objects import name_of
from kwhatif.workloads.rollout import Plan

Json = dict[str, Any]


# --- objects


def template(image: str = "one", labels: Mapping[str, str] | None = None, **spec: Any) -> Json:
    return {
        "metadata": {"labels": dict(labels or {"app": "web"})},
        "spec": {"containers": [{"name": "c", "image": image}], **spec},
    }


def workload(kind: str, image: str = "one", *, name: str = "web", pod: Json | None = None, **spec: Any) -> Json:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(image, **(pod or {})),
            **spec,
        },
    }


def rolling(surge: int | str = "25%", unavailable: int | str = "25%") -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def deployment(
    image: str = "one", replicas: int = 3, surge: int | str = "25%", unavailable: int | str = "25%", **spec: Any
) -> Json:
    return workload("Deployment", image, replicas=replicas, strategy=rolling(surge, unavailable), **spec)


def job(**spec: Any) -> Json:
    body = template(restartPolicy="Never")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work", "namespace": "default"},
        "spec": {"template": body, **spec},
    }


def node(name: str, *, labels: Mapping[str, str] | None = None, **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
    }


def owned(kind: str, owner: str, name: str, *, at: str = "", ready: bool = True, labels: Json | None = None) -> Json:
    """A pod that is in the cluster: with a node it runs, and may be ready."""
    conditions = [{"type": "Ready", "status": "True"}] if at and ready else []
    spec: Json = template()["spec"]
    if at:
        spec["nodeName"] = at
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": "web", **(labels or {})},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": owner, "controller": True}],
        },
        "spec": spec,
        "status": {"phase": "Running" if at else "Pending", "conditions": conditions},
    }


def web_pods(count: int, nodes: str = "abcdefghij", *, set_: str = "old", ready: bool = True) -> list[Json]:
    """The pods of one replica set of the deployment ``web``, each on a node of its own."""
    labels = {"pod-template-hash": set_}
    return [
        owned("ReplicaSet", f"web-{set_}", f"web-{set_}-{i}", at=nodes[i - 1], ready=ready, labels=labels)
        for i in range(1, count + 1)
    ]


# --- creating


class Stubborn:
    """A server that lets in so many pods and no more."""

    def __init__(self, pods: int) -> None:
        self._server = ApiServer(ObjectStore())
        self._left = pods
        self.world, self.features = self._server.world, self._server.features

    def create(self, obj: Object) -> ApiResponse:
        if obj["kind"] == "Pod":
            self._left -= 1
            if self._left < 0:
                return RequestRefusal(403, "Forbidden", f'pods "{name_of(obj) or "new"}" is forbidden: no more')
        return self._server.create(obj)


def make(
    obj: Json,
    nodes: Iterable[Json] = (),
    *,
    ready: bool = True,
    pods: int = 10_000,
    templates: Iterable[TemplatePath] = (),
) -> CreatedObjects:
    """Create an object and let its controllers work; at most so many pods are let in."""
    server = Stubborn(pods)
    answer = server.create(obj)
    assert isinstance(answer, StoredObject), answer
    return reconcile(server, answer.object, list(nodes), ready=ready, templates=list(templates))


def names(pods: Iterable[Json]) -> list[str]:
    return [name_of(pod) for pod in pods]


# --- updating


class Slots:
    """Nodes with room for so many pods each; a pod is ready once it has a place."""

    def __init__(self, pods: Iterable[Json], **room: int) -> None:
        self.room = dict(room)
        self._homes: dict[str, str] = {}
        self._pending: list[Json] = []
        for pod in pods:
            self._take(name_of(pod), pod["spec"].get("nodeName", ""))

    @staticmethod
    def ready(pod: Json) -> bool:
        return bool(pod["spec"].get("nodeName"))

    def follow(self, plan: Plan) -> list[str]:
        """The steps of a plan as texts, its pods placed where there is room."""
        told = []
        for step in plan:
            self._pending += step.creates
            self._place()
            for name in step.removes:
                self._leave(name)
            self._place()
            told.append(tell(step))
        return told

    def _place(self) -> None:
        for pod in list(self._pending):
            wanted = _target(pod)
            free = [n for n, slots in self.room.items() if slots > 0 and wanted in ("", n)]
            if free:
                pod["spec"]["nodeName"] = free[0]
                self._take(name_of(pod), free[0])
                self._pending.remove(pod)

    def _take(self, name: str, home: str) -> None:
        if home:
            self._homes[name] = home
            self.room[home] = self.room.get(home, 1) - 1

    def _leave(self, name: str) -> None:
        self._pending = [pod for pod in self._pending if name_of(pod) != name]
        home = self._homes.pop(name, None)
        if home is not None:
            self.room[home] += 1


def _target(pod: Json) -> str:
    required = section(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = required.get("nodeSelectorTerms") or [{}]
    fields = terms[0].get("matchFields") or [{"values": [""]}]
    return str(fields[0]["values"][0])


def tell(step: Any) -> str:
    """``3 old 1 new (1 old going): +web-new-1 -web-old-3``."""
    going = [f"{n} {which}" for which in ("old", "new") if (n := getattr(step.terminating, which))]
    leaving = f" ({', '.join(going)} going)" if going else ""
    moves = [f"+{_readable(pod)}" for pod in step.creates] + [f"-{name}" for name in step.removes]
    return f"{step.live.old} old {step.live.new} new{leaving}: {' '.join(moves)}"


def _readable(pod: Json) -> str:
    hash_ = section(pod, "metadata", "labels").get("pod-template-hash")
    return name_of(pod).replace(f"-{hash_}-", "-new-") if hash_ and hash_ != "old" else name_of(pod)


def changed(obj: Json, image: str = "two", **spec: Any) -> Json:
    """The object with another image and other fields of its spec."""
    new = copy.deepcopy(obj)
    new["spec"]["template"]["spec"]["containers"][0]["image"] = image
    new["spec"] |= spec
    return new


def hash_of(obj: Json) -> str:
    return template_hash(obj["spec"]["template"])
