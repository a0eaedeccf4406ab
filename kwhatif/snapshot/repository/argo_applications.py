"""Applications of Argo CD: the directories of this repository that they deploy.

Upstream: argo-cd (pkg/apis/application/v1alpha1/types.go, reposerver/repository/repository.go).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from kwhatif.api.objects import list_at, section, text_at
from kwhatif.snapshot.read.objects import Item
from kwhatif.snapshot.repository.application_sets import ApplicationSets, NotGeneratedError
from kwhatif.snapshot.repository.chart_library import ChartLibrary, ChartReference, PulledChart
from kwhatif.snapshot.repository.charts import ChartRelease, has_chart, parse_values
from kwhatif.snapshot.repository.deployments import (
    NO_VALUES,
    NOT_HERE,
    Deployed,
    Deployment,
    NotFollowed,
    absent_chart,
    existing_path,
    is_here,
    owner_of,
)
from kwhatif.snapshot.repository.file_trees import FileTree

GROUP = "argoproj.io"
KINDS = ("Application", "ApplicationSet")

_PLUGIN = NotFollowed("made by plugins, which are not run")
_UNRESTRICTED = re.compile(
    rb"kustomize\.?[bB]uildOptions\b[^\n]*--load[-_]restrictor[= ]+(?:LoadRestrictionsNone|none)\b"
)
_IMAGE = re.compile(r"(?:(?P<name>[^=]+)=)?(?P<new>[^@=]*?)(?::(?P<tag>[^:/@]+))?(?:@(?P<digest>.+))?")


@dataclass(frozen=True)
class ArgoSources:
    """Where Argo CD finds what it deploys: a repository, and the charts that somebody pulled.

    Its kustomizations are ``restricted`` to files of their directories, unless its build options say otherwise.
    """

    tree: FileTree
    library: ChartLibrary
    restricted: bool = True


def deployments_of_set(item: Item, value: Mapping[str, Any], sets: ApplicationSets, here: ArgoSources) -> Deployed:
    """What the Applications of an ApplicationSet deploy. Raises LimitError for too many of them."""
    try:
        applications = sets.applications_of(value)
    except NotGeneratedError as error:
        return [NotFollowed(error.problem)]
    named = replace(item, kind="Application")
    return [
        deployment
        for application in applications
        for deployment in deployments_of_application(named, application, here)
    ]


def deployments_of_application(item: Item, value: Mapping[str, Any], here: ArgoSources) -> Deployed:
    """What an Application deploys of a repository, or of pulled charts."""
    spec = section(value, "spec")
    sources = [source for source in list_at(spec, "sources") if isinstance(source, dict)] or [section(spec, "source")]
    named = {text_at(source, "ref"): source for source in sources if source.get("ref")}
    return [
        _deployment(item, value, source, named, here)
        for source in sources
        if not source.get("ref") or source.get("path")
    ]


def _deployment(
    item: Item,
    value: Mapping[str, Any],
    source: dict[str, Any],
    named: Mapping[str, dict[str, Any]],
    here: ArgoSources,
) -> Deployment | NotFollowed:
    tree, pulled = here.tree, None
    path = existing_path(tree, text_at(source, "path"))
    if source.get("chart"):
        wanted = _chart_elsewhere(source)
        pulled = here.library.find(wanted)
        if pulled is None:
            return absent_chart(wanted, here.library)
        path = tree.at_top(os.curdir)
    elif not path or not is_here(tree, text_at(source, "repoURL")):
        return NOT_HERE
    if source.get("plugin") is not None:
        return _PLUGIN
    namespace = text_at(section(value, "spec", "destination"), "namespace")
    directory, kustomize = section(source, "directory"), section(source, "kustomize")
    release = None
    if pulled is not None or has_chart(tree, path):
        deployment = _release(value, source, path, namespace, named, tree, pulled)
        if isinstance(deployment, NotFollowed):
            return deployment
        release = deployment
    return Deployment(
        owner_of(item, value),
        item.origin,
        path,
        namespace=namespace,
        is_recursive=bool(directory.get("recurse")),
        overlay=_overlay(kustomize, path, tree),
        release=release,
        include=_patterns(directory, "include"),
        exclude=_patterns(directory, "exclude"),
        pulled=pulled,
        lost=[f"directory.{key}" for key in ("jsonnet",) if directory.get(key)],
        restricted=here.restricted,
        kept_because=_keeps(section(value, "spec", "syncPolicy")),
    )


def _keeps(policy: Mapping[str, Any]) -> str:
    """Why objects stay that git has no more; empty where they go, or where somebody syncs by hand."""
    if "Prune=false" in list_at(policy, "syncOptions"):
        return "syncOptions: Prune=false"
    automated = policy.get("automated")
    return "automated without prune" if isinstance(automated, dict) and not automated.get("prune") else ""


def lifts_restriction(data: bytes) -> bool:
    """Whether a file sets build options by which Argo CD lets kustomizations read whatever the repository has.

    They stand in the ConfigMap argocd-cm, which may be made of the values of a chart, by a patch, or by an operator.
    """
    return _UNRESTRICTED.search(data) is not None


def _chart_elsewhere(source: Mapping[str, Any]) -> ChartReference:
    """A chart of a repository of charts or, where the URL has no scheme, of a registry."""
    name, url = text_at(source, "chart"), text_at(source, "repoURL")
    if url.startswith("oci://") or (url and "://" not in url):
        url = f"oci://{url.removeprefix('oci://').rstrip('/')}/{name}"
    return ChartReference(name, str(source.get("targetRevision") or ""), url)


def _patterns(directory: Mapping[str, Any], key: str) -> list[str]:
    """A pattern, or those that stand between braces."""
    text = text_at(directory, key)
    if text.startswith("{") and text.endswith("}"):
        return [pattern.strip() for pattern in text[1:-1].split(",")]
    return [text] if text else []


def _release(
    value: Mapping[str, Any],
    source: Mapping[str, Any],
    path: str,
    namespace: str,
    named: Mapping[str, dict[str, Any]],
    tree: FileTree,
    pulled: PulledChart | None,
) -> ChartRelease | NotFollowed:
    helm = section(source, "helm")
    files: list[str] = []
    inside: list[dict[str, Any]] = []
    for entry in list_at(helm, "valueFiles"):
        reference, _, rest = str(entry).partition("/")
        if reference.startswith("$"):
            if not is_here(tree, text_at(named.get(reference[1:], {}), "repoURL")):
                return NotFollowed("values of another repository")
            file = tree.at_top(rest)
        elif pulled is not None and str(entry) in pulled.files:
            inside.append(parse_values(pulled.files[str(entry)].decode("utf-8", "replace")))
            continue
        elif "://" in str(entry):
            return NotFollowed("values of another repository")
        else:
            file = tree.at_top(str(entry)) if str(entry).startswith("/") else tree.path_in(path, str(entry))
        if file and tree.is_file(file):
            files.append(file)
        elif not helm.get("ignoreMissingValueFiles"):
            return NO_VALUES
    given = [values for values in (parse_values(text_at(helm, "values")), section(helm, "valuesObject")) if values]
    return ChartRelease(
        text_at(helm, "releaseName") or text_at(section(value, "metadata"), "name"),
        namespace,
        files,
        # Where both are there, the object counts.
        [*inside, *given[-1:]],
        list(_parameters(helm)),
    )


def _parameters(helm: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for parameter in list_at(helm, "parameters"):
        if isinstance(parameter, dict) and parameter.get("name"):
            text = str(parameter.get("value", ""))
            if not (text.startswith("{") and text.endswith("}")):
                text = text.replace(",", "\\,")
            yield ("set-string" if parameter.get("forceString") else "set"), f"{parameter['name']}={text}"


def _overlay(kustomize: Mapping[str, Any], path: str, tree: FileTree) -> dict[str, Any]:
    """The fields of a kustomization that an Application's options come to (util/kustomize/kustomize.go)."""
    kept = ("namePrefix", "nameSuffix", "commonLabels", "commonAnnotations", "replicas", "patches", "components")
    overlay = {key: kustomize[key] for key in (*kept, "namespace") if kustomize.get(key)}
    if kustomize.get("labelWithoutSelector") and "commonLabels" in overlay:
        includes = bool(kustomize.get("labelIncludeTemplates"))
        overlay["labels"] = [{"pairs": overlay.pop("commonLabels"), "includeTemplates": includes}]
    if kustomize.get("ignoreMissingComponents") and "components" in overlay:
        overlay["components"] = [
            component
            for component in list_at(kustomize, "components")
            if tree.is_folder(tree.path_in(path, str(component)))
        ]
    if images := [_image(str(image)) for image in list_at(kustomize, "images")]:
        overlay["images"] = images
    return overlay


def _image(text: str) -> dict[str, str]:
    """What ``name=new:tag@digest`` is to kustomize; the name may be left out."""
    match = _IMAGE.fullmatch(text)
    if match is None:
        return {"name": text}
    name, new, tag, digest = match.group("name", "new", "tag", "digest")
    image = {"name": name or new}
    if name and new:
        image["newName"] = new
    if tag:
        image["newTag"] = tag
    if digest:
        image["digest"] = digest
    return image
