"""Snapshots and manifests from the files that a command names."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kwhatif.api.kinds import KINDS, NAMESPACED, kept_whole, struct_for
from kwhatif.api.meta import Resource
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.snapshot.documents import Document, Origin, read_documents
from kwhatif.snapshot.files import called, read_paths
from kwhatif.snapshot.model import API_VERSION, KIND, Snapshot, read_envelope
from kwhatif.snapshot.objects import (
    Item,
    decode,
    decode_objects,
    head_of,
    inside,
    items_of,
    put_in_namespace,
    resource_of,
)

__all__ = ["Manifest", "Origin", "decode_objects", "load_manifests", "load_snapshot"]

_GROUP_OF_OWN_FORMATS = API_VERSION.partition("/")[0] + "/"

# Kinds that scheduling does not read itself, and that live in namespaces.
_OTHER_NAMESPACED = frozenset(
    {
        *("ConfigMap", "CronJob", "DaemonSet", "Deployment", "Endpoints", "EndpointSlice", "Event"),
        *("HorizontalPodAutoscaler", "Ingress", "Job", "Lease", "LimitRange", "NetworkPolicy", "PodTemplate"),
        *("ResourceQuota", "Role", "RoleBinding", "Secret", "ServiceAccount"),
    }
)


@dataclass(frozen=True)
class Manifest:
    """One object of a manifest and where it came from.

    Of a kind that scheduling does not read ``obj`` has but apiVersion, kind and metadata. ``raw`` is the whole
    object as plain Python values, as it stands in the file.
    """

    obj: Resource
    origin: Origin
    raw: dict[str, Any]


def load_snapshot(paths: Sequence[str], namespace: str = "default") -> Snapshot:
    """One snapshot of all that is in ``paths``: own snapshots, manifests, output of ``kubectl get``.

    Namespaced objects without a namespace get ``namespace``. Raises InputError, also when the same object
    appears twice.
    """
    found = _Collected(namespace)
    with _without_garbage_collection():
        for document in _documents(paths):
            if _is_snapshot(document):
                found.add_snapshot(document)
            else:
                for item in items_of(document):
                    found.add_item(item)
    snapshot = found.snapshot
    snapshot.source = snapshot.source or ", ".join(map(called, paths))
    return snapshot


def load_manifests(paths: Sequence[str], namespace: str = "default") -> list[Manifest]:
    """The objects of manifests, in their order.

    Namespaced objects without a namespace get ``namespace``; ``metadata.generateName`` may stand for a name.
    Raises InputError, also when the same object appears twice.
    """
    manifests = []
    seen: dict[tuple[str, ...], Origin] = {}
    for document in _documents(paths):
        if _is_snapshot(document):
            problem = f"expected manifests, found a whole {KIND}"
            raise InputError(problem, source=document.source, place="$.kind")
        for item in items_of(document):
            manifest = _manifest(item, namespace, struct_for(item.api_version, item.kind))
            manifests.append(manifest)
            key = _identity(manifest.obj, item)
            first = seen.setdefault(key, item.origin) if manifest.obj.name else item.origin
            if first is not item.origin:
                raise _twice(key, item.source, item.place, str(first))
    return manifests


def _documents(paths: Sequence[str]) -> Iterator[Document]:
    """All documents in the order of the paths. Raises InputError if there are none at all."""
    nothing = True
    for text in read_paths(paths):
        for document in read_documents(text):
            nothing = False
            yield document
    if nothing and paths:
        raise InputError("holds no objects: it is empty", source=", ".join(map(called, paths)))


def _manifest(item: Item, namespace: str, struct: type[Resource] | None) -> Manifest:
    obj = resource_of(item, struct or Resource, generated_names=True)
    if item.kind in NAMESPACED or item.kind in _OTHER_NAMESPACED:
        put_in_namespace(obj, namespace)
    whole = {"apiVersion": item.api_version, "kind": item.kind, **decode(item.value, dict[str, Any])}
    return Manifest(obj, item.origin, whole)


def _identity(obj: Resource, item: Item) -> tuple[str, ...]:
    """What no two objects share: group, kind, namespace and name."""
    return item.api_version.rpartition("/")[0], item.kind, obj.namespace, obj.name


def _twice(key: tuple[str, ...], source: str, place: str, first: str) -> InputError:
    _, kind, namespace, name = key
    what = f"{kind} {described(f'{namespace}/{name}' if namespace else name)}"
    return InputError(f"{what} appears twice: it is also in {first}", source=source, place=place)


class _Collected:
    """A snapshot in the making, and where each of its objects was found."""

    def __init__(self, namespace: str) -> None:
        self.snapshot = Snapshot()
        self._namespace = namespace
        self._seen: dict[tuple[str, ...], tuple[str, str]] = {}

    def add_snapshot(self, document: Document) -> None:
        try:
            other = read_envelope(document.value)
        except InputError as error:
            raise inside(error, document.source, "$") from None
        mine = self.snapshot
        mine.source = ", ".join(part for part in (mine.source, other.source) if part)
        mine.kubernetes_version = mine.kubernetes_version or other.kubernetes_version
        mine.taken_at = mine.taken_at or other.taken_at
        mine.unreadable.update(other.unreadable)
        for kind, count in other.ignored.items():
            mine.ignored[kind] = mine.ignored.get(kind, 0) + count
        for kind in sorted(other.objects.covered()):
            mine.objects.extend(KINDS[kind], [])
            for i, obj in enumerate(other.objects.of(KINDS[kind])):
                self._add(obj, document.source, f"$.objects.{kind}[{i}]")
        for kind, objects in other.whole.items():
            mine.whole.setdefault(kind, [])
            for i, whole in enumerate(objects):
                self._keep(whole, kind, document.source, f"$.objects.{kind}[{i}]")

    def add_item(self, item: Item) -> None:
        struct = struct_for(item.api_version, item.kind)
        obj = resource_of(item, struct or Resource)
        if kept_whole(item.api_version, item.kind):
            whole = {"apiVersion": item.api_version} | decode(item.value, dict[str, Any])
            self._keep(whole, item.kind, item.source, item.place)
        elif struct is None:
            self.snapshot.ignored[item.kind] = self.snapshot.ignored.get(item.kind, 0) + 1
        if struct is not None:
            self._add(obj, item.source, item.place)

    def _add(self, obj: Resource, source: str, place: str) -> None:
        kind = type(obj).__name__
        if kind in NAMESPACED:
            put_in_namespace(obj, self._namespace)
        self._once(("", kind, obj.namespace, obj.name), source, place)
        self.snapshot.objects.add(obj)

    def _keep(self, whole: dict[str, Any], kind: str, source: str, place: str) -> None:
        """Keep an object as plain values; one that is decoded, too, is counted there."""
        metadata = whole["metadata"]
        whole["kind"] = kind
        if kind in NAMESPACED or kind in _OTHER_NAMESPACED:
            metadata["namespace"] = metadata.get("namespace") or self._namespace
        if kind not in KINDS:
            self._once(("", kind, metadata.get("namespace", ""), metadata["name"]), source, place)
        self.snapshot.whole.setdefault(kind, []).append(whole)

    def _once(self, key: tuple[str, ...], source: str, place: str) -> None:
        here = (source, place)
        first = self._seen.setdefault(key, here)
        if first is not here:
            raise _twice(key, source, place, f"{first[0]} {first[1]}")


def _is_snapshot(document: Document) -> bool:
    """Whether a document is in our own format. Raises InputError if only a later version could read it."""
    api_version, kind = head_of(document)
    if not api_version.startswith(_GROUP_OF_OWN_FORMATS) or kind != KIND:
        return False
    if api_version != API_VERSION:
        problem = f'expected "{API_VERSION}", found {described(api_version)}'
        raise InputError(problem, source=document.source, place="$.apiVersion")
    return True


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Objects from JSON hold no cycles; looking for some in a growing cluster takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
