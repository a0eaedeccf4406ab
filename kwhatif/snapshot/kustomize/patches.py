"""Patches of a kustomization: which objects each is laid over, and how.

Upstream: kustomize (api/internal/builtins/PatchTransformer.go, PatchStrategicMergeTransformer.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.json_patches import apply_json_patch, is_json_patch
from kwhatif.snapshot.kustomize.resources import Resource, Resources
from kwhatif.snapshot.kustomize.room import CopyRoom
from kwhatif.snapshot.kustomize.strategic_merge import GONE, merge_objects
from kwhatif.snapshot.kustomize.transformers import Selector
from kwhatif.snapshot.read.objects import Origin


def apply_patch(
    resources: Resources, values: Sequence[Any], entry: Mapping[str, Any], room: CopyRoom, *, remembers: bool = True
) -> None:
    """Apply the documents of a patch to the objects that its ``target`` selects, or to those of its name.

    A JSON patch ``remembers`` by what they went, unless it is one of ``patchesJson6902``. Raises InputError if there is
    no such object, or if it cannot be done.
    """
    target = Selector(entry["target"]) if entry.get("target") is not None else None
    if len(values) == 1 and is_json_patch(values[0]):
        if target is None:
            raise InputError("a JSON patch needs a target")
        for resource in [one for one in resources if target.selects(one)]:
            if remembers:
                resource.remember()
            if resource.former or resource.is_hashed or resource.behavior:
                # kustomize keeps such things in annotations, so that a patch finds some.
                resource.metadata["annotations"] = resource.texts("annotations")
            apply_json_patch(resource.value, values[0], room)
        resources.settle()
        return
    options = entry.get("options")
    allowed = options if isinstance(options, Mapping) else {}
    if target is not None and len(values) > 1:
        raise InputError("several patches in one entry have no common target")
    for value in values:
        if not isinstance(value, dict):
            raise InputError("expected an object or a list of operations as a patch")
        _lay_over(resources, value, target, allowed, room)


def _lay_over(
    resources: Resources, patch: dict[str, Any], target: Selector | None, allowed: Mapping[str, Any], room: CopyRoom
) -> None:
    if target is not None:
        chosen = [resource for resource in resources if target.selects(resource)]
    else:
        own = Resource(patch, Origin(""))
        if not own.kind or not own.name:
            raise InputError("a patch without a target needs kind and metadata.name")
        chosen = [resources.one(own.identity)]
    gone: set[Resource] = set()
    for resource in chosen:
        if not _patch_one(resource, patch, allowed, room):
            gone.add(resource)
    if gone:
        resources.keep(lambda resource: resource not in gone)
    else:
        resources.settle()


def _patch_one(resource: Resource, patch: dict[str, Any], allowed: Mapping[str, Any], room: CopyRoom) -> bool:
    """Lay a patch over an object, whose names stay unless they may change; False if the patch deletes it."""
    name, namespace, kind = resource.name, resource.namespace, resource.kind
    api_version = resource.value.get("apiVersion")
    may_name, may_kind = bool(allowed.get("allowNameChange")), bool(allowed.get("allowKindChange"))
    if may_name or may_kind:
        resource.remember()
    done = merge_objects(resource.value, patch, room)
    if done is GONE:
        return False
    resource.value["apiVersion"] = patch.get("apiVersion", api_version) if may_kind else api_version
    if not may_kind:
        resource.value["kind"] = kind
    if not may_name:
        resource.set_name(name)
    if namespace:
        resource.metadata["namespace"] = namespace
    else:
        resource.metadata.pop("namespace", None)
    return True
