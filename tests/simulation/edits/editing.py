"""A small cluster to edit, with workloads of every kind, and edits told as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.kinds import KINDS, Objects
from kwhatif.api.meta import Resource
from kwhatif.simulation.edits.document import EditedSnapshot, apply_edits, read_edit
from kwhatif.simulation.edits.kind import ParsedEdit
from kwhatif.snapshot.format.model import Snapshot
from tests.builders import Json, node, pod

APPS = "apps/v1"


def snapshot_of(
    nodes: Iterable[Node], pods: Iterable[Pod] = (), objects: Iterable[Resource] = (), whole: Iterable[Json] = ()
) -> Snapshot:
    """A snapshot; what is kept whole is decoded, too, where scheduling reads it."""
    found = Objects()
    found.extend(Node, list(nodes))
    found.extend(Pod, list(pods))
    for obj in objects:
        found.add(obj)
    by_kind: dict[str, list[Json]] = {}
    for body in whole:
        by_kind.setdefault(body["kind"], []).append(body)
        if body["kind"] in KINDS:
            found.add(convert(body, KINDS[body["kind"]]))
    return Snapshot(objects=found, whole=by_kind, source="here")


def workload(
    kind: str, name: str, replicas: int | None = None, *, owner: str = "", cpu: str = "100m", **spec: Any
) -> Json:
    """A workload whose pods have the label ``app`` with its name."""
    labels = {"app": name}
    containers = [{"name": "c", "image": "app:v1", "resources": {"requests": {"cpu": cpu}}}]
    metadata: Json = {"name": name, "namespace": "shop", "uid": f"uid-{kind}-{name}"}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": APPS, "kind": "Deployment", "name": owner, "controller": True}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers, **spec.pop("pod", {})}}
    size = {} if replicas is None else {"replicas": replicas}
    return {
        "apiVersion": "v1" if kind == "ReplicationController" else APPS,
        "kind": kind,
        "metadata": metadata,
        "spec": {
            **size,
            "selector": labels if kind == "ReplicationController" else {"matchLabels": labels},
            "template": template,
            **spec,
        },
    }


def of(kind: str, owner: str, name: str, on: str | None, **more: Any) -> Pod:
    """A pod of a workload, running if it is ``on`` a node."""
    status = {"phase": "Running" if on else "Pending", **more.pop("status", {})}
    version = "batch/v1" if kind == "Job" else APPS
    return pod(
        name, namespace="shop", labels={"app": owner}, on=on, owner=(version, kind, owner), status=status, **more
    )


def shop(**more: Any) -> Snapshot:
    """Three nodes: on n1 and n2 run pods of all kinds."""
    nodes = [
        node("n1", zone="a", labels={"pool": "web"}),
        node("n2", zone="b", labels={"pool": "web"}),
        node("n3", zone="b", labels={"pool": "batch"}),
    ]
    pods = [
        of("ReplicaSet", "web-x", "web-x-1", "n1"),
        of("ReplicaSet", "web-x", "web-x-2", "n2"),
        of("StatefulSet", "db", "db-0", "n1"),
        of("StatefulSet", "db", "db-1", "n2"),
        of("Job", "report", "report-1", "n1"),
        of("Job", "report", "report-0", "n1", status={"phase": "Succeeded"}),
        of("Rocket", "moon", "moon-1", "n1"),
        of("ReplicaSet", "web-x", "web-x-0", "n1", terminating=True),
        *(of("DaemonSet", "agent", f"agent-{n}", f"n{n}", tolerations=["*"]) for n in (1, 2, 3)),
        pod("bare", namespace="shop", on="n1"),
        pod("static-n1", namespace="shop", on="n1", owner=("v1", "Node", "n1")),
    ]
    whole = [
        workload("Deployment", "web", 2),
        workload("ReplicaSet", "web-x", 2, owner="web"),
        workload("StatefulSet", "db", 2),
        workload("DaemonSet", "agent", pod={"tolerations": [{"operator": "Exists"}]}),
        workload("DaemonSet", "batch-agent", pod={"nodeSelector": {"pool": "batch"}}),
    ]
    return snapshot_of(nodes, [*pods, *more.pop("pods", ())], whole=[*whole, *more.pop("whole", ())], **more)


def reading(*edits: Json) -> list[ParsedEdit]:
    return [read_edit(edit, "edits.yaml", f"$.edits[{i}]") for i, edit in enumerate(edits)]


def after(snapshot: Snapshot, *edits: Json) -> EditedSnapshot:
    return apply_edits(snapshot, reading(*edits))


def waiting(result: EditedSnapshot) -> list[str]:
    """The names of the pods that edits led to."""
    return [asked.pod.name for asked in result.waiting_pods]


def running(result: EditedSnapshot, node_name: str) -> list[str]:
    return sorted(each.name for each in result.snapshot.objects.list_all(Pod) if each.spec.node_name == node_name)


def told(notes: Sequence[str]) -> list[str]:
    """Notes without the place of the edit."""
    return [note.partition("]: ")[2] or note for note in notes]
