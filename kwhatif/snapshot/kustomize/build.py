"""Builds a kustomization: its objects, those of what it includes, generated ones, and what its fields do to them.

Upstream: kustomize (api/internal/target/kusttarget.go, kusttarget_configplugin.go, api/krusty/kustomizer.go,
api/internal/builtins and api/internal/plugins/loader for transformers that are configured by documents of their own).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec

from kwhatif.api.objects import section
from kwhatif.errors import InputError
from kwhatif.snapshot.kustomize.default_fields import METADATA_LABELS, FieldConfiguration
from kwhatif.snapshot.kustomize.field_specs import FieldSpec
from kwhatif.snapshot.kustomize.generators import generate, hash_of
from kwhatif.snapshot.kustomize.name_references import follow_names
from kwhatif.snapshot.kustomize.patches import apply_patch
from kwhatif.snapshot.kustomize.replacements import apply_replacement, put_variables, variable_values
from kwhatif.snapshot.kustomize.resources import NoMatchError, Resource, Resources, text_of
from kwhatif.snapshot.kustomize.room import CopyRoom
from kwhatif.snapshot.kustomize.transformers import (
    put_around_names,
    set_image,
    set_namespace,
    set_replicas,
    set_texts,
)
from kwhatif.snapshot.read.objects import Origin

_LOCAL = "config.kubernetes.io/local-config"


class KustomizationSource(Protocol):
    """Where a build reads. Paths are of its own; all but ``fields_of`` and ``is_folder`` raise InputError."""

    def fields_of(self, folder: str) -> Mapping[str, Any]:
        """The fields of a directory's kustomization by their present names."""

    def origin_of(self, folder: str) -> Origin:
        """Where generated objects come from."""

    def path_of(self, folder: str, name: str) -> str:
        """What the kustomization of a directory names."""

    def is_folder(self, path: str) -> bool: ...

    def objects_of_charts(self, folder: str, namespace: str) -> Iterable[tuple[Origin, dict[str, Any]]]:
        """The objects of the charts of a directory's kustomization in a namespace, to be changed."""

    def is_incomplete(self, folder: str) -> bool:
        """Whether a directory's kustomization leads to something that is not here, and is built without."""

    def objects_in(self, path: str) -> Sequence[tuple[Origin, dict[str, Any]]]:
        """The objects of a file, to be changed."""

    def documents_in(self, path: str) -> Sequence[Any]:
        """The documents of a file as plain values."""

    def documents_of(self, text: str) -> Sequence[Any] | None:
        """Those of a text that stands in a kustomization; None for the name of a file."""

    def content_of(self, path: str) -> bytes:
        """A file as it is."""


def build(source: KustomizationSource, folder: str, overlay: Mapping[str, Any]) -> list[Resource]:
    """The objects that come of a directory's kustomization, with the fields of an ``overlay`` added to its own.

    Raises InputError for what cannot be done.
    """
    room = CopyRoom()
    target = _Target(source, folder, with_overlay(source.fields_of(folder), overlay), room)
    return _finish(target.accumulate(_Accumulated()), room, target.fields.get("sortOptions"))


def build_over(
    source: KustomizationSource, folder: str, objects: Iterable[Resource], overlay: Mapping[str, Any]
) -> list[Resource]:
    """The same of objects that come from elsewhere, such as a chart: a kustomization of them and an ``overlay``."""
    room = CopyRoom()
    return _finish(_Target(source, folder, overlay, room).accumulate(_Accumulated(Resources(objects))), room)


def _finish(accumulated: _Accumulated, room: CopyRoom, order: Any = None) -> list[Resource]:
    """The steps that are left once all objects are there: hashes, references, variables, ``sortOptions``."""
    resources = accumulated.resources
    for resource in resources:
        if resource.is_hashed:
            resource.remember()
            resource.set_name(f"{resource.name}-{hash_of(resource)}")
    resources.settle()
    follow_names(resources, accumulated.configuration)
    if accumulated.variables:
        values = variable_values(resources, accumulated.variables)
        put_variables(resources, values, accumulated.configuration.specs["varReference"], room)
    resources.keep(lambda resource: resource.texts("annotations").get(_LOCAL, "false") == "false")
    for resource in resources:
        if "annotations" in resource.metadata:
            # kustomize takes its own ones away in the end, and writes the others anew, if there are any.
            notes = _texts(resource.metadata.pop("annotations"), "annotations")
            resource.metadata.update({"annotations": notes} if notes else {})
    if not (isinstance(order, Mapping) and order.get("order") == "fifo"):
        resources.sort()
    return list(resources)


