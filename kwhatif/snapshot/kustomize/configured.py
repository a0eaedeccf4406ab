"""Transformers that are configured by documents of their own, as far as kustomize has them built in.

Upstream: kustomize (api/internal/builtins, api/internal/plugins/loader).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kwhatif.api.objects import section
from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.field_specs import FieldSpec
from kwhatif.snapshot.kustomize.replacements import apply_replacement
from kwhatif.snapshot.kustomize.resources import Resources
from kwhatif.snapshot.kustomize.room import CopyRoom
from kwhatif.snapshot.kustomize.transformers import (
    put_around_names,
    set_image,
    set_namespace,
    set_replicas,
    set_texts,
)

Patch = Callable[[Resources, Mapping[str, Any]], None]


def transform(resources: Resources, document: Any, patch: Patch, room: CopyRoom) -> None:
    """Do what a document says; ``patch`` applies an entry of ``patches``. Raises InputError for a plugin."""
    if not isinstance(document, Mapping) or document.get("apiVersion") != "builtin":
        raise InputError("a transformer that is a plugin is not run")
    specs = tuple(map(FieldSpec.parse, document.get("fieldSpecs") or ()))
    match document.get("kind"):
        case "NamespaceTransformer":
            metadata = document.get("metadata")
            namespace = str(metadata.get("namespace") or "") if isinstance(metadata, Mapping) else ""
            own = tuple(each for each in specs if each.path not in ("metadata/namespace", "metadata/name"))
            if namespace:
                set_namespace(resources, namespace, own, only_unset=bool(document.get("unsetOnly")))
        case "PrefixTransformer" | "SuffixTransformer" | "PrefixSuffixTransformer":
            prefix, suffix = (str(document.get(key) or "") for key in ("prefix", "suffix"))
            put_around_names(resources, prefix, suffix, specs)
        case "LabelTransformer":
            set_texts(resources, section(document, "labels"), specs)
        case "AnnotationsTransformer":
            set_texts(resources, section(document, "annotations"), specs)
        case "ImageTagTransformer":
            set_image(resources, section(document, "imageTag"), specs)
        case "ReplicaCountTransformer":
            set_replicas(resources, section(document, "replica"), specs)
        case "PatchTransformer":
            patch(resources, {key: document[key] for key in ("patch", "path", "target", "options") if key in document})
        case "ReplacementTransformer":
            for each in document.get("replacements") or ():
                apply_replacement(resources, each if isinstance(each, Mapping) else {}, room)
        case other:
            raise InputError(f"the transformer {other} is not known here")
