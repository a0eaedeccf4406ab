"""What an applied manifest makes of an object that is there.

Fields that its manager had applied and now leaves out go away, unless somebody else owns them too; what it changes
must not be somebody else's. Upstream: apimachinery/pkg/util/managedfields, sigs.k8s.io/structured-merge-diff/merge; for
kubectl's own way, kubectl/pkg/cmd/apply and apimachinery/pkg/util/strategicpatch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kwhatif.admission.answer import Cause, Object, Refused
from kwhatif.admission.updates.field_owners import manifests_own
from kwhatif.admission.updates.fields import Fields, fields_of, leaves, minus, spelt
from kwhatif.admission.updates.typed_merge import at, merged, without
from kwhatif.api.field_types import FieldType, Served, Types

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def apply_in_server(live: Object, manifest: Object, manager: str, kind: Served, types: Types) -> Object | Refused:
    """Server-side apply: the object as it would be, before defaults; a refusal where another manager's field would
    change. Without managed fields all that manifests own is taken to be ``kubectl``'s.
    """
    type_ = FieldType.parse(kind.type)
    entries = (live.get("metadata") or {}).get("managedFields") or ()
    said = fields_of(_body(manifest), type_, types)
    mine: Fields = {}
    others: list[tuple[str, Fields]] = []
    for entry in entries:
        own = entry.get("fieldsV1") or {}
        if (entry.get("manager"), entry.get("operation")) == (manager, "Apply") and not entry.get("subresource"):
            mine = own
        else:
            others.append((_told(entry), own))
    if not entries and manager == "kubectl":
        mine = manifests_own(live, type_, types)
    found = [
        (told, path)
        for told, theirs in others
        for path in leaves(said)
        if _owns(theirs, path) and at(manifest, path, type_, types) != at(live, path, type_, types)
    ]
    if found:
        return _conflict(found)
    gone = minus(mine, said)
    for _, theirs in others:
        gone = minus(gone, theirs)
    above = merged(without(live, gone, type_, types), manifest, type_, types)
    return _with_version(above, manifest)


def apply_in_client(live: Object, manifest: Object, kind: Served, types: Types) -> Object:
    """``kubectl apply`` as it is without ``--server-side``: what was applied last, as the object's annotation has it,
    and is left out now goes away. Without the annotation that is all that manifests own but the number of replicas.
    """
    type_ = FieldType.parse(kind.type)
    last = _last(live)
    mine = fields_of(_body(_read(last)), type_, types) if last else {}
    if not mine:
        mine = manifests_own(live, type_, types, besides=("replicas",))
    gone = minus(mine, fields_of(_body(manifest), type_, types))
    found = merged(without(live, gone, type_, types), manifest, type_, types)
    strategy = (manifest.get("spec") or {}).get("strategy")
    if manifest.get("kind") == "Deployment" and isinstance(strategy, dict):
        # kubectl's patch says of this one which keys are to be left.
        whole = found["spec"]["strategy"]
        found["spec"] = {**found["spec"], "strategy": {key: whole[key] for key in strategy if key in whole}}
    return _with_version(found, manifest)


def owners_told(live: Object, verb: str) -> bool:
    """Whether an object says which of its fields were applied, so that one which is left out is known to go away."""
    metadata = live.get("metadata") or {}
    return bool(metadata.get("managedFields") if verb == "apply" else _last(live))


def with_all_kept(live: Object, manifest: Object, kind: Served, types: Types) -> Object:
    """The object as it would be if nothing that the manifest leaves out had been applied before."""
    return _with_version(merged(live, manifest, FieldType.parse(kind.type), types), manifest)


def _last(live: Object) -> Any:
    return ((live.get("metadata") or {}).get("annotations") or {}).get(_LAST_APPLIED)


def _body(manifest: Object) -> Object:
    """What of a manifest can have owners."""
    metadata = manifest.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations", "finalizers", "ownerReferences") if key in metadata}
    rest = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    return {**rest, "metadata": kept} if kept else rest


def _with_version(found: Any, manifest: Object) -> Object:
    return {**found, "apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}


def _read(text: Any) -> Object:
    try:
        read = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _owns(fields: Fields, path: tuple[str, ...]) -> bool:
    for key in path:
        if key not in fields:
            return False
        fields = fields[key]
    return not fields or "." in fields


def _told(entry: Object) -> str:
    """How a message calls a manager."""
    told = f'"{entry.get("manager") or ""}"'
    if entry.get("subresource"):
        told += f' with subresource "{entry["subresource"]}"'
    if entry.get("operation") == "Update":
        told += f" using {entry.get('apiVersion') or ''}"
        told += f" at {entry['time']}" if entry.get("time") else ""
    return told


def _conflict(found: list[tuple[str, tuple[str, ...]]]) -> Refused:
    causes = tuple(Cause(spelt(path), f"conflict with {manager}") for manager, path in found)
    if len(found) == 1:
        message = f"Apply failed with 1 conflict: conflict with {found[0][0]}: {spelt(found[0][1])}"
    else:
        message = f"Apply failed with {len(found)} conflicts: " + "\n".join(_lines(found))
    return Refused(409, "Conflict", message, causes)


def _lines(found: list[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    for manager in sorted({told for told, _ in found}):
        yield f"conflicts with {manager}:"
        yield from (f"- {spelt(path)}" for told, path in found if told == manager)
