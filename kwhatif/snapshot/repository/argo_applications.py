"""Applications of Argo CD: the directories of this repository that they deploy.

Upstream: argo-cd (pkg/apis/application/v1alpha1/types.go, reposerver/repository/repository.go).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from kwhatif.api.objects import list_at, section, text_at
from kwhatif.errors import InputError
from kwhatif.snapshot.read.objects import Item
from kwhatif.snapshot.repository.application_sets import ApplicationSets, NotGeneratedError
from kwhatif.snapshot.repository.argo_charts import ArgoChart, chart_elsewhere, unknown_variables, with_overrides
from kwhatif.snapshot.repository.chart_library import ChartLibrary
from kwhatif.snapshot.repository.charts import has_chart
from kwhatif.snapshot.repository.deployments import (
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
    sources = [source for source in list_at(spec, "sources") if isinstance(source, dict)]
    # What is hydrated is written to another branch, and made of the dry source.
    sources = sources or [section(spec, "source") or section(spec, "sourceHydrator", "drySource")]
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
    tree, pulled, release = here.tree, None, None
    path = existing_path(tree, text_at(source, "path"))
    settings: list[str] = []
    if source.get("chart"):
        wanted = chart_elsewhere(source)
        pulled = here.library.find(wanted)
        if pulled is None:
            return absent_chart(wanted, here.library)
        path = tree.at_top(os.curdir)
    elif not path or not is_here(tree, text_at(source, "repoURL")):
        return NOT_HERE
    else:
        try:
            source, settings = with_overrides(source, path, text_at(section(value, "metadata"), "name"), tree)
        except InputError as error:
            return NotFollowed("overrides that cannot be read", problem=str(error))
    if source.get("plugin") is not None:
        return _PLUGIN
    namespace = text_at(section(value, "spec", "destination"), "namespace")
    directory, kustomize = section(source, "directory"), section(source, "kustomize")
    if pulled is not None or has_chart(tree, path):
        try:
            wanted_release = ArgoChart(value, source, named, tree, path, pulled).release()
        except InputError as error:
            return NotFollowed("values that cannot be read", problem=str(error))
        if isinstance(wanted_release, NotFollowed):
            return wanted_release
        release = wanted_release
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
        lost=[*(["directory.jsonnet"] if directory.get("jsonnet") else []), *unknown_variables(source)],
        settings=settings,
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


def _patterns(directory: Mapping[str, Any], key: str) -> list[str]:
    """A pattern, or those that stand between braces."""
    text = text_at(directory, key)
    if text.startswith("{") and text.endswith("}"):
        return [pattern.strip() for pattern in text[1:-1].split(",")]
    return [text] if text else []


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
