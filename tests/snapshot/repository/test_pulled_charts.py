"""Charts that are somewhere else: rendered from a directory of pulled ones, else a gap that says how to pull them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

import kwhatif
from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.chart_library import ChartLibrary, ChartReference
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from kwhatif.snapshot.repository.version_constraints import is_allowed
from tests.security.repositories import write_files
from tests.snapshot.repository.test_followed_objects import BESIDE, CHART, needs_helm

CLUSTER = str(Path(__file__).parents[3] / "samples" / "cluster")
FILES = {name.removeprefix("charts/web/"): text for name, text in CHART.items()}
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: flux-system}
spec:
  targetNamespace: shop
  chart: {spec: {chart: web, version: 1.x, sourceRef: {kind: HelmRepository, name: charts}}}
  values: {replicas: 3, cpu: 700m}
"""
BY_REFERENCE = RELEASE.replace(
    "chart: {spec: {chart: web, version: 1.x, sourceRef: {kind: HelmRepository, name: charts}}}",
    "chartRef: {kind: OCIRepository, name: web}",
)
HELM_CHART = RELEASE.replace(
    "chart: {spec: {chart: web, version: 1.x, sourceRef: {kind: HelmRepository, name: charts}}}",
    "chartRef: {kind: HelmChart, name: web}",
)
SOURCES = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {url: "https://charts.example.com"}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: web, namespace: flux-system}
spec: {url: "oci://registry.example.com/team/web", ref: {tag: 1.2.0}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: web, namespace: flux-system}
spec: {chart: web, version: 1.2.0, sourceRef: {kind: HelmRepository, name: charts}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop-shop, namespace: argocd}
spec:
  destination: {namespace: shop}
  source: {repoURL: "https://charts.example.com", chart: web, targetRevision: 1.2.0,
           helm: {valueFiles: [prod.yaml], valuesObject: {replicas: 3, cpu: 700m}}}
