"""With what Argo CD has helm render a chart: files of values, patterns of them, parameters, and overrides in git."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.read.objects import items_of, plain_of, read_documents
from kwhatif.snapshot.repository.argo_applications import ArgoSources, deployments_of_application
from kwhatif.snapshot.repository.chart_library import ChartLibrary
from kwhatif.snapshot.repository.charts import ChartRelease
from kwhatif.snapshot.repository.deployments import Deployment, NotFollowed
from kwhatif.snapshot.repository.file_trees import disk_trees
from tests.security.repositories import write_files

URL = "https://git.example.com/team/shop"
FILES = {
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "chart/v/a.yaml": "a: 1\n",
    "chart/v/b.yaml": "b: 1\n",
    "chart/motd.txt": "hello, all\n",
    "values/prod/x.yaml": "x: 1\n",
}


def follow(
    folder: Path, source: str, files: Mapping[str, str] = FILES, key: str = "source"
) -> Deployment | NotFollowed:
    write_files(folder, {**files, "app.yaml": ""})
    text = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\n"
        f"spec: {{project: shop, destination: {{namespace: front}}, {key}: {source}}}\n"
    )
    (document,) = read_documents(Text("app.yaml", text.encode()))
    (item,) = items_of(document)
    tree = disk_trees([str(folder)])[str(folder)]
    (deployed,) = deployments_of_application(item, plain_of(item), ArgoSources(tree, ChartLibrary()))
    return deployed


def release(folder: Path, helm: str, files: Mapping[str, str] = FILES) -> ChartRelease:
    deployed = follow(folder, f"{{repoURL: '{URL}', path: chart, targetRevision: main, helm: {helm}}}", files)
    assert isinstance(deployed, Deployment)
    assert deployed.release is not None
    return deployed.release


VALUE_FILES = {
    "a pattern": ("['v/*.yaml']", ["chart/v/a.yaml", "chart/v/b.yaml"]),
    "a pattern before a file of it": ("['v/*.yaml', v/a.yaml]", ["chart/v/b.yaml", "chart/v/a.yaml"]),
    "a file before a pattern of it": ("[v/b.yaml, 'v/*.yaml']", ["chart/v/b.yaml", "chart/v/a.yaml"]),
    "any directories, from the top": ("['/values/**/x.yaml']", ["values/prod/x.yaml"]),
    "a variable of the build": ("['/values/$X/prod/x.yaml', '../$ARGOCD_APP_SOURCE_PATH/v/a.yaml']", None),
}


@pytest.mark.parametrize("case", VALUE_FILES)
def test_files_of_values_are_those_that_argo_cd_resolves(case: str, tmp_path: Path) -> None:
    given, files = VALUE_FILES[case]
    files = ["values/prod/x.yaml", "chart/v/a.yaml"] if files is None else files
    found = release(tmp_path, f"{{valueFiles: {given}}}").value_files
    assert [Path(str(file)).resolve().relative_to(tmp_path.resolve()).as_posix() for file in found] == files


HELM: dict[str, tuple[str, dict[str, Any]]] = {
    "a file as a value": (
        "{values: 'a: 1', fileParameters: [{name: page.motd, path: motd.txt}]}",
        {"values": [{"a": 1}, {"page": {"motd": "hello, all\n"}}]},
    ),
    "an object in place of a text": ("{values: 'a: 1', valuesObject: {b: 2}}", {"values": [{"b": 2}]}),
    "what the chart asks of the cluster": (
        "{kubeVersion: v1.30.1+k3s1, apiVersions: [a/v1, b/v1/C], namespace: back}",
        {
            "parameters": [("kube-version", "v1.30.1"), ("api-versions", "a/v1"), ("api-versions", "b/v1/C")],
            "namespace": "back",
        },
    ),
    "variables of the build": (
        "{parameters: [{name: a, value: '$ARGOCD_APP_NAME,${ARGOCD_APP_PROJECT_NAME}-$$-$NONE'},"
        " {name: b, value: $ARGOCD_APP_NAMESPACE, forceString: true}]}",
        {"parameters": [("set", r"a=web\,shop-$-"), ("set-string", "b=front")]},
    ),
}


@pytest.mark.parametrize("case", HELM)
def test_helm_gets_what_the_application_says(case: str, tmp_path: Path) -> None:
    helm, expected = HELM[case]
    found = release(tmp_path, helm)
    assert {key: getattr(found, key) for key in expected} == expected


def test_files_in_git_override_all_but_where_a_source_is(tmp_path: Path) -> None:
    overrides = {
        "chart/.argocd-source.yaml": "path: elsewhere\nhelm: {releaseName: all, valuesObject: {a: 1}}\n",
        "chart/.argocd-source-web.yaml": "helm: {valuesObject: null, parameters: [{name: b, value: '2'}]}\n",
        "chart/.argocd-source-other.yaml": "helm: {releaseName: other}\n",
    }
    found = release(tmp_path, "{}", {**FILES, **overrides})
    assert (found.name, found.values, found.parameters) == ("all", [], [("set", "b=2")])
    deployed = follow(tmp_path, f"{{repoURL: '{URL}', path: chart}}", {**FILES, **overrides})
    assert isinstance(deployed, Deployment)
    assert [Path(file).name for file in deployed.settings] == [".argocd-source.yaml", ".argocd-source-web.yaml"]


NOT_KNOWN = {
    "a pattern of no file": ("{valueFiles: ['none/*.yaml']}", "values of files that are not there"),
    "a value in no file": ("{fileParameters: [{name: a, path: none.txt}]}", "values of files that are not there"),
    "an address": ("{valueFiles: ['https://example.com/a.yaml']}", "values of another repository"),
}


@pytest.mark.parametrize("case", NOT_KNOWN)
def test_a_release_whose_values_are_not_here_is_not_followed(case: str, tmp_path: Path) -> None:
    helm, reason = NOT_KNOWN[case]
    assert follow(tmp_path, f"{{repoURL: '{URL}', path: chart, helm: {helm}}}") == NotFollowed(reason)


def test_an_override_that_cannot_be_read_leaves_the_application_unknown(tmp_path: Path) -> None:
    deployed = follow(tmp_path, f"{{repoURL: '{URL}', path: chart}}", {**FILES, "chart/.argocd-source.yaml": "helm: ["})
    assert isinstance(deployed, NotFollowed)
    assert deployed.reason == "overrides that cannot be read"
    assert "chart/.argocd-source.yaml" in deployed.problem


def test_a_value_below_very_many_keys_or_in_a_file_elsewhere_ends_no_run(tmp_path: Path) -> None:
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart" / "link.txt").symlink_to("/etc/hostname")
    for entry in (f"{{name: {'a.' * 5000}b, path: motd.txt}}", "{name: a, path: link.txt}"):
        source = f"{{repoURL: '{URL}', path: chart, helm: {{fileParameters: [{entry}]}}}}"
        assert isinstance(follow(tmp_path, source), NotFollowed)


def test_the_commit_that_is_deployed_is_a_value_that_nobody_knows(tmp_path: Path) -> None:
    helm = "{parameters: [{name: a, value: '$ARGOCD_APP_REVISION_SHORT'}]}"
    deployed = follow(tmp_path, f"{{repoURL: '{URL}', path: chart, helm: {helm}}}")
    assert isinstance(deployed, Deployment)
    assert deployed.lost == ["ARGOCD_APP_REVISION"]


def test_what_is_hydrated_is_made_of_its_dry_source(tmp_path: Path) -> None:
    hydrator = f"{{drySource: {{repoURL: '{URL}', path: chart}}, syncSource: {{targetBranch: a, path: chart}}}}"
    deployed = follow(tmp_path, hydrator, key="sourceHydrator")
    assert isinstance(deployed, Deployment)
    assert deployed.release == ChartRelease("web", "front", [], [], [])
