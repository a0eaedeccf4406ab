"""Kustomizations of directories, built by the program that is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.read.kustomize_builds import plan_builds, program_of_kustomize
from kwhatif.snapshot.read.manifest_texts import ReadingOptions, ReadingReport

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a}]}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in {
        "base/kustomization.yaml": "resources: [web.yaml]\n",
        "base/web.yaml": POD,
        "prod/kustomization.yaml": "resources: [../base]\nnamespace: prod\nnamePrefix: big-\n",
        "plain/other.yaml": POD.replace("name: web", "name: other"),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def names(folder: Path, render: str) -> tuple[list[str], list[str]]:
    report = ReadingReport()
    found = load_manifests(gather_directories([str(folder)]), options=ReadingOptions(render=render), report=report)
    return [f"{each.obj.namespace}/{each.obj.name}" for each in found], list(report.notes())


def test_unless_asked_nothing_is_built(repository: Path) -> None:
    found, notes = names(repository, "never")
    assert found == ["default/web", "default/other"]
    assert notes == ["passed over in directories, as no objects of a cluster: 2 Kustomizations"]


@pytest.mark.skipif(not program_of_kustomize(), reason="neither kustomize nor kubectl is installed")
def test_what_no_other_kustomization_leads_to_is_built_and_its_files_are_not_read_alone(
    repository: Path,
) -> None:
    found, notes = names(repository, "auto")
    assert found == ["default/other", "prod/big-web"]
    assert notes == ["1 kustomization was built by kustomize"]


def test_what_would_need_a_network_or_a_plugin_is_not_built_and_says_so(repository: Path) -> None:
    (repository / "base" / "kustomization.yaml").write_text("resources: [web.yaml, github.com/a/b?ref=v1]\n")
    builds = plan_builds(gather_directories([str(repository)]))
    assert builds.roots == []
    assert builds.covered == set()
    problem = f"github.com/a/b?ref=v1 of {repository}/base is not there, and nothing is fetched"
    assert builds.not_built == {f"{repository}/prod": problem}
    (repository / "base" / "kustomization.yaml").write_text("helmCharts: [{name: a}]\n")
    assert "has helmCharts" in plan_builds(gather_directories([str(repository)])).not_built[f"{repository}/prod"]
    with pytest.raises(InputError, match="cannot be built without more"):
        names(repository, "always")


@pytest.mark.skipif(not program_of_kustomize(), reason="neither kustomize nor kubectl is installed")
def test_what_kustomize_refuses_is_told_in_its_words(repository: Path) -> None:
    (repository / "prod" / "kustomization.yaml").write_text("resources: [../base]\nnoSuchField: 1\n")
    with pytest.raises(InputError, match=r"prod: kustomize cannot build this: .*noSuchField"):
        names(repository, "auto")
