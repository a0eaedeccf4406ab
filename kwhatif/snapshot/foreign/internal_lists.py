"""Lists as ``kubectl cluster-info dump`` wrote them before 1.11: as Go calls the fields, since they were not converted.

Neither lists nor objects say of which kind they are, and metadata has no place of its own:
``{"selfLink": "/api/v1/nodes", "Items": [{"name": "a", "Spec": {"PodCIDR": "10.0.0.0/24"}, "Status": {}}]}``.
Upstream, of that time: pkg/kubectl/cmd/clusterinfo_dump.go and pkg/apis/core/types.go.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import msgspec

from kwhatif.api.kinds import TABLE
from kwhatif.snapshot.read.documents import Document

# GCEPersistentDisk, PodCIDR, FC: what is written in capitals at the start of a field's name is not in JSON.
_CAPITALS = re.compile(r"\A(?:[A-Z]+(?![a-z])|[A-Z])")
# The keys in there are not fields.
_MAPS = frozenset(
    {"Allocatable", "Capacity", "Data", "Hard", "Limits", "NodeSelector", "Requests", "Used", "matchLabels"}
)
_KINDS = {kind.plural: kind for kind in TABLE}
_IN_POD_SPEC = ("HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace")


def converted(document: Document) -> Document:
    """Such a list as the API has it; what is something else stays as it is.

    Marks: ``Items``, and a ``selfLink`` that ends in a resource that is known.
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
    listed = {"apiVersion": kind.api_version(), "kind": f"{kind.name}List", "metadata": {"selfLink": link}}
    return replace(document, value={**listed, "items": items})


def _object(item: dict[str, Any]) -> dict[str, Any]:
    """An object, or a template: what is not spelt as a field of Go is of its metadata."""
    fields = {key: value for key, value in item.items() if key[:1].isupper()}
    metadata = {key: value for key, value in item.items() if key not in fields}
    return {"metadata": metadata, **_spelt(fields)}


def _spelt(fields: dict[str, Any]) -> dict[str, Any]:
    context = fields.get("SecurityContext")
    if "Containers" in fields and isinstance(context, dict):
        fields = fields | {key: context[key] for key in _IN_POD_SPEC if key in context}
    return {_CAPITALS.sub(_small, key): value if key in _MAPS else _value(key, value) for key, value in fields.items()}


def _small(found: re.Match[str]) -> str:
    return found[0].lower()


def _value(key: str, value: Any) -> Any:
    # Services and replication controllers select by labels alone, and nothing else by a field of that name.
    if isinstance(value, dict) and not (key == "Selector" and all(isinstance(each, str) for each in value.values())):
        return _object(value) if key == "Template" else _spelt(value)
    return [_value("", each) for each in value] if isinstance(value, list) else value
