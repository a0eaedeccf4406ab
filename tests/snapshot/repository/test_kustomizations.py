"""Kustomizations of directories, built by the program that is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.file_trees import DiskTree
from kwhatif.snapshot.repository.kustomizations import KustomizationGraph
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a}]}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in {
        "base/kustomization.yaml": "resources: [web.yaml]\n",
        "base/web.yaml": POD,
        "prod/kustomization.yaml": "resources: [../base]\nnamespace: prod\nnamePrefix: big-\n"
        "patches: [{path: p.yaml}]\n",
        "prod/p.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {priority: 7}\n",
        "plain/other.yaml": POD.replace("name: web", "name: other"),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def names(folder: Path, render: str) -> tuple[list[str], list[str]]:
    report = ReadingReport()
    found = load_manifests(gather_directories([str(folder)]), options=ReadingOptions(render=render), report=report)
    return [f"{each.obj.namespace}/{each.obj.name}" for each in found], list(report.notes())


def problem_of(repository: Path) -> str:
    return KustomizationGraph(DiskTree(str(repository))).problem_of(str(repository / "prod"))


@pytest.mark.parametrize("render", ["never", "auto", "always"])
def test_kustomizations_are_built_whatever_is_rendered_since_no_program_runs(repository: Path, render: str) -> None:
    found, notes = names(repository, render)
    assert found == ["default/other", "prod/big-web"]
    assert notes == ["1 kustomization was built"]


def test_accounts_of_unbuilt_bindings_are_in_the_namespace_and_variables_of_kustomize_make_templates(
    repository: Path,
) -> None:
    binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\n"
    (repository / "base" / "web.yaml").write_text(
        f"{binding}subjects: [{{kind: ServiceAccount, name: a}}]\n---\n{POD.replace('name: web', 'name: $(NAME)')}"
    )
    report = ReadingReport()
    found = load_manifests(gather_directories([str(repository)]), report=report)
    assert [each.raw.get("subjects") for each in found if each.obj.kind == "ClusterRoleBinding"] == [
        [{"kind": "ServiceAccount", "name": "a", "namespace": "prod"}]
    ]
    assert "1 template" in next(report.notes())


def test_what_would_need_a_network_or_a_plugin_is_not_built_and_says_so(repository: Path) -> None:
    (repository / "base" / "kustomization.yaml").write_text("resources: [web.yaml, github.com/a/b?ref=v1]\n")
    problem = "resources: github.com/a/b?ref=v1 is not there, and nothing is fetched"
    assert problem_of(repository) == f"{repository}/base/kustomization.yaml: {problem}"
    found, notes = names(repository, "auto")
    assert found == ["default/other", "prod/web"]
    assert notes[-1] == f"{repository}/prod was not rendered: {repository}/base/kustomization.yaml: {problem}"
    (repository / "base" / "kustomization.yaml").write_text("helmCharts: [{name: a}]\n")
    assert "has helmCharts" in problem_of(repository)
    with pytest.raises(InputError, match=r"prod: cannot be built: .*has helmCharts"):
        names(repository, "always")


def test_what_cannot_be_built_says_where_and_its_resources_are_read_as_they_stand(repository: Path) -> None:
    (repository / "prod" / "kustomization.yaml").write_text("resources: [../base]\npatches: [{patch: 'a: ['}]\n")
    found, notes = names(repository, "auto")
    assert "default/web" in found
    assert any(f"prod was not rendered: {repository}/prod/kustomization.yaml: patches" in note for note in notes)
    with pytest.raises(InputError, match=r"prod: cannot be built: .*kustomization.yaml: patches: "):
        names(repository, "always")


def test_what_kustomize_does_not_know_is_not_built_and_its_resources_are_read_as_they_stand(repository: Path) -> None:
    (repository / "prod" / "kustomization.yaml").write_text("Resources: [../base]\nnoSuchField: 1\n")
    assert names(repository, "auto")[0] == ["default/other", "default/web"]
    assert "kustomize knows no field 'noSuchField'" in problem_of(repository)


def test_keys_are_read_in_any_case_and_names_of_files_are_not_what_comes_of_them(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    (repository / "prod" / "p.yaml").unlink()
    (repository / "prod" / "size.txt").write_text("9")
    (repository / "prod" / "kustomization.yaml").write_text(
        "RESOURCES: [../base]\nNamePrefix: big-\nconfigMapGenerator: [{Name: sizes, FILES: [size.txt, a=size.txt]}]\n"
        "generatorOptions: {disableNameSuffixHash: true}\n"
    )
    found = load_manifests(["prod"], options=ReadingOptions(render="always"))
    assert [each.obj.name for each in found] == ["big-sizes", "big-web"]
    assert found[0].raw["data"] == {"size.txt": "9", "a": "9"}


def test_a_kustomization_that_cannot_be_read_is_a_problem_of_its_own(repository: Path) -> None:
    (repository / "prod" / "kustomization.yaml").write_text("resources: [")
    assert "not valid YAML" in problem_of(repository)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("configMapGenerator: [{name: a, files: [x=https://a.example/x]}]", id="a generator's file"),
        pytest.param("secretGenerator: [{name: a, envs: ['https://a.example/x']}]", id="a generator's environment"),
        pytest.param("patches: [{path: 'https://a.example/x'}]", id="a patch"),
        pytest.param("replacements: [{path: 'https://a.example/x'}]", id="a replacement"),
        pytest.param("crds: ['https://a.example/x']", id="a definition"),
        pytest.param("components: ['https://a.example/x']", id="a component"),
        pytest.param("openapi: {path: 'https://a.example/x'}", id="a schema"),
    ],
)
def test_nothing_that_a_kustomization_names_is_fetched(text: str, repository: Path) -> None:
    (repository / "prod" / "kustomization.yaml").write_text(f"resources: [../base]\n{text}\n")
    assert "https://a.example/x" in problem_of(repository)
    assert "nothing is fetched" in problem_of(repository)
