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
from tests.security.repositories import write_files

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


@pytest.mark.parametrize(
    "absent", ["github.com/a/b?ref=v1", "https://a.example/x.yaml", "helmChartInflationGenerator", "generators"]
)
def test_what_only_adds_objects_and_is_not_here_is_a_gap_and_the_rest_is_built(repository: Path, absent: str) -> None:
    is_field = absent.isalpha()
    field = f"resources: [web.yaml]\n{absent}: [{{name: a}}]" if is_field else f"resources: [web.yaml, '{absent}']"
    patch = "patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: of-those}}'}]"
    (repository / "base" / "kustomization.yaml").write_text(f"{field}\n{patch}\n")
    report = ReadingReport()
    found = load_manifests(gather_directories([str(repository)]), report=report)
    assert sorted(each.obj.name for each in found) == ["big-web", "other"]
    file = f"{repository}/base/kustomization.yaml"
    assert list(report.gaps()) == [(f"{file} asks for {absent!r}", "its objects are judged without")]
    assert f"{file} -> {absent}" in report.files
    with pytest.raises(InputError, match=r"prod: cannot be built: .*: it is not here"):
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


def test_words_of_objects_and_merge_patches_are_strings_that_kubectl_reads_as_booleans(repository: Path) -> None:
    write_files(
        repository,
        {
            "base/web.yaml": POD.replace("image: a", "image: a, args: [on, y, true, 012, 2001-1-2]"),
            "prod/p.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {off: no, n: 0, t: true}}\n",
            "prod/j.yaml": "- {op: add, path: /metadata/annotations/yes, value: on}\n",
            "prod/kustomization.yaml": (
                "resources: [../base]\npatches: [{path: p.yaml}, {path: j.yaml, target: {kind: Pod}}]\n"
            ),
        },
    )
    (repository / ".git").mkdir()
    (web,) = load_manifests(gather_directories([str(repository / "prod")]))
    assert web.raw["spec"]["containers"][0]["args"] == ["on", "y", True, 10, "2001-01-02T00:00:00Z"]
    assert web.raw["metadata"]["annotations"] == {"off": "no", "n": "0", "t": "true", "yes": "true"}


def test_a_kustomization_that_cannot_be_read_is_a_problem_of_its_own(repository: Path) -> None:
    (repository / "prod" / "kustomization.yaml").write_text("resources: [")
    assert "not valid YAML" in problem_of(repository)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("patches: [{path: 'https://a.example/x'}]", id="a patch"),
        pytest.param("replacements: [{path: 'https://a.example/x'}]", id="a replacement"),
        pytest.param("crds: ['https://a.example/x']", id="a definition"),
        pytest.param("components: ['https://a.example/x']", id="a component"),
    ],
)
def test_nothing_that_a_kustomization_names_is_fetched(text: str, repository: Path) -> None:
    (repository / "prod" / "kustomization.yaml").write_text(f"resources: [../base]\n{text}\n")
    assert "https://a.example/x" in problem_of(repository)
    assert "nothing is fetched" in problem_of(repository)


@pytest.mark.parametrize(
    "text", ["configMapGenerator: [{name: a, files: [%s]}]", "secretGenerator: [{name: a, envs: [%s]}]"]
)
def test_what_is_generated_of_an_address_is_left_out(text: str, repository: Path) -> None:
    (repository / "prod" / "kustomization.yaml").write_text(f"resources: [../base]\n{text % 'https://a.example/x'}\n")
    report = ReadingReport()
    assert len(load_manifests(gather_directories([str(repository)]), report=report)) == 2
    assert [what for what, _ in report.gaps()] == [
        f"{repository}/prod/kustomization.yaml asks for 'https://a.example/x'"
    ]
