"""A manifest's object with its namespace and its name in answers, and pods as an API server has stored them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwhatif.admission.object_store import ObjectStore, name_of, namespace_of
from kwhatif.admission.plugins.priority import SYSTEM_CLASSES
from kwhatif.admission.response import Object
from kwhatif.api.objects import part_of, section
from kwhatif.results.expand import ChangeRecord
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.load import Manifest


def display_name_of(obj: Object) -> str:
    """``Deployment shop/web``."""
    name = name_of(obj) or f"{section(obj, 'metadata').get('generateName', '')}..."
    return (
        f"{part_of(obj, 'kind')} {namespace_of(obj)}/{name}" if namespace_of(obj) else f"{part_of(obj, 'kind')} {name}"
    )


def complete_object(manifest: Manifest) -> Object:
    """The manifest's object with its namespace."""
    metadata = {**section(manifest.raw, "metadata")}
    if manifest.obj.namespace:
        metadata["namespace"] = manifest.obj.namespace
    return {**manifest.raw, "metadata": metadata}


def pod_to_schedule_of(
    pod: Object, world: ObjectStore, origin: str, owner: str, changes: Sequence[ChangeRecord]
) -> PodToSchedule:
    """A stored pod to be scheduled. ``changes`` are admission's changes to it."""
    typed = world.parts.convert(pod)
    wanted = typed.spec.priority_class_name or ""
    unknown = bool(wanted) and wanted not in SYSTEM_CLASSES and world.get("PriorityClass", "", wanted) is None
    # Every pod gets those two tolerations; the trail of ``expand`` has them.
    defaulted = (change for change in changes if change.step != "DefaultTolerationSeconds")
    defaults = tuple(f"{c.path}: {c.text}" for c in defaulted)
    account = str(section(pod, "spec").get("serviceAccountName") or "")
    return PodToSchedule(typed, origin, defaults, wanted if unknown else "", owner, service_account=account)


def at_home(pod: Object, homes: Mapping[str, str]) -> Object:
    """The pod as it runs on the node that it has found, if it waited for one."""
    node = homes.get(f"{namespace_of(pod)}/{name_of(pod)}")
    if node is None or section(pod, "spec").get("nodeName"):
        return pod
    return {**pod, "spec": {**section(pod, "spec"), "nodeName": node}, "status": {"phase": "Running"}}


def is_stored(obj: Object) -> bool:
    """Whether the object has been stored by an API server, so that nothing is left to default or to validate."""
    metadata = section(obj, "metadata")
    return bool(metadata.get("uid") and metadata.get("creationTimestamp"))
