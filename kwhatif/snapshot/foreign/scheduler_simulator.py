"""Exports of kube-scheduler-simulator: one JSON or YAML object with a list for each kind, and the configuration.

The elements have neither apiVersion nor kind. What the simulator leaves out, and says nothing of, are the namespaces
``default`` and ``kube-*`` and the priority classes ``system-*``.
Upstream: kubernetes-sigs/kube-scheduler-simulator, simulator/snapshot/snapshot.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from kwhatif.api.decode import decode_json
from kwhatif.api.mismatch import step
from kwhatif.errors import InputError
from kwhatif.snapshot.read.documents import Document
from kwhatif.snapshot.read.items import Item, decode, inside, items_at

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


@dataclass(frozen=True)
class SimulatorExport:
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
        found = self.fields.get(_CONFIGURATION)
        if found is None or _is_null(found):
            return None
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        try:
            return head | decode(found, dict[str, Any])
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