"""


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", BESIDE)


def files_of(version: str) -> dict[str, str]:
    return {**FILES, "Chart.yaml": FILES["Chart.yaml"].replace("1.0.0", version)}


def pack(version: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files_of(version).items():
            member = tarfile.TarInfo(f"web/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def write_archive(folder: Path, version: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"web-{version}.tgz").write_bytes(pack(version))


def write_layout(folder: Path, version: str) -> None:
    def put(data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        (folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
        (folder / "blobs" / "sha256" / digest).write_bytes(data)
        return f"sha256:{digest}"

    media_type = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    manifest = {"schemaVersion": 2, "layers": [{"mediaType": media_type, "digest": put(pack(version))}]}
    index = {"schemaVersion": 2, "manifests": [{"digest": put(json.dumps(manifest).encode())}]}
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def write_directory(folder: Path, version: str) -> None:
    write_files(folder / f"web-{version}", files_of(version))


FORMS = {"an archive": write_archive, "an OCI layout": write_layout, "a directory": write_directory}


@pytest.mark.parametrize("form", FORMS)
def test_a_chart_is_found_by_its_name_and_the_newest_version_that_will_do(form: str, tmp_path: Path) -> None:
    for number, version in enumerate(("0.9.0", "1.2.0", "1.10.0", "2.0.0-rc.1")):
        FORMS[form](tmp_path / str(number), version)
    library = ChartLibrary([str(tmp_path)])
    for constraint, found in (("1.2.0", "1.2.0"), ("1.x", "1.10.0"), ("", "1.10.0"), ("<1", "0.9.0"), ("3", None)):
        chart = library.find(ChartReference("web", constraint))
        assert (None if chart is None else chart.version) == found, constraint
    assert library.find(ChartReference("other")) is None


def read(folder: Path, text: str, charts: list[str]) -> tuple[dict[str, object], ReadingReport]:
    write_files(folder, {"releases/shop.yaml": text, "releases/sources.yaml": SOURCES})
    (folder / ".git").mkdir()
    report = ReadingReport()
    options = ReadingOptions(render="auto", charts=ChartLibrary(charts))
    found = load_manifests(gather_directories([str(folder / "releases")]), options=options, report=report)
    return {f"{each.obj.kind} {each.obj.namespace}/{each.obj.name}": each.raw["spec"] for each in found}, report


ASKED = {
    "HelmRelease": (RELEASE, "helm pull web --repo https://charts.example.com --version 1.x"),
    "chartRef of an OCIRepository": (BY_REFERENCE, "helm pull oci://registry.example.com/team/web --version 1.2.0"),
    "chartRef of a HelmChart": (HELM_CHART, "helm pull web --repo https://charts.example.com --version 1.2.0"),
    "Application": (APPLICATION, "helm pull web --repo https://charts.example.com --version 1.2.0"),
}


@needs_helm
@pytest.mark.parametrize("who", ASKED)
def test_what_deploys_a_pulled_chart_gives_its_objects(who: str, tmp_path: Path) -> None:
    write_archive(tmp_path / "charts", "1.2.0")
    found, report = read(tmp_path / "repository", ASKED[who][0], [str(tmp_path / "charts")])
    spec = found["Deployment shop/shop-shop"]
    assert isinstance(spec, dict)
    assert spec["replicas"] == 3
    assert spec["template"]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "700m"}}
    assert not report.absent_charts
    assert not list(report.files.gaps())


@pytest.mark.parametrize("who", ASKED)
def test_a_chart_that_nobody_has_pulled_is_a_gap_with_the_command(who: str, tmp_path: Path) -> None:
    text, command = ASKED[who]
    _, report = read(tmp_path, text, [])
    (owners,) = report.absent_charts.values()
    assert list(report.absent_charts) == [command]
    assert [each.partition(" ")[0] for each in owners] == [who if who == "Application" else "HelmRelease"]
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n"
    write_files(tmp_path, {"releases/pod.yaml": pod})
    gaps = kwhatif.place([str(tmp_path / "releases")], snapshot=[CLUSTER]).fidelity.touching
    assert [each.closed_by for each in gaps if each.what.endswith("its chart is not here")] == [(command,)]


def test_what_a_release_that_is_gone_takes_with_it_is_not_known_without_its_chart(tmp_path: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: a}]}\n"
    write_files(tmp_path, {"head/pod.yaml": pod, "base/pod.yaml": pod, "base/web.yaml": RELEASE})
    found = kwhatif.gate([str(tmp_path / "head")], base=[str(tmp_path / "base")], snapshot=[CLUSTER])
    assert [gap.what for gap in found.fidelity.gaps if gap.closed_by and gap.pods == ("<input>",)] == [
        "HelmRelease flux-system/shop: its chart is not here"
    ]
    newer = {"head/web.yaml": RELEASE.replace("1.x", "2.x")}
    write_files(tmp_path, newer)
    found = kwhatif.gate([str(tmp_path / "head")], base=[str(tmp_path / "base")], snapshot=[CLUSTER])
    (commands,) = [gap.closed_by for gap in found.fidelity.gaps if gap.what.endswith("its chart is not here")]
    assert commands == ("helm pull web --version 2.x",)


def test_what_a_pulled_chart_lacks_of_a_registry_is_pulled_by_its_own_url(tmp_path: Path) -> None:
    needs = FILES["Chart.yaml"] + "dependencies: [{name: redis, version: 1.0.0, repository: 'oci://r.example.com/c'}]\n"
    write_files(tmp_path / "web", {**FILES, "Chart.yaml": needs})
    chart = ChartLibrary([str(tmp_path)]).find(ChartReference("web"))
    assert chart is not None
    commands = [each.command for each in chart.absent_dependencies()]
    assert commands == ["helm pull oci://r.example.com/c/redis --version 1.0.0"]


@needs_helm
def test_a_pulled_chart_takes_what_it_depends_on_from_the_library_too(tmp_path: Path) -> None:
    needs = FILES["Chart.yaml"] + "dependencies: [{name: redis, version: 1.x, repository: 'https://c.example.com'}]\n"
    write_files(tmp_path / "charts/web", {**FILES, "Chart.yaml": needs})
    text = RELEASE.replace("3, cpu", "3, redis: {replicas: 2}, cpu")
    found, report = read(tmp_path / "without", text, [str(tmp_path / "charts")])
    assert not [name for name in found if name.startswith("Deployment")]
    why = "it depends on redis, which is not in its charts directory"
    command = "helm pull redis --repo https://c.example.com --version 1.x"
    assert [*report.not_rendered.values()] == [f"{why} ({command}; then --charts DIR)"]
    redis = {name: text.replace("web", "redis").replace("Release.Name", "Chart.Name") for name, text in FILES.items()}
    write_files(tmp_path / "charts/redis", redis)
    found, _ = read(tmp_path / "with", text, [str(tmp_path / "charts")])
    assert {name: spec["replicas"] for name, spec in found.items() if name.startswith("Dep")} == {  # type: ignore[index]
        "Deployment shop/redis": 2,
        "Deployment shop/shop-shop": 3,
    }


def test_a_library_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "web.tgz").write_bytes(b"")
    with pytest.raises(InputError, match=r"web\.tgz: expected a directory with pulled charts"):
        ChartLibrary([str(tmp_path / "web.tgz")]).find(ChartReference("web"))


@pytest.mark.parametrize(
    ("constraint", "yes", "no"),
    [
        ("1.2.3", ["1.2.3", "v1.2.3"], ["1.2.4", "1.2.3-rc.1"]),
        ("1.2", ["1.2.0", "1.2.9"], ["1.3.0"]),
        ("1", ["1.0.0", "1.9.9"], ["2.0.0", "0.9.0"]),
        ("*", ["0.1.0", "9.9.9"], ["1.0.0-rc.1", "latest"]),
        ("1.x", ["1.5.0"], ["2.0.0"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.2.2", "1.3.0"]),
        ("~1", ["1.9.0"], ["2.0.0"]),
        ("^1.2.3", ["1.2.3", "1.9.0"], ["1.2.2", "2.0.0"]),
        ("^0.2.3", ["0.2.3", "0.2.9"], ["0.3.0"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4"]),
        (">=1.2 <2", ["1.2.0", "1.9.9"], ["1.1.9", "2.0.0"]),
        (">=1.2, <2.0.0 || 3.x", ["1.5.0", "3.1.0"], ["2.0.0"]),
        ("> 1.2", ["1.3.0"], ["1.2.9"]),
        ("<=1.2", ["1.2.9", "1.0.0"], ["1.3.0"]),
        ("1.2 - 1.4.5", ["1.2.0", "1.4.5"], ["1.4.6"]),
        ("!=1.2.3", ["1.2.4"], ["1.2.3"]),
        (">=1.0.0-0", ["1.0.0-rc.1", "1.1.0-beta"], ["0.9.0"]),
        ("latest", ["latest"], ["1.0.0"]),
    ],
)
def test_constraints_of_versions(constraint: str, yes: list[str], no: list[str]) -> None:
    assert [version for version in (*yes, *no) if is_allowed(version, constraint)] == yes
