"""Charts that depend on charts: beside them, at a path of the repository, or pulled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.read.program_words import ProgramCall
from kwhatif.snapshot.repository import chart_dependencies
from kwhatif.snapshot.repository.chart_dependencies import ChartReader
from kwhatif.snapshot.repository.chart_library import ChartLibrary
from kwhatif.snapshot.repository.file_trees import DiskTree
from kwhatif.snapshot.repository.reading_report import ReadingOptions
from tests.security.repositories import write_files

AT_PATH = {"name": "parts", "version": "1.x", "repository": "file://../parts"}
PULLED = {"name": "redis", "version": "~2.0", "repository": "https://charts.example.com"}


def chart(name: str, version: str, *dependencies: dict[str, str]) -> dict[str, str]:
    fields = {"apiVersion": "v2", "name": name, "version": version, "dependencies": dependencies}
    return {f"{name}/Chart.yaml": json.dumps(fields), f"{name}/templates/{name}.yaml": ""}


def reader(folder: Path, *charts: dict[str, str]) -> ChartReader:
    (folder / ".git").mkdir()
    for files in charts:
        write_files(folder, files)
    return ChartReader(DiskTree(str(folder)), ChartLibrary([str(folder / "pulled")]))


def pulled(name: str, version: str) -> dict[str, str]:
    return {f"pulled/{path}": text for path, text in chart(name, version).items()}


def test_what_a_chart_depends_on_is_taken_from_paths_and_from_pulled_charts(tmp_path: Path) -> None:
    parts = chart("parts", "1.4.0", {"name": "deep", "version": "", "repository": "file://../deep"})
    charts = reader(
        tmp_path, chart("web", "1.0.0", AT_PATH, PULLED), parts, chart("deep", "3.0.0"), pulled("redis", "2.0.7")
    )
    web = charts.chart_of(str(tmp_path / "web"))
    assert web.problem == ""
    assert [name for name in charts.files_of(web) if "templates" in name] == [
        "templates/web.yaml",
        "charts/part-1/templates/redis.yaml",
        "charts/part-0/templates/parts.yaml",
        "charts/part-0/charts/part-0/templates/deep.yaml",
    ]
    assert charts.folders_of(web) == {str(tmp_path / name) for name in ("web", "parts", "deep")}


@pytest.mark.parametrize(
    ("charts", "problem"),
    [
        pytest.param([pulled("redis", "2.0.7")], "it depends on parts, which", id="none at the path"),
        pytest.param([pulled("redis", "2.0.7"), chart("parts", "2.0.0")], "it depends on parts, which", id="newer"),
        pytest.param([pulled("redis", "2.1.0"), chart("parts", "1.4.0")], "it depends on redis, which", id="newer one"),
        pytest.param(
            [pulled("redis", "2.0.7"), chart("parts", "1.4.0", {"name": "web", "repository": "file://../web"})],
            "parts: web: its dependencies are in a circle",
            id="a circle",
        ),
        pytest.param(
            [pulled("redis", "2.0.7"), chart("parts", "1.4.0", {"name": "x", "repository": "file://../../x"})],
            "parts: it depends on x, which",
            id="a path out of the repository",
        ),
    ],
)
def test_why_a_chart_with_a_dependency_is_not_rendered(
    charts: list[dict[str, str]], problem: str, tmp_path: Path
) -> None:
    found = reader(tmp_path, chart("web", "1.0.0", AT_PATH, PULLED), pulled("other", "1.0.0"), *charts)
    assert found.chart_of(str(tmp_path / "web")).problem.startswith(problem)


def test_charts_a_hundred_deep_are_refused_in_a_line(tmp_path: Path) -> None:
    chain = (chart(f"c{i}", "1.0.0", {"name": "c", "repository": f"file://../c{i + 1}"}) for i in range(100))
    found = reader(tmp_path, pulled("other", "1.0.0"), *chain).chart_of(str(tmp_path / "c0"))
    assert found.problem.endswith("charts depend on each other more than 16 levels deep")


def test_charts_that_double_are_refused_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart_dependencies, "_MOST_PARTS", 50)

    def twice(number: int) -> list[dict[str, str]]:
        return [{"name": f"c{number + 1}", "version": "1.x", "repository": f"file://../c{number + 1}"}] * 2

    charts = reader(tmp_path, pulled("other", "1.0.0"), *(chart(f"c{i}", "1.0.0", *twice(i)) for i in range(16)))
    write_files(tmp_path, chart("c16", "1.0.0"))
    with pytest.raises(InputError, match="it and its dependencies are more than 50 charts"):
        charts.files_of(charts.chart_of(str(tmp_path / "c0")))


def test_helm_renders_what_is_equal_in_two_revisions_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def print_object(call: ProgramCall, home: str, source: str) -> bytes:
        calls.append(call.operands[0])
        return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: made-{len(calls)}}}\n".encode()

    monkeypatch.setattr("kwhatif.snapshot.repository.charts.run_program", print_object)
    monkeypatch.setattr("kwhatif.snapshot.repository.renderer.is_helm_installed", lambda: True)
    options, found = ReadingOptions(render="auto"), []
    for revision, template in (("old", "a"), ("same", "a"), ("new", "b")):
        folder = tmp_path / revision
        write_files(folder, {"web/Chart.yaml": "name: web\nversion: 1.0.0\n", "web/templates/a.yaml": template})
        (folder / ".git").mkdir()
        found += load_manifests(gather_directories([str(folder)], recursive=True), options=options)
    assert calls == ["web", "web"]
    assert [each.obj.name for each in found] == ["made-1", "made-1", "made-2"]
