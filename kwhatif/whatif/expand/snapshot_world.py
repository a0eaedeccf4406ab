"""A snapshot as the API server and the controllers see it: plain objects."""

from __future__ import annotations

from collections.abc import Collection

from kwhatif.admission.answer import Object
from kwhatif.admission.world import World, plain
from kwhatif.api.core import Node
from kwhatif.api.kinds import KEPT_WHOLE, KINDS, NAMESPACED
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError
from kwhatif.snapshot.format.model import Snapshot

_DEFINITIONS = "CustomResourceDefinition"
"""A kind that is defined nowhere is refused; a file may well hold some of the definitions, only a dump has them all."""
_CLUSTER_WIDE = ("Namespace", "PriorityClass", "StorageClass")


def world_of(snapshot: Snapshot, namespaces: Collection[str]) -> World:
    """The objects of some namespaces, and those of none that admission looks up.

    Raises InputError for one that no API server could have stored.
    """
    world = World()
    for kind in snapshot.covered():
        if kind not in snapshot.unreadable and (kind != _DEFINITIONS or kind in snapshot.resource_versions):
            world.cover(kind)
    for kind in _CLUSTER_WIDE:
        for obj in snapshot.objects.called(kind):
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
    if ((whole.get("spec") or {}).get("replicas") or 0) < 0:
        problem = f"spec.replicas: expected no less than 0, found {whole['spec']['replicas']}"
        raise InputError(f"{whole['kind']} {described(whole['metadata']['name'])}: {problem}", source=source)


def nodes_of(snapshot: Snapshot) -> list[Object]:
    """The nodes, for daemon sets."""
    return [plain(node, "Node") for node in snapshot.objects.of(Node)]
