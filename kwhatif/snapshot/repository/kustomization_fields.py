"""The fields of a kustomization, read as kustomize reads them: keys in any case, and no unknown ones.

What a kustomization refers to stands in these fields alone. A document is handed to kustomize with names of ours in
place of its references, so nothing is reached by one that was overlooked. Upstream: kustomize
(api/types/kustomization.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kwhatif.errors import InputError
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import decode, read_documents

TREES = ("resources", "components")
"""Fields that name files and directories."""

ADDS_MORE = ("helmChartInflationGenerator", "crds")
"""Fields that add objects, or references of custom ones, by what is not here; the others come out without as well."""

_CHANGES_NOTHING = ("helmGlobals", "validators")

_INPUTS = ("crds", "configurations")
_WITH_PATHS = {
    "patches": ("path", "patch", "target", "options"),
    "patchesJson6902": ("path", "patch", "target", "options"),
    "replacements": ("path", "source", "targets"),
}
_OF_GENERATORS = ("name", "namespace", "behavior", "type", "options", "literals", "files", "envs", "env")
_GENERATORS = {"configMapGenerator": _OF_GENERATORS, "secretGenerator": _OF_GENERATORS}
_OF_CHARTS = (
    *("name", "version", "repo", "releaseName", "namespace", "valuesFile", "additionalValuesFiles", "valuesInline"),
    *("valuesMerge", "includeCRDs", "skipHooks", "apiVersions", "kubeVersion", "nameTemplate", "skipTests", "debug"),
    "devel",
)
_CHARTS = {"helmCharts": _OF_CHARTS}
_OTHERS = (
    *("apiVersion", "kind", "metadata", "namePrefix", "nameSuffix", "namespace", "commonLabels", "labels"),
    *("commonAnnotations", "images", "replicas", "vars", "sortOptions", "generatorOptions", "inventory"),
)
_FORMER = {"bases": "resources", "imageTags": "images"}
_SAID_OF_ORIGINS = ("buildMetadata",)
"""Annotations on where an object comes from: of names that are not those of the repository."""

_VERSIONS = {"Kustomization": "kustomize.config.k8s.io/v1beta1", "Component": "kustomize.config.k8s.io/v1alpha1"}
_PATCHES, _SCHEMA = "patchesStrategicMerge", "openapi"
_LISTS = (*TREES, "transformers", "generators", *_INPUTS, *_WITH_PATHS, *_GENERATORS, *_CHARTS, *_FORMER, _PATCHES)
_KNOWN = (
    *TREES,
    "transformers",
    "generators",
    *_CHARTS,
    *ADDS_MORE,
    *_CHANGES_NOTHING,
    *_INPUTS,
    *_WITH_PATHS,
    *_GENERATORS,
    *_OTHERS,
    *_FORMER,
    *_SAID_OF_ORIGINS,
)


class ReferenceReader(Protocol):
    """What becomes of a kustomization's references; each returns what stands in their place."""

    def tree(self, key: str, name: str) -> str:
        """A file with objects, or a directory."""

    def patch(self, name: str) -> str:
        """A file with what is laid over objects."""

    def inline(self, text: str) -> str:
        """A patch in the place of a file's name."""

    def input(self, name: str) -> str:
        """Any other file."""


def read_fields(text: Text, problems: list[str]) -> dict[str, Any]:
    """The fields of a kustomization's file, and what is wrong with them. Raises InputError for what is no mapping."""
    value: dict[str, Any] = {}
    for document in read_documents(text):
        value |= decode(document.value, dict[str, Any])
    return canonical_fields(value, problems)


