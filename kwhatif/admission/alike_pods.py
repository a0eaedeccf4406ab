"""Pods that differ in their names alone: what admission makes of one of them it makes of all.

A workload of 100,000 replicas is judged once; names and quotas count for each.
"""

from __future__ import annotations

import re
from dataclasses import replace

from kwhatif.admission.object_store import ObjectStore
from kwhatif.admission.request import Request
from kwhatif.admission.response import Object
from kwhatif.admission.warning_recorder import WarningRecorder
from kwhatif.api.objects import section

_BESIDE_PODS = frozenset({"Pod", "PersistentVolumeClaim", "ResourceClaim"})
_MAY_READ_NAMES = (
    "MutatingAdmissionPolicy",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingWebhookConfiguration",
)
# Of these nothing is wrong anywhere, whatever number follows.
_LABEL = re.compile("[a-z0-9](?:[a-z0-9-]{0,40}[a-z0-9])?")
_PREFIX = re.compile("[a-z0-9][a-z0-9-]{0,40}")


class AlikePods:
    """The last pod that was let in, as long as nothing changes that another one like it depends on."""

    def __init__(self, world: ObjectStore) -> None:
        self._world = world
        self._body: Object | None = None
        self._admitted: Request | None = None
        world.watch(self._observe)

    def remember(self, body: Object, admitted: Request) -> None:
        """A pod was let in; ``body`` is as it was sent."""
        named = not any(True for kind in _MAY_READ_NAMES for _ in self._world.all(kind))
        self._body = body if named and admitted.kind == "Pod" else None
        self._admitted = replace(admitted, object=_anew(admitted.object)) if self._body is not None else None

    def request_for(self, body: Object) -> Request | None:
        """The request for a pod as it is after admission, without a uid, if the last pod differs in its name alone."""
        last, done = self._body, self._admitted
        if last is None or done is None or not _differ_in_name(body, last):
            return None
        pod = _anew(done.object)
        pod["metadata"] |= {"name": section(body, "metadata").get("name") or "", "uid": ""}
        warnings = WarningRecorder()
        warnings.extend(done.warnings.texts)
        return replace(done, object=pod, warnings=warnings)

    def _observe(self, before: Object | None, after: Object | None) -> None:
        if any(obj is not None and obj.get("kind") not in _BESIDE_PODS for obj in (before, after)):
            self._body = self._admitted = None


def _anew(pod: Object) -> Object:
    """A pod that shares the parts of another one, and has metadata of its own."""
    return {**pod, "metadata": {**section(pod, "metadata")}}


def _differ_in_name(one: Object, other: Object) -> bool:
    mine, its = section(one, "metadata"), section(other, "metadata")
    name, prefix = mine.get("name"), mine.get("generateName")
    plain = _LABEL.fullmatch(str(name)) if name else _PREFIX.fullmatch(str(prefix or ""))
    return (
        plain is not None
        and bool(name) == bool(its.get("name"))
        and not mine.get("uid")
        and {**mine, "name": ""} == {**its, "name": ""}
        and one.keys() == other.keys()
        and all(one[key] == other[key] for key in one if key != "metadata")
    )
