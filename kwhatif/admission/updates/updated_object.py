"""What a request makes of an object that is there, before it is completed and judged.

Upstream: apiserver/pkg/registry/generic/registry/store.go (Update) and apiserver/pkg/endpoints/handlers/patch.go.
"""

from __future__ import annotations

from kwhatif.admission.answer import Object, Refused
from kwhatif.admission.request import copied, within
from kwhatif.admission.resources import resource_name
from kwhatif.admission.updates.applied_manifest import apply_in_client, apply_in_server, with_all_kept
from kwhatif.admission.updates.normal import same
from kwhatif.admission.world import name_of
from kwhatif.api.field_types import Served, Types

_SERVERS = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
# The first change of a store makes revision 2: an object is never of this one.
_NEVER = "1"
_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def changed(
    old: Object,
    manifest: Object,
    verb: str,
    kind: Served | None,
    types: Types,
    manager: str,
    *,
    all_kept: bool = False,
) -> Object | Refused:
    """The object as the request would have it; neither of those given is changed. With ``all_kept`` what an applied
    manifest leaves out stays.
    """
    before = old.get("metadata") or {}
    wanted, known = (manifest.get("metadata") or {}).get("resourceVersion"), before.get("resourceVersion")
    if wanted not in (None, "", "0", known) and (known is not None or wanted == _NEVER):
        message = f'Operation cannot be fulfilled on {resource_name(manifest)} "{name_of(manifest)}": {_MODIFIED}'
        return Refused(409, "Conflict", message)
    if kind is None or verb == "replace" or not comparable(manifest, old):
        proposed: Object | Refused = manifest
    elif all_kept:
        proposed = with_all_kept(old, manifest, kind, types)
    elif verb == "apply":
        proposed = apply_in_server(old, manifest, manager, kind, types)
    else:
        proposed = apply_in_client(old, manifest, kind, types)
    if isinstance(proposed, Refused):
        return proposed
    found: Object = copied(proposed)
    metadata = within(found, "metadata")
    for key in _SERVERS:
        if before.get(key) is not None:
            metadata[key] = before[key]
    if before.get("generation") is not None:
        metadata["generation"] = before["generation"]
    if "status" in old:
        found["status"] = copied(old["status"])
    return found


def count_generation(new: Object, old: Object) -> None:
    """One more generation, if what is wanted of the object has changed."""
    before = (old.get("metadata") or {}).get("generation")
    if before is not None and not same(new.get("spec"), old.get("spec")):
        new["metadata"]["generation"] = before + 1


def comparable(new: Object, old: Object) -> bool:
    """Whether two objects are of one version of the API, so that their fields mean the same."""
    return new.get("apiVersion") == old.get("apiVersion")
