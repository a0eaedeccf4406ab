"""Properties of objects as plain JSON values: references, scaled values, phase and readiness of pods, equality of
templates.

Upstream: pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go, pkg/controller/deployment/util/deployment_util.go
(EqualIgnoreHash); defaults: pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from kwhatif.admission.object_store import name_of
from kwhatif.admission.request import deep_copy_json
from kwhatif.admission.response import Object
from kwhatif.admission.updates.normal_form import plain
from kwhatif.api.decode import describe_value
from kwhatif.api.objects import section
from kwhatif.api.times import parse_time
from kwhatif.errors import InputError

__all__ = [
    "annotations_of",
    "claim_template",
    "controller_of",
    "deep_copy_json",
    "get_scaled_value",
    "group_of",
    "integer",
    "labels_of",
    "name_of",
    "namespace_of",
    "owner_reference",
    "uid_of",
]

_PERCENTAGE = re.compile("[0-9]{1,18}%")
_UIDS = uuid.uuid5(uuid.NAMESPACE_DNS, "kwhatif.workloads")


def integer(value: Any, default: int) -> int:
    """A whole number of the API, or a default where it is absent."""
    return default if value is None else int(value)


def stated_pods(obj: Object) -> int:
    """How many pods a workload of Kubernetes' own has by its numbers, as far as they are valid; they are not made."""
    spec = section(obj, "spec")
    job = section(spec, "jobTemplate", "spec") or spec
    sizes = [spec.get("replicas"), *(job.get(key) for key in ("parallelism", "completions") if key in job)]
    if obj.get("kind") in ("Job", "CronJob"):
        sizes.append(0 if job.get("suspend") is True else job.get("parallelism", 1))
    known = [size for size in sizes if isinstance(size, int) and size < 1 << 31]  # More is no int32: refused.
    return max(0, min(known, default=1))


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
    """The controller reference to an object."""
    return {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(obj: Object) -> Object:
    """The reference to the one controller that manages the object, with a kind and a name; an empty one if none does.

    What refers to no object in particular is no reference: the API server stores none.
    """
    references = section(obj, "metadata").get("ownerReferences")
    for reference in references if isinstance(references, list) else ():
        if isinstance(reference, dict) and reference.get("controller"):
            named = all(isinstance(reference.get(key), str) and reference[key] for key in ("kind", "name"))
            return dict(reference) if named else {}
    return {}


def get_scaled_value(value: Any, total: int, *, up: bool) -> int:
    """A number, or a percentage of a total rounded up or down.

    Upstream: apimachinery/pkg/util/intstr/intstr.go. None is zero. Raises InputError for a text that is neither, which
    no API server stores.
    """
    if isinstance(value, str):
        if not _PERCENTAGE.fullmatch(value):
            raise InputError(f"expected a number or a percentage such as 25%, found {describe_value(value)}")
        percent = int(value[:-1])
        return -(-percent * total // 100) if up else percent * total // 100
    return integer(value, 0)


def claim_template(name: str, namespace: str, template: Object) -> Object:
    """A claim after a template, of this name."""
    metadata = deep_copy_json(section(template, "metadata"))
    for key in ("creationTimestamp", "uid", "resourceVersion", "generateName"):
        metadata.pop(key, None)
    metadata |= {"name": name, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": deep_copy_json(section(template, "spec")),
    }


def phase_of(pod: Object) -> str:
    """The phase; where a snapshot does not have it, a pod with a node is assumed to run."""
    phase = section(pod, "status").get("phase")
    return str(phase or ("Running" if section(pod, "spec").get("nodeName") else "Pending"))


def is_over(pod: Object) -> bool:
    """Whether the pod has succeeded or failed."""
    return section(pod, "status").get("phase") in ("Succeeded", "Failed")


def is_ready(pod: Object) -> bool:
    """Whether the pod is ready; without conditions in the snapshot, a running pod is assumed to be."""
    if section(pod, "status").get("conditions") is None:
        return phase_of(pod) == "Running"
    return bool(_ready_condition(pod))


def ready_since(pod: Object) -> datetime | None:
    """When a ready pod became ready; None if its conditions do not say."""
    return moment(_ready_condition(pod).get("lastTransitionTime"), pod, "lastTransitionTime of condition Ready")


def restarts_of(pod: Object) -> tuple[int, int]:
    """The most restarts of any container, and of any sidecar."""
    status, spec = section(pod, "status"), section(pod, "spec")
    sidecars = {c.get("name") for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    initial = [s for s in status.get("initContainerStatuses") or () if s.get("name") in sidecars]
    return _most(status.get("containerStatuses") or []), _most(initial)


def moment(text: object, pod: Object | None = None, field: str = "") -> datetime | None:
    """A time as the API writes it; None for none. Raises InputError that names the ``pod`` whose ``field`` it is."""
    if not text:
        return None
    try:
        return parse_time(str(text))
    except ValueError as error:
        name = section(pod or {}, "metadata").get("name")
        raise InputError(f"{field} of pod {name}: {error}" if name else str(error)) from None


def last_moment_of(pods: Iterable[Object]) -> datetime | None:
    """The latest time that any of the pods tells of itself; they were looked at then or later. None if none does."""
    times: list[str] = []
    for pod in pods:
        conditions = section(pod, "status").get("conditions") or ()
        times += (
            str(condition["lastTransitionTime"]) for condition in conditions if condition.get("lastTransitionTime")
        )
        times.append(str(section(pod, "metadata").get("creationTimestamp") or ""))
    return moment(max(times, default=""))


def _most(statuses: list[Object]) -> int:
    return max((int(status.get("restartCount") or 0) for status in statuses), default=0)


def _ready_condition(pod: Object) -> Object:
    for condition in section(pod, "status").get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") == "True":
            return dict(condition)
    return {}


HASH_LABEL = "pod-template-hash"


def same_template(one: Object, other: Object) -> bool:
    """Whether two templates make the same pods; the label pod-template-hash does not count."""
    return canonicalize(one) == canonicalize(other)


def canonicalize(template: Object) -> str:
    """A text that is equal for equivalent templates."""
    bare = deep_copy_json(template)
    section(bare, "metadata", "labels").pop(HASH_LABEL, None)
    section(bare, "metadata").pop("creationTimestamp", None)
    section(bare, "metadata").pop("name", None)
    section(bare, "spec").pop("serviceAccount", None)
    return json.dumps(plain(bare), sort_keys=True, separators=(",", ":"))


def matches_template(pod: Object, template: Object) -> bool:
    """Whether a pod may have been made from a template: it has all of the template's fields, and maybe more."""
    labels = section(template, "metadata", "labels")
    return labels.items() <= section(pod, "metadata", "labels").items() and _covers(
        plain(section(pod, "spec")), plain(section(template, "spec"))
    )


def _covers(wide: object, narrow: object) -> bool:
    """Whether all that ``narrow`` says is also in ``wide``; items of a list may be in any place."""
    if isinstance(narrow, dict):
        return isinstance(wide, dict) and all(_covers(wide.get(key), item) for key, item in narrow.items())
    if isinstance(narrow, list):
        return isinstance(wide, list) and all(any(_covers(have, item) for have in wide) for item in narrow)
    return wide == narrow