def canonical_fields(value: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """The fields by their own names, the former ones in those that took their place.

    What kustomize does not know, or could read in two ways, is left out and is a problem.
    """
    fields = _rename(value, (*_KNOWN, _PATCHES, _SCHEMA), problems)
    kind = fields.get("kind") or "Kustomization"
    if kind not in _VERSIONS:
        problems.append("kind: expected Kustomization or Component")
    elif fields.get("apiVersion") not in (None, "", _VERSIONS[kind]):
        problems.append(f"apiVersion: expected {_VERSIONS[kind]} for a {kind}")
    for key in _LISTS:
        if fields.get(key) is not None and not isinstance(fields[key], list):
            problems.append(f"{key}: expected a list")
            del fields[key]
    for former, key in _FORMER.items():
        if former in fields:
            fields[key] = [*(fields.get(key) or ()), *(fields.pop(former) or ())]
    if any(isinstance(patch, str) for patch in fields.get("patches") or ()):
        # What was called so once.
        fields[_PATCHES] = [*(fields.get(_PATCHES) or ()), *fields.pop("patches")]
    for key, known in (_WITH_PATHS | _GENERATORS | _CHARTS).items():
        if fields.get(key):
            entries = [field for field in fields[key] if isinstance(field, dict)]
            if len(entries) < len(fields[key]):
                problems.append(f"{key}: expected mappings")
            fields[key] = [_rename(entry, known, problems) for entry in entries]
    for key in _SAID_OF_ORIGINS:
        fields.pop(key, None)
    return fields


def with_references(fields: Mapping[str, Any], reader: ReferenceReader, problems: list[str]) -> dict[str, Any]:
    """The fields with what a reader puts in place of each reference; what is no reference is a problem."""
    done = dict(fields)

    def put(key: str, change: Callable[[Any], Any]) -> None:
        if fields.get(key):
            done[key] = [_change(field, key, change, problems) for field in fields[key]]

    put("resources", lambda text: reader.tree("resources", _text(text)))
    put("components", lambda text: reader.tree("components", _text(text)))
    put("transformers", lambda text: text if "\n" in _text(text) else reader.patch(text))
    for key in _INPUTS:
        put(key, lambda text: reader.patch(_text(text)))
    put(_PATCHES, lambda text: reader.inline(text) if is_inline(_text(text)) else reader.patch(text))
    for key in _WITH_PATHS:
        put(key, lambda entry: {**entry, **({"path": reader.patch(_text(entry["path"]))} if entry.get("path") else {})})
    for key in _GENERATORS:
        put(key, lambda entry: _with_inputs(entry, reader.input))
    if fields.get(_SCHEMA):
        done[_SCHEMA] = _change(fields[_SCHEMA], _SCHEMA, lambda schema: _with_schema(schema, reader.input), problems)
    return done


def _change(value: Any, key: str, change: Callable[[Any], Any], problems: list[str]) -> Any:
    try:
        return change(value)
    except InputError as error:
        problems.append(f"{key}: {error.problem}")
        return value


def is_inline(text: str) -> bool:
    """Whether a patch stands in the kustomization itself: it is an object, and no name of a file."""
    if "\n" not in text and "{" not in text:
        return False
    try:
        values = [
            decode(read_document.value, dict[str, Any])
            for read_document in read_documents(Text("patch", text.encode()))
        ]
    except (InputError, UnicodeEncodeError):
        return False
    return bool(values) and all(isinstance(value.get("kind"), str) for value in values)


def _with_schema(value: Any, change: Callable[[str], str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("expected a mapping")
    return {**value, **({"path": change(_text(value["path"]))} if value.get("path") else {})}


def _with_inputs(entry: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    done = dict(entry)
    if entry.get("files"):
        done["files"] = [_with_key(_text(file), change) for file in _list_of(entry["files"])]
    # Of the two only the first is a field of today's.
    envs = [*_list_of(entry.get("envs") or []), *filter(None, [done.pop("env", None)])]
    if envs:
        done["envs"] = [change(_text(env)) for env in envs]
    return done


def _with_key(text: str, change: Callable[[str], str]) -> str:
    """``key=path``, where the key of a path alone is the file's name."""
    key, equals, path = text.partition("=")
    if not equals:
        key, path = text.rpartition("/")[2], text
    if not key or not path or "=" in path:
        raise InputError(f"expected a path or key=path, found {text!a}")
    return f"{key}={change(path)}"


def _rename(value: Mapping[str, Any], fields_of_kind: tuple[str, ...], problems: list[str]) -> dict[str, Any]:
    names = {name.casefold(): name for name in fields_of_kind}
    fields: dict[str, Any] = {}
    for key, part in value.items():
        name = names.get(key.casefold())
        if name is None:
            problems.append(f"kustomize knows no field {key!a}")
        elif name in fields:
            problems.append(f"{name} stands there twice")
            if isinstance(part, list) and isinstance(fields[name], list):
                fields[name] = [*fields[name], *part]
        else:
            fields[name] = part
    return fields


def _list_of(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InputError("expected a list")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InputError("expected a text")
    return value
