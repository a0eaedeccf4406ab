"""What an update makes of a stored object before it is defaulted and validated: replace, patch, server-side apply, and
client-side apply as kubectl does it.

Fields that a manager had applied and now omits are removed, unless another manager owns them too; changing another
manager's field is a conflict. Upstream: apiserver/pkg/registry/generic/registry/store.go (Update),
apiserver/pkg/endpoints/handlers/patch.go, apimachinery/pkg/util/managedfields, sigs.k8s.io/structured-merge-diff
(merge, typed/merge.go, typed/remove.go), kubectl/pkg/cmd/apply and apimachinery/pkg/util/strategicpatch.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from kwhatif.admission.object_store import name_of, resource_name
from kwhatif.admission.request import deep_copy_json, within
from kwhatif.admission.response import Object, RequestRefusal, StatusCause
from kwhatif.admission.updates.managed_fields import (
    WHOLE,
    Fields,
    fields_of,
    fields_of_manifests,
    format_path,
    is_granular,
    item_key,
    leaves,
    minus,
    parts,
)
from kwhatif.admission.updates.normal_form import same
from kwhatif.api.field_types import ApiResource, FieldType, Types
from kwhatif.api.objects import part_of, section


def merge_values(below: Any, above: Any, type_: FieldType | None, types: Types, *, nulls_remove: bool = True) -> Any:
    """``above`` merged onto ``below``: fields that ``above`` does not have stay. Neither is changed, but parts are
    shared. A null removes a field; unless ``nulls_remove``, it stands for one without parts where parts have owners.
    """
    if not is_granular(type_) or type_ is None:
        return above
    if isinstance(above, list) and isinstance(below, list):
        return _items(below, above, type_, types, nulls_remove)
    if not isinstance(above, dict) or not isinstance(below, dict):
        return above
    own = {key[2:]: inner for key, _, inner in parts(above, type_, types)}
    values = dict(below)
    for name, item in above.items():
        if item is not None:
            values[name] = merge_values(below.get(name), item, own.get(name), types, nulls_remove=nulls_remove)
        elif nulls_remove or not is_granular(own.get(name)):
            values.pop(name, None)
    return values


def _items(below: list[Any], above: list[Any], type_: FieldType, types: Types, nulls_remove: bool) -> list[Any]:
    """Items in the order of ``above``; those that only ``below`` has stay where they stand among the others."""
    keys = [item_key(item, type_.keys) for item in below]
    places: dict[str, int] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, place)
    there = dict(zip(keys, below, strict=True))
    wanted = {item_key(item, type_.keys): item for item in above}
    kept = deque(key for key in keys if key not in wanted)
    order: list[str] = []
    for key in wanted:
        if key in there:
            while kept and places[kept[0]] < places[key]:
                order.append(kept.popleft())
        order.append(key)
    order += kept
    return [
        merge_values(there.get(key), wanted[key], type_.item, types, nulls_remove=nulls_remove)
        if key in wanted
        else there[key]
        for key in order
    ]


def without(value: Any, fields: Mapping[str, Any], type_: FieldType | None, types: Types) -> Any:
    """A value without some of its fields. A field goes with all that is in it where nobody owns a part of it; a key of
    a map that becomes empty stays, empty.
    """
    whole = (".", WHOLE) if type_ is not None and type_.shape in ("struct", "granular") else (".",)
    found_parts = list(parts(value, type_, types)) if fields else []
    if not found_parts:
        return value
    kept = []
    for key, item, inner in found_parts:
        field = fields.get(key)
        if field is None:
            kept.append((key, item))
        elif field and field.keys().isdisjoint(whole):
            kept.append((key, without(item, field, inner, types)))
    return [item for _, item in kept] if isinstance(value, list) else {key[2:]: item for key, item in kept}


def value_at(value: Any, path: tuple[str, ...], type_: FieldType | None, types: Types) -> Any:
    """The value at a path, None if there is none."""
    if not path:
        return value
    for key, item, inner in parts(value, type_, types):
        if key == path[0]:
            return value_at(item, path[1:], inner, types)
    return None


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def apply_in_server(
    live: Object, manifest: Object, manager: str, kind: ApiResource, types: Types
) -> Object | RequestRefusal:
    """Server-side apply: the object before defaults, or a refusal where another manager's field would change. Without
    managed fields all fields that manifests set are assumed to be owned by ``kubectl``.
    """
    type_ = FieldType.parse(kind.type)
    entries = section(live, "metadata").get("managedFields") or ()
    said = fields_of(_body(manifest), type_, types)
    mine: Fields = {}
    others: list[tuple[str, Fields]] = []
    for entry in entries:
        own = section(entry, "fieldsV1")
        if (entry.get("manager"), entry.get("operation")) == (manager, "Apply") and not entry.get("subresource"):
            mine = own
        else:
            others.append((_format_manager(entry), own))
    if not entries and manager == "kubectl":
        mine = fields_of_manifests(live, type_, types)
    conflicts = [
        (other_manager, path)
        for other_manager, theirs in others
        for path in leaves(said)
        if _owns(theirs, path) and value_at(manifest, path, type_, types) != value_at(live, path, type_, types)
    ]
    if conflicts:
        return _conflict(conflicts)
    gone = minus(mine, said)
    for _, theirs in others:
        gone = minus(gone, theirs)
    above = merge_values(without(live, gone, type_, types), manifest, type_, types, nulls_remove=False)
    return _with_version(above, manifest)


def apply_in_client(live: Object, manifest: Object, kind: ApiResource, types: Types) -> Object:
    """``kubectl apply`` without ``--server-side``: fields that were in the last applied manifest, as the annotation has
    it, and are omitted now are removed. Without the annotation all fields that manifests set count as last applied,
    except the number of replicas.
    """
    type_ = FieldType.parse(kind.type)
    last = _last(live)
    mine = fields_of(_body(_read(last)), type_, types) if last else {}
    if not mine:
        mine = fields_of_manifests(live, type_, types, excluded=("replicas",))
    gone = minus(mine, fields_of(_body(manifest), type_, types))
    values = merge_values(without(live, gone, type_, types), manifest, type_, types)
    strategy = section(manifest, "spec").get("strategy")
    if manifest.get("kind") == "Deployment" and isinstance(strategy, dict):
        # kubectl's patch says of this one which keys are to be left.
        whole = values["spec"]["strategy"]
        values["spec"] = {**values["spec"], "strategy": {key: whole[key] for key in strategy if key in whole}}
    return _with_version(values, manifest)


def tells_field_owners(live: Object, verb: str) -> bool:
    """Whether an object records which of its fields were applied, so that an omitted one is known to be removed."""
    metadata = section(live, "metadata")
    return bool(metadata.get("managedFields") if verb == "apply" else _last(live))


def with_all_kept(live: Object, manifest: Object, kind: ApiResource, types: Types) -> Object:
    """The object as it would be if nothing that the manifest omits had been applied before."""
    return _with_version(merge_values(live, manifest, FieldType.parse(kind.type), types), manifest)


def _last(live: Object) -> Any:
    return section(live, "metadata", "annotations").get(_LAST_APPLIED)


def _body(manifest: Object) -> Object:
    """What of a manifest can have owners."""
    metadata = section(manifest, "metadata")
    kept = {key: metadata[key] for key in ("labels", "annotations", "finalizers", "ownerReferences") if key in metadata}
    rest = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    return {**rest, "metadata": kept} if kept else rest


def _with_version(document: Any, manifest: Object) -> Object:
    return {**document, "apiVersion": part_of(manifest, "apiVersion"), "kind": part_of(manifest, "kind")}


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


def _format_manager(entry: Object) -> str:
    """How a message calls a manager."""
    text = f'"{entry.get("manager") or ""}"'
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    if entry.get("operation") == "Update":
        text += f" using {entry.get('apiVersion') or ''}"
    return text


def _conflict(conflicts: list[tuple[str, tuple[str, ...]]]) -> RequestRefusal:
    causes = tuple(StatusCause(format_path(path), f"conflict with {manager}") for manager, path in conflicts)
    if len(conflicts) == 1:
        message = f"Apply failed with 1 conflict: conflict with {conflicts[0][0]}: {format_path(conflicts[0][1])}"
    else:
        message = f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(_lines(conflicts))
    return RequestRefusal(409, "Conflict", message, causes)


def _lines(conflicts: list[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    for manager in sorted({other for other, _ in conflicts}):
        yield f"conflicts with {manager}:"
        yield from (f"- {format_path(path)}" for other, path in conflicts if other == manager)


_IMMUTABLE = ("uid", "deletionGracePeriodSeconds")
_SERVERS = (*_IMMUTABLE, "resourceVersion", "creationTimestamp", "deletionTimestamp")
# The first change of a store makes revision 2: an object is never of this one.
_NEVER = "1"
_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def apply_update(
    old: Object,
    manifest: Object,
    verb: str,
    kind: ApiResource | None,
    types: Types,
    manager: str,
    *,
    all_kept: bool = False,
) -> Object | RequestRefusal:
    """The object as the request would have it; neither argument is changed. With ``all_kept`` fields that an applied
    manifest omits stay.
    """
    before = section(old, "metadata")
    wanted, known = section(manifest, "metadata").get("resourceVersion"), before.get("resourceVersion")
    if wanted not in (None, "", "0", known) and (known is not None or wanted == _NEVER):
        message = f'Operation cannot be fulfilled on {resource_name(manifest)} "{name_of(manifest)}": {_MODIFIED}'
        return RequestRefusal(409, "Conflict", message)
    if kind is None or verb == "replace" or not comparable(manifest, old):
        proposed: Object | RequestRefusal = manifest
    elif all_kept:
        proposed = with_all_kept(old, manifest, kind, types)
    elif verb == "apply":
        proposed = apply_in_server(old, manifest, manager, kind, types)
    else:
        proposed = apply_in_client(old, manifest, kind, types)
    if isinstance(proposed, RequestRefusal):
        return proposed
    result: Object = deep_copy_json(proposed)
    metadata = within(result, "metadata")
    for key in _SERVERS:
        if before.get(key) is not None and not (key in _IMMUTABLE and metadata.get(key)):
            metadata[key] = before[key]
    if before.get("generation") is not None:
        metadata["generation"] = before["generation"]
    if "status" in old:
        result["status"] = deep_copy_json(old["status"])
    return result


def count_generation(new: Object, old: Object) -> bool:
    """Whether the spec has changed. Then the generation is incremented, if there is one."""
    changed = not same(new.get("spec"), old.get("spec"))
    before = section(old, "metadata").get("generation")
    if before is not None and changed:
        part_of(new, "metadata")["generation"] = before + 1
    return changed


def comparable(new: Object, old: Object) -> bool:
    """Whether two objects are of one version of the API, so that their fields mean the same."""
    return new.get("apiVersion") == old.get("apiVersion")
