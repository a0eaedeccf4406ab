"""What scheduling can see of an object, as plain values: without what changes from day to day and decides nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from kwhatif.api.core import Node, Pod
from kwhatif.api.decode import convert
from kwhatif.api.meta import Resource
from kwhatif.api.quantity import plain_quantity
from kwhatif.cluster.storage import BIND_COMPLETED, SELECTED_NODE

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


class Whole(Resource):
    """An object that is kept as plain values: all of it but its metadata is in ``rest``."""

    rest: dict[str, Any] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, obj: dict[str, Any]) -> Whole:
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
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k in READ_ANNOTATIONS}
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
    status = plain.get("status") or {}
    for field in ("conditions", "nodeInfo"):
        status.pop(field, None)
    if "allocatable" in status:
        # What can be had of the machine decides only where nobody says what is left for pods.
        status.pop("capacity", None)
    # Names and sizes by image: the kubelet lists them by size, so the order says nothing.
    images = status.pop("images", None) or ()
    if images:
        status["images"] = {(image.get("names") or [""])[0]: image.get("sizeBytes", 0) for image in images}


def _of_pod(plain: dict[str, Any]) -> None:
    status = plain.get("status") or {}
    for field in ("startTime", "conditions", "phase"):
        status.pop(field, None)
    for field in ("containerStatuses", "initContainerStatuses"):
        told = [each for each in status.pop(field, None) or () if each.keys() & {"resources", "allocatedResources"}]
        if told:
            status[field] = told
    if not status:
        plain.pop("status", None)
    spec = plain.get("spec") or {}
    # A volume of which nothing but the name is read (kube-api-access-x7k2p) is of no kind that scheduling knows.
    volumes = [volume for volume in spec.pop("volumes", None) or () if volume.keys() - {"name"}]
    if volumes:
        spec["volumes"] = volumes


def template_of(pod: Pod) -> bytes:
    """What a pod has in common with all others that its controller made of the same template."""
    plain = visible(pod)
    plain.pop("status", None)
    (plain.get("spec") or {}).pop("nodeName", None)
    plain.get("metadata", {}).pop("deletionTimestamp", None)
    return msgspec.json.encode(plain, order="deterministic")
