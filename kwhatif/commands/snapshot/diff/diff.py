"""Compares two snapshots by the fields that scheduling reads, without those that change all the time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert, step
from kwhatif.api.kinds import TEMPLATES
from kwhatif.api.meta import Resource
from kwhatif.api.objects import section
from kwhatif.api.quantity import plain_quantity
from kwhatif.cluster.storage import BIND_COMPLETED, SELECTED_NODE
from kwhatif.commands.snapshot.diff.result import DiffResult, FieldChange, ObjectChange, Replaced
from kwhatif.progress import track
from kwhatif.snapshot.format.model import Snapshot

READ_ANNOTATIONS = frozenset(
    {
        BIND_COMPLETED,
        SELECTED_NODE,
        "volume.beta.kubernetes.io/storage-class",
        "storage.alpha.kubernetes.io/migrated-plugins",
    }
)
_KEPT_METADATA = ("labels", "ownerReferences")
_OWNER_FIELDS = ("apiVersion", "kind", "name", "controller")


class WholeObject(Resource):
    """An object that is kept as plain values: all of it but its metadata is in ``rest``."""

    rest: dict[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def from_object(cls, obj: dict[str, Any]) -> WholeObject:
        head = convert(obj, Resource)
        rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata", "status")}
        return cls(metadata=head.metadata, rest=rest)


def visible(obj: Resource) -> dict[str, Any]:
    """The fields that decide something; equal for two objects that no plugin can tell apart."""
    plain: dict[str, Any] = msgspec.to_builtins(obj, enc_hook=plain_quantity)
    metadata = plain.pop("metadata", {})
    for field in ("apiVersion", "kind"):
        plain.pop(field, None)
    plain |= plain.pop("rest", {})
    kept = {field: metadata[field] for field in _KEPT_METADATA if metadata.get(field)}
    if "ownerReferences" in kept:
        # A controller that was made anew under its name selects the same pods.
        kept["ownerReferences"] = [
            {field: owner[field] for field in _OWNER_FIELDS if field in owner} for owner in kept["ownerReferences"]
        ]
    annotations = {k: v for k, v in section(metadata, "annotations").items() if k in READ_ANNOTATIONS}
    if annotations:
        kept["annotations"] = annotations
    if metadata.get("deletionTimestamp"):
        kept["deletionTimestamp"] = "set"
    if isinstance(obj, Node):
        _of_node(plain)
    elif isinstance(obj, Pod):
        _of_pod(plain)
    return {"metadata": kept, **plain} if kept else plain


def _of_node(plain: dict[str, Any]) -> None:
    status = section(plain, "status")
    for field in ("conditions", "nodeInfo"):
        status.pop(field, None)
    if "allocatable" in status:
        # A node's capacity decides only where it has no ``allocatable``.
        status.pop("capacity", None)
    # Names and sizes by image: the kubelet lists them by size, so the order says nothing.
    images = status.pop("images", None) or ()
    if images:
        status["images"] = {(image.get("names") or [""])[0]: image.get("sizeBytes", 0) for image in images}


def _of_pod(plain: dict[str, Any]) -> None:
    status = section(plain, "status")
    for field in ("startTime", "conditions", "phase"):
        status.pop(field, None)
    for field in ("containerStatuses", "initContainerStatuses"):
        resized = [
            condition
            for condition in status.pop(field, None) or ()
            if condition.keys() & {"resources", "allocatedResources"}
        ]
        if resized:
            status[field] = resized
    if not status:
        plain.pop("status", None)
    spec = section(plain, "spec")
    # A volume of which nothing but the name is read (kube-api-access-x7k2p) is of no kind that scheduling knows.
    volumes = [volume for volume in spec.pop("volumes", None) or () if volume.keys() - {"name"}]
    if volumes:
        spec["volumes"] = volumes


def template_of(pod: Pod) -> bytes:
    """What a pod has in common with all others that its controller made of the same template."""
    plain = visible(pod)
    plain.pop("status", None)
    section(plain, "spec").pop("nodeName", None)
    plain.get("metadata", {}).pop("deletionTimestamp", None)
    return msgspec.json.encode(plain, order="deterministic")


_FIRST = ("Node", "Pod")


def diff(before: Snapshot, after: Snapshot) -> DiffResult:
    """Objects that were added, removed or changed, by kind: nodes and pods first, the others by name."""
    there, here = _kinds_to_compare(before), _kinds_to_compare(after)
    both = sorted(there & here, key=lambda kind: (_FIRST.index(kind) if kind in _FIRST else len(_FIRST), kind))
    changes: list[ObjectChange] = []
    replaced: tuple[Replaced, ...] = ()
    for kind in track(both, "Comparing", "kinds"):
        old, new = _by_name(before, kind), _by_name(after, kind)
        gone, come = [old[key] for key in old if key not in new], [new[key] for key in new if key not in old]
        if kind == "Pod":
            replaced, gone, come = _match_replacements(gone, come)
        of_kind = [ObjectChange(kind=kind, object=_key(o), change="removed", note=_where(o)) for o in gone]
        of_kind += [ObjectChange(kind=kind, object=_key(o), change="added", note=_where(o)) for o in come]
        of_kind += [change for key in old.keys() & new.keys() if (change := _compare_objects(kind, old[key], new[key]))]
        changes += sorted(of_kind, key=lambda change: change.object)
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for change in changes:
        totals[change.kind][change.change] += 1
    if replaced:
        totals["Pod"]["replaced"] = sum(workload.pods for workload in replaced)
    return DiffResult(
        before=before.source,
        after=after.source,
        version_before=before.kubernetes_version,
        version_after=after.kubernetes_version,
        totals={kind: dict(sorted(totals[kind].items())) for kind in both if kind in totals},
        changes=tuple(changes),
        replaced=replaced,
        only_before=tuple(sorted(there - here)),
        only_after=tuple(sorted(here - there)),
    )


def _kinds_to_compare(snapshot: Snapshot) -> set[str]:
    """The kinds to look at: of workloads only those that scheduling reads, since their pods tell the rest."""
    return {*snapshot.objects.known_kinds(), *(snapshot.whole.keys() - TEMPLATES.keys())}


def _by_name(snapshot: Snapshot, kind: str) -> dict[tuple[str, str], Resource]:
    objects = snapshot.objects.list_kind(kind) or [WholeObject.from_object(obj) for obj in snapshot.whole.get(kind, ())]
    return {(obj.namespace, obj.name): obj for obj in objects}


def _key(obj: Resource) -> str:
    return f"{obj.namespace}/{obj.name}" if obj.namespace else obj.name


def _where(obj: Resource) -> str:
    if not isinstance(obj, Pod):
        return ""
    if obj.is_finished:
        return f"{obj.status.phase}"
    return f"on {obj.spec.node_name}" if obj.spec.node_name else "pending"


def _compare_objects(kind: str, old: Resource, new: Resource) -> ObjectChange | None:
    if old == new:
        return None
    change, note = "changed", ""
    if isinstance(old, Pod) and isinstance(new, Pod):
        if old.is_finished and new.is_finished:
            return None
        if old.is_finished != new.is_finished:
            change = "finished" if new.is_finished else "changed"
            note = f"{old.status.phase or 'no phase'} -> {new.status.phase or 'no phase'}"
        elif old.spec.node_name != new.spec.node_name:
            change = "bound" if not old.spec.node_name else "moved" if new.spec.node_name else "changed"
            note = f"{_where(old)} -> {_where(new)}"
    fields = tuple(field_changes(visible(old), visible(new)))
    if not fields and not note:
        return None
    return ObjectChange(kind=kind, object=_key(new), change=change, note=note, fields=fields)


# --- pods that controllers replaced


def _match_replacements(
    removed: Sequence[Resource], come: Sequence[Resource]
) -> tuple[tuple[Replaced, ...], list[Resource], list[Resource]]:
    """Pods that took the place of others of the same template, and what is left of both sides."""
    old, new = _by_template(removed), _by_template(come)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    settled: set[int] = set()
    for key in sorted(old.keys() & new.keys()):
        pairs = min(len(old[key]), len(new[key]))
        was, now = old[key], new[key]
        # Those that stayed on their node first: the others are shown by themselves.
        nodes = Counter(pod.spec.node_name for pod in was) & Counter(pod.spec.node_name for pod in now)
        counts[key[0]]["pods"] += pairs
        # Who waits for a node, before or after, has not moved.
        stayed_bound = sum(number for node, number in nodes.items() if node)
        bound = min(sum(bool(pod.spec.node_name) for pod in side) for side in (was, now))
        counts[key[0]]["moved"] += max(min(pairs - nodes.total(), bound - stayed_bound), 0)
        for side in (was, now):
            rest = Counter(nodes)
            stayed = [pod for pod in side if _take(rest, pod.spec.node_name)]
            first = {id(pod) for pod in stayed}
            others = [pod for pod in side if id(pod) not in first]
            settled.update(id(pod) for pod in (*stayed, *others)[:pairs])
    replacements = tuple(
        Replaced(controller=who, pods=n["pods"], moved=n["moved"]) for who, n in sorted(counts.items())
    )
    return replacements, [o for o in removed if id(o) not in settled], [o for o in come if id(o) not in settled]


def _take(counts: Counter[Any], key: Any) -> bool:
    counts[key] -= 1
    return counts[key] >= 0


def _by_template(objects: Sequence[Resource]) -> dict[tuple[str, bytes], list[Pod]]:
    pods_of: dict[tuple[str, bytes], list[Pod]] = defaultdict(list)
    for pod in objects:
        if isinstance(pod, Pod) and not pod.is_finished:
            owner = pod.controller
            if owner is not None:
                pods_of[f"{owner.kind} {pod.namespace}/{owner.name}", template_of(pod)].append(pod)
    return pods_of


# --- fields


def field_changes(old: Any, new: Any, path: str = "") -> Iterator[FieldChange]:
    """The fields that differ between two plain values, by path: ``spec.taints[0].effect``."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from field_changes(old.get(key), new.get(key), f"{path}{step(key)}" if path else step(key)[1:])
    elif all(isinstance(side, list) or side is None for side in (old, new)):
        yield from _of_lists(old or [], new or [], path)
    elif all((isinstance(side, dict) and side) or side is None for side in (old, new)):
        yield from field_changes(old or {}, new or {}, path)
    else:
        yield FieldChange(path=path, before=old, after=new)


def _of_lists(old: list[Any], new: list[Any], path: str) -> Iterator[FieldChange]:
    """Elements that both ends have in common are passed over; what is between them is compared in turn."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    was, now = old[start : len(old) - end], new[start : len(new) - end]
    for i in range(max(len(was), len(now))):
        left, right = (side[i] if i < len(side) else None for side in (was, now))
        place = f"{path}[{start + i}]"
        if left is None or right is None:
            yield FieldChange(path=place, before=left, after=right)
        else:
            yield from field_changes(left, right, place)
