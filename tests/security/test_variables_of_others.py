"""Variables of Flux by strangers: what they come to is counted while they are put in place."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from tests.security.repositories import write_files

FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps, postBuild: {substituteFrom: [{kind: ConfigMap, name: sizes}]}}
"""
SIZES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sizes, namespace: flux-system}\ndata: {A: %s}\n"
OBJECT = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web%d, labels: {a: '%s'}}\nspec: {containers: [{name: a, image: a}]}\n"
)


def read(folder: Path) -> None:
    load_manifests(gather_directories([str(folder)]), report=ReadingReport())


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["${A}" * 10_000], id="in one text"),
        pytest.param(["${A}${A}"] * 100, id="in a hundred objects"),
        pytest.param(["${A:=x}" * 50 + "${A:-y}" * 50], id="with a default"),
    ],
)
def test_a_variable_of_a_megabyte_that_is_used_very_often_is_refused_in_a_line(
    tmp_path: Path, texts: list[str]
) -> None:
    write_files(tmp_path, {"flux/a.yaml": FLUX, "flux/sizes.yaml": SIZES % ("x" * 1_000_000)})
    write_files(tmp_path, {"apps/web.yaml": "---\n".join(OBJECT % (i, text) for i, text in enumerate(texts))})
    (tmp_path / ".git").mkdir()
    began = time.process_time()
    with pytest.raises(
        InputError, match=r"web\.yaml.*: Flux's variables come to more than the limit of 67,108,864 bytes"
    ):
        read(tmp_path)
    assert time.process_time() - began < 60


@pytest.mark.long
def test_a_name_of_a_variable_without_end_takes_little_time(tmp_path: Path) -> None:
    for number, text in enumerate(
        ("${" * 100_000, "${A" * 100_000, "${A:=" * 50_000, "$" * 200_000, "${" + "A" * 200_000)
    ):
        write_files(tmp_path, {"a.yaml": OBJECT % (number, text)})
        began = time.process_time()
        read(tmp_path)
        assert time.process_time() - began < 60


def test_a_path_of_values_without_end_is_not_followed(tmp_path: Path) -> None:
    path = "a." * 100_000 + "a"
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: flux-system}\nspec:\n"
        "  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: a}}}\n"
        f"  valuesFrom: [{{kind: ConfigMap, name: sizes, valuesKey: A, targetPath: {path}}}]\n"
    )
    chart = {"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "chart/templates/a.yaml": ""}
    write_files(tmp_path, {"flux/a.yaml": release, "flux/sizes.yaml": SIZES % "b", **chart})
    (tmp_path / ".git").mkdir()
    report = ReadingReport()
    load_manifests(gather_directories([str(tmp_path)]), options=ReadingOptions(render="auto"), report=report)
    assert "not followed: 1 HelmRelease (values at a path without end)" in list(report.notes())
