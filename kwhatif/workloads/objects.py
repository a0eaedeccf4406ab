"""Small questions about objects as plain JSON values, and the references between them."""

from __future__ import annotations

import re
import uuid
from typing import Any

from kwhatif.admission.answer import Object
from kwhatif.admission.request import copied
from kwhatif.admission.world import name_of
from kwhatif.api.mismatch import described
from kwhatif.errors import InputError

__all__ = [
    "annotations_of",
    "claim_template",
    "controller_of",
    "copied",
    "group_of",
    "integer",
    "labels_of",
    "name_of",
    "namespace_of",
    "owner_reference",
    "scaled",
    "section",
    "uid_of",
]

_PERCENTAGE = re.compile("[0-9]{1,18}%")
_UIDS = uuid.uuid5(uuid.NAMESPACE_DNS, "kwhatif.workloads")


def section(obj: Object, *path: str) -> Object:
    """The object at a path of field names; an empty one if there is none."""
    here: Any = obj
    for key in path:
        if not isinstance(here, dict):
            return {}
        here = here.get(key)
    return here if isinstance(here, dict) else {}


def integer(value: Any, default: int) -> int:
    """A whole number of the API, or what stands for its absence."""
    return default if value is None else int(value)


def group_of(obj: Object) -> str:
    """The API group; that of the core is empty."""
    return str(obj.get("apiVersion") or "").rpartition("/")[0]


def namespace_of(obj: Object) -> str:
    """The namespace of an object that lives in one."""
    return str(section(obj, "metadata").get("namespace") or "default")


def labels_of(obj: Object) -> dict[str, str]:
    return section(obj, "metadata", "labels")


def annotations_of(obj: Object) -> dict[str, str]:
    return section(obj, "metadata", "annotations")


def uid_of(obj: Object) -> str:
    """The object's uid; one made from kind, namespace and name if it has none, always the same."""
    known = section(obj, "metadata").get("uid")
    return str(known or uuid.uuid5(_UIDS, f"{obj.get('kind')}/{namespace_of(obj)}/{name_of(obj)}"))


def owner_reference(owner: Object) -> Object:
    """The reference that says: this controller manages me."""
    return {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(obj: Object) -> Object:
    """The reference to the one controller that manages the object; an empty one if none does."""
    for reference in section(obj, "metadata").get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return {}


def scaled(value: Any, total: int, *, up: bool) -> int:
    """A number, or a percentage of a total rounded up or down.

    Upstream: apimachinery/pkg/util/intstr/intstr.go. None is zero. Raises InputError for a text that is neither, which
    no API server stores.
    """
    if isinstance(value, str):
        if not _PERCENTAGE.fullmatch(value):
            raise InputError(f"expected a number or a percentage such as 25%, found {described(value)}")
        percent = int(value[:-1])
        return -(-percent * total // 100) if up else percent * total // 100
    return integer(value, 0)


def claim_template(name: str, namespace: str, template: Object) -> Object:
    """A claim after a template, of this name."""
    metadata = copied(section(template, "metadata"))
    for key in ("creationTimestamp", "uid", "resourceVersion", "generateName"):
        metadata.pop(key, None)
    metadata |= {"name": name, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": copied(section(template, "spec")),
    }
