"""Kustomizations and HelmReleases of Flux: the directories of this repository that they deploy.

Upstream: fluxcd/kustomize-controller (api/v1/kustomization_types.go), fluxcd/helm-controller
(api/v2/helmrelease_types.go), fluxcd/pkg/kustomize (kustomize_generator.go, kustomize_varsub.go).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kwhatif import bounds
from kwhatif.api.objects import list_at, section, text_at
from kwhatif.snapshot.kustomize.resources import text_of
from kwhatif.snapshot.read.objects import Item, plain_of
from kwhatif.snapshot.repository.chart_library import ChartLibrary, ChartReference
from kwhatif.snapshot.repository.charts import ChartRelease, has_chart, parse_values, values_at
from kwhatif.snapshot.repository.config_maps import ConfigMapIndex, Source, nearest_of
from kwhatif.snapshot.repository.deployments import (
    NO_VALUES,
    NOT_HERE,
    Deployed,
    Deployment,
    NotFollowed,
    absent_chart,
    existing_path,
    owner_of,
    repository_of,
)
from kwhatif.snapshot.repository.file_trees import FileTree
from kwhatif.snapshot.repository.substitutions import EncryptedValue, Variables

KUSTOMIZE_GROUP = "kustomize.toolkit.fluxcd.io"
HELM_GROUP = "helm.toolkit.fluxcd.io"
_OF_BOOTSTRAP = "flux-system"
"""How ``flux bootstrap`` and FluxInstances call the source that they make of the repository they sync."""

_OVERLAY = ("namePrefix", "nameSuffix", "images", "patches", "components", "patchesJson6902")
_ARTIFACTS = ("Bucket", "OCIRepository")
_SET_WORDS = {"true": True, "false": False, "null": None}
_SET_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class FluxSources:
    """Where Flux finds what it deploys: ``known`` sources by kind and name, and the charts that somebody pulled.

    Other sources may stand elsewhere in the repository.
    """

    tree: FileTree
    maps: ConfigMapIndex
    known: Mapping[tuple[str, str], Sequence[Source]]
    library: ChartLibrary

    def spec_of(self, reference: Mapping[str, Any], item: Item) -> Mapping[str, Any]:
        """What a source that an object names says; nothing if it is not known."""
        kind, name = text_at(reference, "kind"), text_at(reference, "name")
        sources = self.known.get((kind, name), ())
        if not sources and not (name == _OF_BOOTSTRAP and self.tree.url):
            sources = self.maps.sources_of(kind, name)
        namespace = text_at(reference, "namespace") or text_at(section(plain_of(item), "metadata"), "namespace")
        nearest = nearest_of(sources, namespace, self.tree.path_named(item.origin.file))
        return nearest[-1].spec if nearest else {}


def deployments_of_flux(item: Item, value: Mapping[str, Any], sources: FluxSources) -> Deployed:
    """What a Kustomization or a HelmRelease deploys of a repository, or of pulled charts."""
    if item.api_version.startswith(f"{KUSTOMIZE_GROUP}/"):
        return [_of_kustomization(item, value, sources)]
    return [_of_release(item, value, sources)]


@dataclass(frozen=True)
class _Standing:
    """Whether files of a source are those of this repository, and what that is assumed of, if it is not known."""

    is_here: bool
    assumed: str = ""


def _standing_of(reference: Mapping[str, Any], item: Item, sources: FluxSources) -> _Standing:
    """What is known of a source, of which Flux takes the files whatever repository this one is.

    Upstream: kustomize-controller (internal/controller/kustomization_controller.go, getSource).
    """
    kind, name = text_at(reference, "kind"), text_at(reference, "name")
    if not reference:
        # Whoever leaves it to a patch of the Kustomization above means the source that this one has.
        return _Standing(True)
    if kind not in ("GitRepository", *_ARTIFACTS):
        return _Standing(False)
    spec = sources.spec_of(reference, item)
    url = text_at(spec, "url") or text_at(spec, "bucketName")
    bootstrap = sources.spec_of({"kind": "GitRepository", "name": _OF_BOOTSTRAP}, item)
    own = repository_of(sources.tree.url or text_at(bootstrap, "url"))
    if not url or "${" in url.rpartition("/")[2] or not own:
        # What bootstrap makes of the repository that it writes to need be in no file of it.
        return _Standing(True, "" if name == _OF_BOOTSTRAP else f"{kind} {name}")
    if kind == "GitRepository":
        return _Standing(repository_of(url) == own)
    # They hold what somebody pushed, mostly below the name of the repository that it came from.
    return _Standing(own in re.split(r"[/:@.]", url.lower()))


def _of_kustomization(item: Item, value: Mapping[str, Any], sources: FluxSources) -> Deployment | NotFollowed:
    spec = section(value, "spec")
    path, source = text_at(spec, "path") or ".", section(spec, "sourceRef")
    is_whole = path.strip("./") == "" and text_at(source, "kind") in _ARTIFACTS
    path = existing_path(sources.tree, path)
    standing = _standing_of(source, item, sources) if path and not is_whole else _Standing(False)
    if not standing.is_here:
        return NOT_HERE
    overlay = {key: spec[key] for key in _OVERLAY if spec.get(key)}
    if spec.get("patchesStrategicMerge"):
        overlay["patchesStrategicMerge"] = [_patch_text(patch) for patch in list_at(spec, "patchesStrategicMerge")]
    common = section(spec, "commonMetadata")
    if common.get("labels"):
        overlay["labels"] = [{"pairs": common["labels"], "includeTemplates": False}]
    if common.get("annotations"):
        overlay["commonAnnotations"] = common["annotations"]
    namespace = text_at(spec, "targetNamespace")
    return Deployment(
        owner_of(item, value),
        item.origin,
        path,
        namespace=namespace,
        replaces_namespaces=bool(namespace),
        variables=_variables(item, value, sources.maps),
        overlay=overlay | ({"namespace": namespace} if namespace else {}),
        lost=_suspension(spec),
        restricted=False,
        kept_because="" if spec.get("prune", True) else "prune: false",
        assumed=standing.assumed,
    )


def _suspension(spec: Mapping[str, Any]) -> list[str]:
    """What is asked for where Flux does not look at an object for now: what stays as it was is not known."""
    return ["suspend: true"] if spec.get("suspend") is True else []


def _variables(item: Item, value: Mapping[str, Any], maps: ConfigMapIndex) -> Variables:
    """The variables of postBuild, of which those that stand there themselves count most.

    Without any postBuild nothing is substituted, unless the Kustomization above adds one.
    """
    build = section(value, "spec", "postBuild")
    namespace = text_at(section(value, "metadata"), "namespace")
    variables: dict[str, str] = {}
    encrypted: dict[str, EncryptedValue] = {}
    are_complete = bool(build)
    for reference in list_at(build, "substituteFrom"):
        if isinstance(reference, dict):
            held = maps.find(text_at(reference, "kind"), text_at(reference, "name"), namespace, item.origin.file)
            are_complete &= held is not None
            if held is None:
                continue
            # The later of two sources has the last word.
            later: dict[str, Any] = dict(held.data if held.encrypted is None else held.encrypted)
            variables = {name: text for name, text in variables.items() if name not in later}
            encrypted = {name: value for name, value in encrypted.items() if name not in later}
            (variables if held.encrypted is None else encrypted).update(later)
    texts = {name: text_of(text) for name, text in section(build, "substitute").items()}
    values = {name: text.replace("\n", "") for name, text in (variables | texts).items()}
    if text_at(build, "substituteStrategy") == "Always":
        # It substitutes even if there is nothing to substitute by.
        values.setdefault("", "")
    unread = {name: value for name, value in encrypted.items() if name not in texts}
    return Variables(values, True, are_complete, unread)


def _of_release(item: Item, value: Mapping[str, Any], sources: FluxSources) -> Deployment | NotFollowed:
    spec, tree = section(value, "spec"), sources.tree
    chart = section(spec, "chart", "spec")
    reference = section(spec, "chartRef")
    if text_at(reference, "kind") == "HelmChart":
        chart = dict(sources.spec_of(reference, item))
    path, pulled = existing_path(tree, text_at(chart, "chart")), None
    is_chart = bool(path) and has_chart(tree, path)
    standing = _standing_of(section(chart, "sourceRef"), item, sources) if is_chart else _Standing(False)
    if not standing.is_here:
        wanted = _chart_elsewhere(chart, reference, item, sources)
        if wanted is None:
            return NOT_HERE
        pulled = sources.library.find(wanted)
        if pulled is None:
            return absent_chart(wanted, sources.library)
        path = tree.at_top(os.curdir)
    metadata = section(value, "metadata")
    target, namespace = text_at(spec, "targetNamespace"), text_at(metadata, "namespace")
    name = text_at(spec, "releaseName") or "-".join(filter(None, (target, text_at(metadata, "name"))))
    given: list[Mapping[str, Any]] = []
    files = [str(file) for file in list_at(chart, "valuesFiles")]
    if pulled is not None:
        given += [parse_values(pulled.files[file].decode("utf-8", "replace")) for file in files if file in pulled.files]
        missing = [file for file in files if file not in pulled.files]
        files = []
    else:
        files = [tree.path_in(path, file) for file in files]
        missing = [file for file in files if not tree.is_file(file)]
    if missing and not chart.get("ignoreMissingValuesFiles"):
        return NO_VALUES
    for source in list_at(spec, "valuesFrom"):
        values = _values_from(source, namespace, item, sources.maps)
        if isinstance(values, NotFollowed):
            return values
        given.append(values)
    return Deployment(
        owner_of(item, value),
        item.origin,
        path,
        namespace=target or namespace,
        release=ChartRelease(
            name,
            target or namespace,
            [file for file in files if file not in missing],
            [*given, *filter(None, [section(spec, "values")])],
        ),
        overlay=_post_rendering(spec),
        lost=_suspension(spec),
        pulled=pulled,
        assumed=standing.assumed,
    )


def _chart_elsewhere(
    chart: Mapping[str, Any], reference: Mapping[str, Any], item: Item, sources: FluxSources
) -> ChartReference | None:
    """The chart of a repository of charts, or of a registry; None for one of a directory."""
    if text_at(reference, "kind") == "OCIRepository":
        source = sources.spec_of(reference, item)
        url, tag = text_at(source, "url"), section(source, "ref")
        version = text_at(tag, "tag") or text_at(tag, "semver")
        return ChartReference(url.rpartition("/")[2] or text_at(reference, "name"), version, url)
    name, source_ref = text_at(chart, "chart"), section(chart, "sourceRef")
    if not name or text_at(source_ref, "kind") != "HelmRepository":
        return None
    url = text_at(sources.spec_of(source_ref, item), "url")
    if url.startswith("oci://"):
        url = f"{url.rstrip('/')}/{name}"
    return ChartReference(name, text_at(chart, "version"), url)


def _post_rendering(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a kustomization that is laid over the objects of a chart."""
    rendering: dict[str, Any] = {}
    for renderer in list_at(spec, "postRenderers"):
        fields = section(renderer, "kustomize")
        for key in ("patches", "images", "patchesJson6902"):
            rendering[key] = [*rendering.get(key, []), *list_at(fields, key)]
        merges = [_patch_text(one) for one in list_at(fields, "patchesStrategicMerge")]
        rendering["patchesStrategicMerge"] = [*rendering.get("patchesStrategicMerge", []), *merges]
    return {key: value for key, value in rendering.items() if value}


