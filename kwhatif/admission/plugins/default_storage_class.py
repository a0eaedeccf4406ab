"""DefaultStorageClass: a claim that names no class gets the default one.

Upstream: plugin/pkg/admission/storage/storageclass/setdefault/admission.go and pkg/volume/util/storageclass.go.
"""

from __future__ import annotations

from kwhatif.admission.object_store import Index, ObjectStore, name_of
from kwhatif.admission.request import Request, within
from kwhatif.admission.response import Object, RequestRefusal
from kwhatif.api.objects import section

_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def admit(request: Request) -> RequestRefusal | None:
    if request.kind != "PersistentVolumeClaim" or request.old is not None:
        return None
    metadata, spec = section(request.object, "metadata"), within(request.object, "spec")
    if _BETA_CLASS in section(metadata, "annotations") or spec.get("storageClassName") is not None:
        return None
    name = _default_class(request.store)
    if name:
        spec["storageClassName"] = name
        request.record_change("DefaultStorageClass", "spec.storageClassName", f"{name}, the default class")
    return None


def _default_class(world: ObjectStore) -> str:
    """The newest of the default classes, and of equally old ones the first by name."""
    defaults = sorted(world.find(_DEFAULTS, True), key=name_of)
    defaults.sort(key=_creation_time_of, reverse=True)
    return name_of(defaults[0]) if defaults else ""


def _creation_time_of(storage_class: Object) -> str:
    return str(section(storage_class, "metadata").get("creationTimestamp") or "")


def _is_default(storage_class: Object) -> bool:
    annotations = section(storage_class, "metadata", "annotations")
    return any(annotations.get(key) == "true" for key in _DEFAULT)


_DEFAULTS = Index("StorageClass", lambda storage_class: (True,) if _is_default(storage_class) else ())
