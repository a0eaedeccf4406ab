"""Recognisers of single-file dumps: exports of kube-scheduler-simulator, lists of old ``kubectl cluster-info dump``,
and ``kwokctl snapshot``.

The simulator's export is one JSON or YAML object with a list for each kind and the configuration; its elements have
neither apiVersion nor kind, and the namespaces ``default`` and ``kube-*`` and the priority classes ``system-*`` are
missing. ``kubectl cluster-info dump`` before 1.11 wrote internal objects with Go's field names, without kinds, and with
metadata inlined: ``{"selfLink": "/api/v1/nodes", "Items": [{"name": "a", "Spec": {"PodCIDR": "10.0.0.0/24"}, "Status":
{}}]}``. ``kwokctl snapshot`` writes a stream of objects and, after ``--record``, of later changes. Upstream:
kubernetes-sigs/kube-scheduler-simulator, simulator/snapshot/snapshot.go; pkg/kubectl/cmd/clusterinfo_dump.go and
pkg/apis/core/types.go of that time; kubernetes-sigs/kwok, pkg/kwokctl/snapshot/save.go and
pkg/apis/action/v1alpha1/resource_patch_types.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from kwhatif.api.decode import decode_json, step
from kwhatif.api.kinds import KIND_TABLE
from kwhatif.errors import InputError
from kwhatif.snapshot.read.objects import Document, Item, decode, inside, items_at

_MARKS = frozenset({"pods", "nodes", "pvs", "pvcs"})
_CONFIGURATION = "schedulerConfig"
_LISTS = {
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "pvs": ("v1", "PersistentVolume"),
    "pvcs": ("v1", "PersistentVolumeClaim"),
    "storageClasses": ("storage.k8s.io/v1", "StorageClass"),
    "priorityClasses": ("scheduling.k8s.io/v1", "PriorityClass"),
    "namespaces": ("v1", "Namespace"),
}

LEFT_OUT = {
    "Namespace": "the export leaves out default and kube-*",
    "PriorityClass": "the export leaves out system-*",
}
"""Kind -> why it is not there in full."""


class SimulatorExport(msgspec.Struct, frozen=True):
    """An export taken apart. ``kinds`` are (apiVersion, kind) of its lists; ``unknown`` are fields not known here."""

    document: Document
    fields: dict[str, Any]

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return [_LISTS[name] for name in self._lists()]

    @property
    def unknown(self) -> list[str]:
        return [name for name in self.fields if name not in _LISTS and name != _CONFIGURATION]

    def items(self) -> Iterator[Item]:
        """The objects in order. Raises InputError."""
        for name in self._lists():
            yield from items_at(self.document, self.fields[name], "$" + step(name), *_LISTS[name])

    def configuration(self) -> dict[str, Any] | None:
        """The KubeSchedulerConfiguration, if there is one. Raises InputError."""
        field = self.fields.get(_CONFIGURATION)
        if field is None or _is_null(field):
            return None
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        try:
            return head | decode(field, dict[str, Any])
        except InputError as error:
            raise inside(error, self.document.source, "$" + step(_CONFIGURATION)) from None

    def _lists(self) -> list[str]:
        # What could not be read is null there.
        return [name for name in _LISTS if name in self.fields and not _is_null(self.fields[name])]


def simulator_export(document: Document) -> SimulatorExport | None:
    """The export that a document without apiVersion and kind is, or None if it is something else.

    Marks: ``pods``, ``nodes``, ``pvs`` and ``pvcs`` side by side.
    """
    value = document.value
    fields: dict[str, Any] = decode_json(value, dict[str, msgspec.Raw]) if isinstance(value, msgspec.Raw) else value
    return SimulatorExport(document, fields) if fields.keys() >= _MARKS else None


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, msgspec.Raw) and bytes(memoryview(value)[:5]) == b"null")


# GCEPersistentDisk, PodCIDR, FC: what is written in capitals at the start of a field's name is not in JSON.
_CAPITALS = re.compile(r"\A(?:[A-Z]+(?![a-z])|[A-Z])")
# The keys in there are not fields.
_MAPS = frozenset(
    {"Allocatable", "Capacity", "Data", "Hard", "Limits", "NodeSelector", "Requests", "Used", "matchLabels"}
)
_KINDS = {kind.plural: kind for kind in reversed(KIND_TABLE) if not kind.momentary}
_IN_POD_SPEC = ("HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace")


def convert_internal_list(document: Document) -> Document:
    """Such a list as the API has it; any other document unchanged.

    Marks: ``Items``, and a ``selfLink`` that ends in a known resource.
    """
    if isinstance(document.value, msgspec.Raw):
        if b'"Items"' not in memoryview(document.value)[:4096].tobytes():
            return document
        value = json.loads(bytes(document.value))
    else:
        value = document.value
    if not isinstance(value, dict) or not isinstance(link := value.get("selfLink"), str) or "Items" not in value:
        return document
    kind = _KINDS.get(link.rpartition("/")[2])
    if kind is None:
        return document
    items = [_object(item) for item in value["Items"] or () if isinstance(item, dict)]
    listed = {"apiVersion": kind.api_version(), "kind": f"{kind.kind}List", "metadata": {"selfLink": link}}
    return replace(document, value={**listed, "items": items})


def _object(item: dict[str, Any]) -> dict[str, Any]:
    """An object, or a template: what is not spelt as a field of Go is of its metadata."""
    fields = {key: value for key, value in item.items() if key[:1].isupper()}
    metadata = {key: value for key, value in item.items() if key not in fields}
    return {"metadata": metadata, **_rename_fields(fields)}


def _rename_fields(fields: dict[str, Any]) -> dict[str, Any]:
    context = fields.get("SecurityContext")
    if "Containers" in fields and isinstance(context, dict):
        fields = fields | {key: context[key] for key in _IN_POD_SPEC if key in context}
    return {_CAPITALS.sub(_small, key): value if key in _MAPS else _value(key, value) for key, value in fields.items()}


def _small(match: re.Match[str]) -> str:
    return match[0].lower()


def _value(key: str, value: Any) -> Any:
    # Services and replication controllers select by labels alone, and nothing else by a field of that name.
    if isinstance(value, dict) and not (key == "Selector" and all(isinstance(part, str) for part in value.values())):
        return _object(value) if key == "Template" else _rename_fields(value)
    return [_value("", element) for element in value] if isinstance(value, list) else value


def is_kwok_patch(api_version: str, kind: str) -> bool:
    """Whether this is a later change, which has no name of its own, rather than an object."""
    return kind == "ResourcePatch" and api_version.startswith("action.kwok.x-k8s.io/")