def with_overlay(fields: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a kustomization as they are once Flux or Argo CD has edited it: what is single is replaced, lists
    get longer, and images and replicas are those of the overlay where both name one.
    """
    done = dict(fields)
    for key, value in overlay.items():
        before = done.get(key)
        if key in ("images", "replicas") and isinstance(before, list):
            names = {entry.get("name") for entry in value}
            done[key] = [
                *(entry for entry in before if not isinstance(entry, dict) or entry.get("name") not in names),
                *value,
            ]
        elif isinstance(value, list):
            done[key] = [*(before or ()), *value]
        elif isinstance(value, dict):
            done[key] = {**(before or {}), **value}
        else:
            done[key] = value
    return done


class _Accumulated(msgspec.Struct):
    """What a kustomization has collected so far."""

    resources: Resources = msgspec.field(default_factory=Resources)
    configuration: FieldConfiguration = msgspec.field(default_factory=FieldConfiguration)
    variables: list[Mapping[str, Any]] = []

    def merge(self, other: _Accumulated) -> None:
        for resource in other.resources:
            self.resources.append(resource)
        self.configuration.merge(other.configuration)
        self.variables += other.variables


class _Target(msgspec.Struct, frozen=True):
    """One kustomization of a build."""

    source: KustomizationSource
    folder: str
    fields: Mapping[str, Any]
    room: CopyRoom
    inherited: str = ""
    """The namespace of the kustomization above: what charts get if their own sets none."""
    changed: Sequence[str] = ()
    """The directories of the kustomizations above whose objects a component changes."""

    @property
    def namespace(self) -> str:
        return str(self.fields.get("namespace") or self.inherited)

    def accumulate(self, accumulated: _Accumulated) -> _Accumulated:
        """Collect all of it in what a component's parent has collected, or in nothing."""
        for name in self._list("resources"):
            self._in_field("resources", partial(self._include, accumulated, name))
        for name in self._list("configurations"):
            for value in self.source.documents_in(self._path(name)):
                accumulated.configuration.add(_mapping(value, "configurations"))
        self._generate(accumulated.resources)
        for name in self._list("components"):
            path = self._path(name)
            self._below(path, [*self.changed, self.folder]).accumulate(accumulated)
        for key, work in self._transformations(accumulated.resources, accumulated.configuration):
            self._in_field(key, work)
        accumulated.variables += (_mapping(variable, "vars") for variable in self._list("vars"))
        return accumulated

    def _below(self, path: str, changed: Sequence[str] = ()) -> _Target:
        return _Target(self.source, path, self.source.fields_of(path), self.room, self.namespace, changed)

    def _in_field(self, key: str, work: Callable[[], None]) -> None:
        try:
            work()
        except InputError as error:
            if isinstance(error, NoMatchError) and any(map(self.source.is_incomplete, [self.folder, *self.changed])):
                # What it is for may be among what is not here.
                return
            if error.source:
                raise
            raise InputError(f"{key}: {error.problem}", source=self.source.origin_of(self.folder).file) from None

    def _include(self, accumulated: _Accumulated, name: str) -> None:
        path = self._path(name)
        if self.source.is_folder(path):
            below = self._below(path)
            accumulated.merge(below.accumulate(_Accumulated()))
            return
        for origin, value in self.source.objects_in(path):
            resource = Resource(value, origin)
            if not resource.name:
                raise InputError(f"{resource.kind} has no metadata.name", source=str(origin))
            accumulated.resources.append(resource)

    def _generate(self, resources: Resources) -> None:
        options = self.fields.get("generatorOptions")
        for key, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
            for entry in self._list(key):

                def work(kind: str = kind, entry: Any = entry) -> None:
                    of_all = options if isinstance(options, Mapping) else {}
                    origin = self.source.origin_of(self.folder)
                    resources.absorb(generate(kind, _mapping(entry, kind), of_all, self._content, origin))

                self._in_field(key, work)
        for origin, value in self.source.objects_of_charts(self.folder, self.namespace):
            self._in_field("helmCharts", partial(resources.absorb, Resource(value, origin)))

    def _transformations(
        self, resources: Resources, configuration: FieldConfiguration
    ) -> Iterator[tuple[str, Callable[[], None]]]:
        """What each field does, in kustomize's order."""
        fields, specs = self.fields, configuration.specs
        for entry in self._list("patchesStrategicMerge"):
            yield "patchesStrategicMerge", partial(self._merge, resources, entry)
        for entry in self._list("patches"):
            yield "patches", partial(self._patch, resources, entry)
        if fields.get("namespace"):
            yield "namespace", partial(set_namespace, resources, str(fields["namespace"]), specs["namespace"])
        if fields.get("namePrefix"):
            around = (str(fields["namePrefix"]), "", specs["namePrefix"])
            yield "namePrefix", partial(put_around_names, resources, *around)
        if fields.get("nameSuffix"):
            around = ("", str(fields["nameSuffix"]), specs["nameSuffix"])
            yield "nameSuffix", partial(put_around_names, resources, *around)
        for entry in self._list("labels"):
            yield "labels", partial(_set_labels, resources, entry, configuration)
        for key in ("commonLabels", "commonAnnotations"):
            if texts := _texts(fields.get(key), key):
                yield key, partial(set_texts, resources, texts, specs[key])
        for entry in self._list("patchesJson6902"):
            yield "patchesJson6902", partial(self._patch, resources, entry, remembers=False)
        for entry in self._list("replicas"):
            yield "replicas", partial(set_replicas, resources, _mapping(entry, "replicas"), specs["replicas"])
        for entry in self._list("images"):
            yield "images", partial(set_image, resources, _mapping(entry, "images"), specs["images"])
        for entry in self._list("replacements"):
            yield "replacements", partial(self._replace, resources, entry)
        for entry in self._list("transformers"):
            yield "transformers", partial(self._transform, resources, entry)

    def _merge(self, resources: Resources, text: str) -> None:
        values = self.source.documents_of(text)
        if values is None:
            values = self.source.documents_in(self._path(text))
        apply_patch(resources, values, {}, self.room)

    def _patch(self, resources: Resources, value: Any, *, remembers: bool = True) -> None:
        entry = _mapping(value, "patches")
        if bool(entry.get("path")) == bool(entry.get("patch")):
            raise InputError("expected one of patch and path")
        if entry.get("path"):
            values: Sequence[Any] | None = self.source.documents_in(self._path(str(entry["path"])))
        else:
            values = self.source.documents_of(str(entry["patch"]))
        if values is None:
            raise InputError("expected a patch, found a text")
        apply_patch(resources, values, entry, self.room, remembers=remembers)

    def _transform(self, resources: Resources, text: str) -> None:
        values = self.source.documents_of(text)
        for value in self.source.documents_in(self._path(text)) if values is None else values:
            transform(resources, value, self._patch, self.room)

    def _replace(self, resources: Resources, value: Any) -> None:
        entry = _mapping(value, "replacements")
        entries: list[Any] = [entry]
        if entry.get("path"):
            documents = self.source.documents_in(self._path(str(entry["path"])))
            entries = [
                one for document in documents for one in (document if isinstance(document, list) else [document])
            ]
        for one in entries:
            apply_replacement(resources, _mapping(one, "replacements"), self.room)

    def _list(self, key: str) -> list[Any]:
        entries = self.fields.get(key)
        return entries if isinstance(entries, list) else []

    def _path(self, name: Any) -> str:
        if not isinstance(name, str):
            raise InputError(f"expected a name, found {name!a}")
        return self.source.path_of(self.folder, name)

    def _content(self, name: str) -> bytes:
        return self.source.content_of(self._path(name))


def _set_labels(resources: Resources, value: Any, configuration: FieldConfiguration) -> None:
    entry, specs = _mapping(value, "labels"), configuration.specs
    chosen = [*map(FieldSpec.parse, entry.get("fields") or ()), *specs["labels"]]
    if entry.get("includeSelectors"):
        chosen += specs["commonLabels"]
    else:
        chosen += [*(specs["templateLabels"] if entry.get("includeTemplates") else ()), METADATA_LABELS]
    set_texts(resources, _texts(entry.get("pairs"), "pairs"), list(dict.fromkeys(chosen)))


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"{what}: expected a mapping, found {value!a:.40}")
    return value


def _texts(value: Any, what: str) -> dict[str, str]:
    """Labels and annotations; all that is written there becomes a text."""
    if value is None:
        return {}
    mapping = _mapping(value, what)
    return {key: text_of(text) for key, text in mapping.items()}


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
            own = tuple(spec for spec in specs if spec.path not in ("metadata/namespace", "metadata/name"))
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
            for replacement in document.get("replacements") or ():
                apply_replacement(resources, replacement if isinstance(replacement, Mapping) else {}, room)
        case other:
            raise InputError(f"the transformer {other} is not known here")
