"""With what Argo CD has helm render a chart: files of values, parameters, and the environment of the build.

Upstream: argo-cd (reposerver/repository/repository.go: helmTemplate, getResolvedValueFiles, newEnv,
mergeSourceParameters; util/helm/cmd.go).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kwhatif.api.objects import list_at, section, text_at
from kwhatif.snapshot.read.objects import decode, read_documents
from kwhatif.snapshot.read.path_patterns import matches_file
from kwhatif.snapshot.repository.chart_library import ChartReference, PulledChart
from kwhatif.snapshot.repository.charts import ChartRelease, merge_values, parse_values, values_at
from kwhatif.snapshot.repository.deployments import NO_VALUES, NotFollowed, is_here
from kwhatif.snapshot.repository.file_trees import FileTree

REVISION = "ARGOCD_APP_REVISION"
"""The variable whose value is known where Argo CD runs alone."""

_ELSEWHERE = NotFollowed("values of another repository")
_VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|(\w+)|(\$))")
_OWN = ("chart", "path", "repoURL", "targetRevision")


def with_overrides(source: dict[str, Any], folder: str, name: str, tree: FileTree) -> tuple[dict[str, Any], list[str]]:
    """A source with what files in its directory say in place of it, and these files. Raises InputError.

    Argo CD's own command line and its image updater write them.
    """
    files = [tree.path_in(folder, file) for file in (".argocd-source.yaml", f".argocd-source-{name}.yaml")]
    files = [file for file in files if tree.is_file(file)]
    merged: Mapping[str, Any] = source
    for file in files:
        for document in read_documents(tree.read(file)):
            merged = merge_values(merged, decode(document.value, dict[str, Any]))
    own = {key: source[key] for key in _OWN if key in source}
    return {**{key: value for key, value in merged.items() if key not in _OWN}, **own}, files


def chart_elsewhere(source: Mapping[str, Any]) -> ChartReference:
    """A chart of a repository of charts or, where the URL has no scheme, of a registry."""
    name, url = text_at(source, "chart"), text_at(source, "repoURL")
    if url.startswith("oci://") or (url and "://" not in url):
        url = f"oci://{url.removeprefix('oci://').rstrip('/')}/{name}"
    return ChartReference(name, str(source.get("targetRevision") or ""), url)


@dataclass(frozen=True)
class ArgoChart:
    """A chart in a directory, or a ``pulled`` one, of a source of an Application.

    ``named`` are the Application's sources that others refer to.
    """

    application: Mapping[str, Any]
    source: Mapping[str, Any]
    named: Mapping[str, Mapping[str, Any]]
    tree: FileTree
    folder: str
    pulled: PulledChart | None = None

    def release(self) -> ChartRelease | NotFollowed:
        """What helm gets; or why that is not known."""
        helm = section(self.source, "helm")
        files = self._value_files(helm)
        if isinstance(files, NotFollowed):
            return files
        given = [values for values in (parse_values(text_at(helm, "values")), section(helm, "valuesObject")) if values]
        # Where both are there, the object counts.
        values = given[-1:]
        for parameter in map(section, list_at(helm, "fileParameters")):
            contents = self._files_named(text_at(parameter, "path"))
            if isinstance(contents, NotFollowed):
                return contents
            if not contents:
                return NO_VALUES
            content = contents[0] if isinstance(contents[0], bytes) else self.tree.content_of(contents[0])
            values.append(values_at(text_at(parameter, "name"), content.decode("utf-8", "replace")))
        return ChartRelease(
            text_at(helm, "releaseName") or text_at(section(self.application, "metadata"), "name"),
            text_at(helm, "namespace") or text_at(section(self._spec, "destination"), "namespace"),
            files,
            values,
            list(self._parameters(helm)),
        )

    @property
    def _spec(self) -> Mapping[str, Any]:
        return section(self.application, "spec")

    def _value_files(self, helm: Mapping[str, Any]) -> list[str | bytes] | NotFollowed:
        """Each once. What a pattern stands for comes where the pattern does, unless it is named itself."""
        groups: list[tuple[bool, list[str | bytes]]] = []
        for entry in map(str, list_at(helm, "valueFiles")):
            files = self._files_named(entry)
            if isinstance(files, NotFollowed):
                return files
            if not files and not helm.get("ignoreMissingValueFiles"):
                return NO_VALUES
            groups.append((_is_pattern(entry), files))
        named = {file for is_pattern, files in groups if not is_pattern for file in files}
        kept = [[file for file in files if not (is_pattern and file in named)] for is_pattern, files in groups]
        return list(dict.fromkeys(file for files in kept for file in files))

    def _files_named(self, text: str) -> list[str | bytes] | NotFollowed:
        """The files of a name or of a pattern: of the chart, of the repository, or of another source of it."""
        reference, _, rest = text.partition("/")
        if reference.startswith("$") and reference[1:] in self.named:
            if not is_here(self.tree, text_at(self.named[reference[1:]], "repoURL")):
                return _ELSEWHERE
            path = self.tree.at_top(self._substitute(rest))
        else:
            text = self._substitute(text)
            if "://" in text:
                return _ELSEWHERE
            if self.pulled is not None:
                inside = self.pulled.files
                names = [name for name in sorted(inside) if matches_file(name, text)] if _is_pattern(text) else [text]
                return [inside[name] for name in names if name in inside]
            path = self.tree.at_top(text) if text.startswith("/") else self.tree.path_in(self.folder, text)
        if path and _is_pattern(text):
            top = self.tree.at_top(os.curdir)
            places = {self.tree.place_of(file): file for file in self.tree.files_below(top)}
            wanted = self.tree.place_of(path)
            return [places[place] for place in sorted(places) if matches_file(place.strip("/"), wanted)]
        return [path] if path and self.tree.is_file(path) else []

    def _parameters(self, helm: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if version := text_at(helm, "kubeVersion"):
            yield "kube-version", version.partition("+")[0]
        for api_version in list_at(helm, "apiVersions"):
            yield "api-versions", str(api_version)
        for parameter in list_at(helm, "parameters"):
            if isinstance(parameter, dict) and parameter.get("name"):
                text = self._substitute(str(parameter.get("value", "")))
                if not (text.startswith("{") and text.endswith("}")):
                    text = text.replace(",", "\\,")
                yield ("set-string" if parameter.get("forceString") else "set"), f"{parameter['name']}={text}"

    def _substitute(self, text: str) -> str:
        """A text with the variables of the build; others are empty, and two dollars are one."""
        known = {
            "ARGOCD_APP_NAME": text_at(section(self.application, "metadata"), "name"),
            "ARGOCD_APP_NAMESPACE": text_at(section(self._spec, "destination"), "namespace"),
            "ARGOCD_APP_PROJECT_NAME": text_at(self._spec, "project"),
            "ARGOCD_APP_SOURCE_REPO_URL": text_at(self.source, "repoURL"),
            "ARGOCD_APP_SOURCE_PATH": text_at(self.source, "path"),
            "ARGOCD_APP_SOURCE_TARGET_REVISION": str(self.source.get("targetRevision") or ""),
        }
        return _VARIABLE.sub(lambda match: "$" if match[3] else known.get(match[1] or match[2], ""), text)


def _is_pattern(text: str) -> bool:
    return any(mark in text for mark in "*?[")


def unknown_variables(source: Mapping[str, Any]) -> Sequence[str]:
    """Variables of a source's parameters that say which commit is deployed."""
    texts = [str(section(parameter).get("value")) for parameter in list_at(section(source, "helm"), "parameters")]
    return [REVISION] if any(REVISION in text for text in texts) else []
