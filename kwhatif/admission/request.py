"""One request on its way through admission: the object as it stands, and what plugins changed, warned of and could not
know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kwhatif.admission.object_store import ObjectStore, known_kind, name_of, namespace_of, resource_name
from kwhatif.admission.response import Doubt, Object, RequestRefusal, StatusCause
from kwhatif.admission.warning_recorder import WarningRecorder
from kwhatif.api.objects import part_of, section
from kwhatif.results.expand import ChangeRecord
from kwhatif.versions import Features, features_of

_LEAVES = frozenset({str, int, float, bool, type(None)})


@dataclass(slots=True)
class Request:
    """``object`` may be altered; ``old`` is the stored object when the request is an update. ``name_is_complete`` is
    False while a name from ``generateName`` lacks its suffix. Once a policy has changed the object (``is_mutated``),
    mutating plugins run again (``is_reinvocation``). ``kind`` does not change: it is empty for a kind that is not read
    here. ``replaces_object``: the object takes the place of the old one; ``is_merged``: fields that the manifest leaves
    out are those of the old one. An ``offline`` server reaches none of its webhooks. ``features`` are the server's
    rules.
    """

    object: Object
    store: ObjectStore
    old: Object | None = None
    changes: list[ChangeRecord] = field(default_factory=list)
    doubts: list[Doubt] = field(default_factory=list)
    warnings: WarningRecorder = field(default_factory=WarningRecorder)
    name_is_complete: bool = True
    is_mutated: bool = False
    is_reinvocation: bool = False
    replaces_object: bool = False
    is_merged: bool = False
    offline: bool = False
    uses_generate_name: bool = False
    features: Features = field(default_factory=features_of)
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        self.kind = known_kind(self.object)

    @property
    def namespace(self) -> str:
        return namespace_of(self.object)

    @property
    def requested_name(self) -> str:
        """The name that was asked for; empty where the server makes one up."""
        metadata = section(self.object, "metadata")
        return "" if self.uses_generate_name else str(metadata.get("name") or "")

    def record_change(self, step: str, path: str, text: str) -> None:
        self.changes.append(ChangeRecord(step, path, text))

    def doubt(self, step: str, what: str, effect: str) -> None:
        """Note an effect of a step that cannot be known."""
        self.changes.append(ChangeRecord(step, "", f"{what}; {effect}"))
        self.doubts.append(Doubt(what, effect))

    def forbidden(self, why: str, *causes: StatusCause) -> RequestRefusal:
        """403, in the words that admission steps use."""
        name = name_of(self.object) or "Unknown"
        if self.uses_generate_name and not self.name_is_complete:
            name = part_of(self.object, "metadata").get("generateName") or name
        return RequestRefusal(403, "Forbidden", f'{resource_name(self.object)} "{name}" is forbidden: {why}', causes)


def deep_copy_json(value: Any) -> Any:
    """A copy of plain JSON values. Leaves are handled here and not by a further call: most of a manifest is leaves."""
    if type(value) is dict:
        return {key: item if type(item) in _LEAVES else deep_copy_json(item) for key, item in value.items()}
    if type(value) is list:
        return [item if type(item) in _LEAVES else deep_copy_json(item) for item in value]
    return value


def each(parent: Object | None, key: str) -> list[Object]:
    """The objects of a list that may be absent or null."""
    value = (parent or {}).get(key)
    return value if isinstance(value, list) else []


def containers_of(spec: Object, path: str) -> list[tuple[str, Object]]:
    """All containers of a pod with their paths, in the order in which upstream visits them."""
    keys = ("initContainers", "containers", "ephemeralContainers")
    return [(f"{path}.{key}[{i}]", container) for key in keys for i, container in enumerate(each(spec, key))]


def within(parent: Object, key: str) -> Object:
    """The object under a key, made there if it is absent or null."""
    value = parent.get(key)
    if not isinstance(value, dict):
        value = parent[key] = {}
    return value
