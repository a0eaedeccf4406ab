"""A snapshot as the API server and the controllers see it: plain objects."""

from __future__ import annotations

from collections.abc import Collection

from kwhatif.admission.answer import Object
from kwhatif.admission.world import World, plain
from kwhatif.api.core import Node
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, NAMESPACED, TEMPLATES
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.objects import scaled, section

_DEFINITIONS = "CustomResourceDefinition"
"""A kind that is defined nowhere is refused; a file may well hold some of the definitions, only a dump has them all."""
_CLUSTER_WIDE = ("Namespace", "PriorityClass", "StorageClass")
_BY_NAME = frozenset(
    {"Node", "PersistentVolume", "VolumeAttachment", "CSIDriver", "CSINode", "DeviceClass", "ResourceSlice"}
)
"""Kinds of which there may be very many, and that admission does not look up."""
_SHARES = ("maxSurge", "maxUnavailable")


def world_of(snapshot: Snapshot, namespaces: Collection[str], named: Collection[tuple[str, str]] = ()) -> World:
    """The objects of some namespaces, those of none that admission looks up, and of others those that are ``named``:
    (kind, name).

    Raises InputError for one that no API server could have stored.
    """
    world = World(pruned=bool(snapshot.resource_versions) or snapshot.redacted)
    for kind in snapshot.covered():
        if kind not in snapshot.unreadable and (kind != _DEFINITIONS or kind in snapshot.resource_versions):
            world.cover(kind)
    for kind in _CLUSTER_WIDE:
        for obj in snapshot.objects.called(kind):
            world.put(plain(obj, kind), sketched=True)
    for kind in sorted(_BY_NAME.intersection(kind for kind, _ in named)):
        for obj in snapshot.objects.called(kind):
            if (kind, obj.name) in named:
                world.put(plain(obj, kind), sketched=True)
    for kind in sorted((KINDS.keys() & NAMESPACED) - KEPT_WHOLE.keys()):
        for obj in snapshot.objects.called(kind):
            if obj.namespace in namespaces:
                world.put(plain(obj, kind), sketched=True)
    for objects in snapshot.whole.values():
        for whole in objects:
            if whole["metadata"].get("namespace", "") in {"", *namespaces}:
                _check(whole, snapshot.source)
                world.put(whole)
    return world


def _check(whole: Object, source: str) -> None:
    """Raises InputError if controllers could not make sense of an object."""
    called, spec = f"{whole['kind']} {described(whole['metadata']['name'])}", whole.get("spec") or {}
    if whole["kind"] in TEMPLATES and (spec.get("replicas") or 0) < 0:
        raise InputError(f"{called}: spec.replicas: expected no less than 0, found {spec['replicas']}", source=source)
    for strategy in ("strategy", "updateStrategy"):
        rolling = section(spec, strategy, "rollingUpdate")
        for key in _SHARES:
            try:
                scaled(rolling.get(key), 1, up=True)
            except InputError as error:
                problem = f"spec.{strategy}.rollingUpdate.{key}: {error.problem}"
                raise InputError(f"{called}: {problem}", source=source) from None


def nodes_of(snapshot: Snapshot) -> list[Object]:
    """The nodes, for daemon sets."""
    return [plain(node, "Node") for node in snapshot.objects.of(Node)]