def _patch_text(value: Any) -> Any:
    """A patch that is an object, as the text that kustomizations have."""
    return msgspec.json.encode(value).decode() if isinstance(value, dict) else value


def _values_from(source: Any, namespace: str, item: Item, maps: ConfigMapIndex) -> Mapping[str, Any] | NotFollowed:
    reference = source if isinstance(source, dict) else {}
    held = maps.find(text_at(reference, "kind"), text_at(reference, "name"), namespace, item.origin.file)
    key = text_at(reference, "valuesKey") or "values.yaml"
    if held is not None and held.encrypted is not None and key in held.encrypted:
        return NotFollowed("values that SOPS has encrypted", encrypted=[held.encrypted[key]])
    text = None if held is None else held.data.get(key)
    if text is None:
        return {} if reference.get("optional") else NotFollowed("values that are not in this repository")
    if path := text_at(reference, "targetPath"):
        if path.count(".") > bounds.DEPTH:
            return NotFollowed("values at a path without end")
        return _at_path(path, text)
    return parse_values(text)


def _at_path(path: str, text: str) -> dict[str, Any]:
    """A value below some keys, as Helm reads what ``--set`` says; of a quoted one the text.

    Upstream: fluxcd/pkg/chartutil (values.go), helm's pkg/strvals.
    """
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    value: Any = text[1:-1] if is_quoted else _SET_WORDS.get(text, text)
    if not is_quoted and _SET_NUMBER.fullmatch(text):
        value = int(text)
    return values_at(path, value)
