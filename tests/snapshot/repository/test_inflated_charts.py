"""Charts that kustomizations name: rendered as ``kustomize build --enable-helm`` does it, else a gap by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwhatif
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.chart_library import ChartLibrary
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from tests.security.repositories import write_files
from tests.snapshot.repository.test_followed_objects import BESIDE, needs_helm
from tests.snapshot.repository.test_pulled_charts import CLUSTER, FILES, write_archive

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n"
NAMED = "{name: web, repo: 'https://charts.example.com', version: 1.2.0, releaseName: shop%s}"
COMMAND = "helm pull web --repo https://charts.example.com --version 1.2.0"


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", BESIDE)


def kustomization(more: str = "", fields: str = "") -> str:
    return f"resources: [pod.yaml]\nhelmCharts: [{NAMED % more}]\n{fields}"


def read(folder: Path, files: dict[str, str], **options: Any) -> tuple[dict[str, Any], ReadingReport]:
    (folder / ".git").mkdir(parents=True)
    write_files(folder, {"app/pod.yaml": POD, **files})
    report = ReadingReport()
    reading = ReadingOptions(**{"render": "auto", **options})
    found = load_manifests(gather_directories([str(folder)], recursive=True), options=reading, report=report)
    return {f"{each.obj.kind} {each.obj.namespace}/{each.obj.name}": each.raw["spec"] for each in found}, report


VALUES = {
    "those of the chart": ("", 1, "100m"),
    "inline": (", valuesInline: {replicas: 3}", 3, "100m"),
    "a file in place of the chart's": (", valuesFile: v.yaml", 5, "100m"),
    "inline over a file": (", valuesFile: v.yaml, valuesInline: {replicas: 3, cpu: 1m}", 3, "1m"),
    "a file over inline": (", valuesFile: v.yaml, valuesMerge: merge, valuesInline: {replicas: 3, cpu: 1m}", 5, "1m"),
    "the chart's over inline": (", valuesMerge: merge, valuesInline: {replicas: 3, cpu: 1}", 1, "100m"),
    "inline alone": (", valuesFile: v.yaml, valuesMerge: replace, valuesInline: {cpu: 1m}", 1, "1m"),
    "a null takes away": (", valuesFile: v.yaml, valuesInline: {replicas: null}", 1, "100m"),
    "additional ones": (", valuesInline: {replicas: 3}, additionalValuesFiles: [v.yaml]", 5, "100m"),
}


@needs_helm
@pytest.mark.parametrize("how", VALUES)
def test_values_count_in_the_order_of_kustomize(how: str, tmp_path: Path) -> None:
    more, replicas, cpu = VALUES[how]
    write_archive(tmp_path / "pulled", "1.2.0")
    files = {"app/kustomization.yaml": kustomization(more), "app/v.yaml": "replicas: 5\n"}
    found, report = read(tmp_path / "repository", files, charts=ChartLibrary([str(tmp_path / "pulled")]))
    spec = found["Deployment default/shop"]
    container = spec["template"]["spec"]["containers"][0]
    assert (spec["replicas"], container["resources"]["requests"]["cpu"]) == (replicas, cpu)
    assert not list(report.files.gaps())


@needs_helm
def test_what_a_chart_makes_is_changed_as_other_objects_are_and_learns_the_namespace_above(tmp_path: Path) -> None:
    where = FILES["templates/web.yaml"] + "---\n" + POD.replace("{name: a}", "{name: 'in-{{ .Release.Namespace }}'}", 1)
    chart = {f"app/charts/web/{name}": text for name, text in {**FILES, "templates/web.yaml": where}.items()}
    patch = '[{"op": "add", "path": "/spec/paused", "value": true}]'
    fields = f"patches: [{{target: {{kind: Deployment}}, patch: '{patch}'}}]\n"
    found, report = read(
        tmp_path,
        {
            # Of a chart that is beside it no version is compared, unless a repository is named as well.
            "app/kustomization.yaml": f"resources: [pod.yaml]\nhelmCharts: [{{name: web, version: 7.0.0}}]\n{fields}",
            "prod/kustomization.yaml": "resources: [../app]\nnamespace: prod\nnamePrefix: my-\n",
            **chart,
        },
    )
    assert not report.not_rendered
    assert sorted(found) == ["Deployment prod/my-web", "Pod prod/my-a", "Pod prod/my-in-prod"]
    assert found["Deployment prod/my-web"]["paused"] is True
    assert not list(report.files.gaps())


GENERATOR = (
    "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: a}\nname: web\nreleaseName: shop\n"
)


@needs_helm
@pytest.mark.parametrize("is_file", [True, False])
def test_a_generator_of_kustomize_s_own_is_such_a_chart(is_file: bool, tmp_path: Path) -> None:
    write_archive(tmp_path / "pulled", "1.2.0")
    inline = "".join(f"\n  {line}" for line in GENERATOR.splitlines())
    files = {"app/kustomization.yaml": f"generators:\n- {'g.yaml' if is_file else f'|-{inline}'}\n"}
    files |= {"app/g.yaml": GENERATOR} if is_file else {}
    found, _ = read(tmp_path / "repository", files, charts=ChartLibrary([str(tmp_path / "pulled")]))
    assert "Deployment default/shop" in found


REASONS = {
    "nobody pulled it": ([], "auto", f"its chart is not here ({COMMAND}; then --charts DIR)"),
    "another version": (["1.1.0"], "auto", f"its chart is not here, but 1.1.0 of it ({COMMAND}; then --charts DIR)"),
    "no rendering": (["1.2.0"], "never", "its chart was not rendered: --render auto has charts rendered"),
}


@pytest.mark.parametrize("why", REASONS)
def test_a_chart_that_is_not_rendered_is_a_gap_by_name_and_the_rest_is_built(why: str, tmp_path: Path) -> None:
    versions, render, reason = REASONS[why]
    (tmp_path / "pulled").mkdir()
    for version in versions:
        write_archive(tmp_path / "pulled", version)
    files = {"app/kustomization.yaml": kustomization(fields="namePrefix: my-\n")}
    found, report = read(tmp_path / "repository", files, charts=ChartLibrary([str(tmp_path / "pulled")]), render=render)
    assert sorted(found) == ["Pod default/my-a"]
    file = f"{tmp_path}/repository/app/kustomization.yaml"
    assert [(name, entry.reason) for name, entry in report.files.gaps()] == [(f"{file} -> chart shop", reason)]
    assert report.absent_charts == ({} if render == "never" else {COMMAND: [file]})


@pytest.mark.long
def test_a_gate_judges_the_rest_where_a_chart_that_is_not_here_is_accepted(tmp_path: Path) -> None:
    for side, replicas in (("base", 1), ("head", 3)):
        values = f", valuesFile: v.yaml, valuesInline: {{a: {len(side)}}}"
        files = {"kustomization.yaml": kustomization(values), "v.yaml": f"replicas: {replicas}\n", "pod.yaml": POD}
        write_files(tmp_path / side, files)

    def judge(*accept: str) -> tuple[str, list[str]]:
        found = kwhatif.gate(
            [str(tmp_path / "head")], base=[str(tmp_path / "base")], snapshot=[CLUSTER], render="auto", accept=accept
        )
        return found.verdict, [each.reason for each in found.files.missing]

    assert judge() == ("unknown", [f"its chart is not here ({COMMAND}; then --charts DIR)"])
    assert judge("kustomization.yaml") == ("warn", [])


def test_a_kustomization_with_charts_that_are_none_is_not_built(tmp_path: Path) -> None:
    for number, (entry, problem) in enumerate(
        (
            ("{repo: a}", "helmCharts: expected a name"),
            ("{name: web, color: red}", "kustomize knows no field 'color'"),
            ("{name: web, valuesFile: none.yaml}", "helmCharts: none.yaml is not there, and nothing is fetched"),
        )
    ):
        files = {"app/kustomization.yaml": f"helmCharts: [{entry}]\n", "pod.yaml": POD}
        _, report = read(tmp_path / str(number), files)
        assert problem in next(iter(report.not_rendered.values()))
