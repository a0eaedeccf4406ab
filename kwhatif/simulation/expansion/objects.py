"""A manifest's object with its namespace, and its name in answers."""

from __future__ import annotations

from kwhatif.admission.object_store import name_of, namespace_of
from kwhatif.admission.response import Object
from kwhatif.api.objects import part_of, section
from kwhatif.snapshot.load import Manifest


def display_name_of(obj: Object) -> str:
    """``Deployment shop/web``."""
    name = name_of(obj) or f"{section(obj, 'metadata').get('generateName', '')}..."
    return (
        f"{part_of(obj, 'kind')} {namespace_of(obj)}/{name}" if namespace_of(obj) else f"{part_of(obj, 'kind')} {name}"
    )


def complete_object(manifest: Manifest) -> Object:
    """The manifest's object with its namespace."""
    metadata = {**section(manifest.raw, "metadata")}
    if manifest.obj.namespace:
        metadata["namespace"] = manifest.obj.namespace
    return {**manifest.raw, "metadata": metadata}
