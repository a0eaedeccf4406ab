"""What nobody can read here is a gap where it changes: programs that make objects, values that SOPS has encrypted, and
what a changed object deploys from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kwhatif.commands.gate.files import account_files
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.charts import is_helm_installed
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from tests.security.repositories import write_files

DEPLOYMENT = (
    'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: "web%s"}\nspec:\n  selector: {matchLabels: {app: a}}\n'
    "  template:\n    metadata: {labels: {app: a}}\n    spec:\n"
    "      containers: [{name: a, image: a, resources: {requests: {cpu: %s}}}]\n"
)
KUSTOMIZATION = (
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n"
    "spec:\n  path: ./apps\n  sourceRef: {kind: GitRepository, name: flux-system}\n"
    "  postBuild: {substituteFrom: [{kind: Secret, name: settings}]}\n"
)
RELEASE = (
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\n"
    "spec: {chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: r}}}, values: {replicas: %s}}\n"
)
LOCAL = (
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\nspec:\n"
    "  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}}\n"
    "  valuesFrom: [{kind: Secret, name: settings, valuesKey: cpu, optional: true}]\n"
)
CHART = {"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n"}
SOPS = (
    "apiVersion: v1\nkind: Secret\nmetadata: {name: settings, namespace: flux-system}\n"
    "stringData: {cpu: 'ENC[%s]', password: 'ENC[%s]'}\nsops: {mac: 'ENC[%s]', version: 3.9.0}\n"
)


def read(folder: Path, files: Mapping[str, str], render: str = "never") -> ReadingReport:
    write_files(folder, dict(files))
    report = ReadingReport()
    options = ReadingOptions(may_be_empty=True, render=render, roots=[str(folder)])
    load_manifests(gather_directories([str(folder)]), options=options, report=report)
    return report


def missing(folder: Path, base: Mapping[str, str], change: Mapping[str, str], render: str = "never") -> dict[str, str]:
    """The files of a change that were not read, with the reasons."""
    base = {"pod.yaml": DEPLOYMENT % ("", "1m"), **base}
    before, now = read(folder / "base", base, render), read(folder / "head", {**base, **change}, render)
    files = account_files(now.files, before.files, [str(folder / "head")], [str(folder / "base")], ())
    return {each.file.removeprefix(f"{folder}/head/"): each.reason for each in files.missing}


PROGRAMS = {
    "main.jsonnet": "{}",
    "lib.libsonnet": "{}",
    "timoni.cue": "a: 1",
    "main.k": "a = 1",
    "main.pkl": "a = 1",
    "main.dhall": "{ a = 1 }",
    "release.tf": 'resource "helm_release" "web" {}',
    "web.yaml.tpl": DEPLOYMENT % ("{{ a }}", "1m"),
    "web.yaml.j2": DEPLOYMENT % ("{% a %}", "1m"),
    "values.yaml.gotmpl": "replicas: {{ .Values.replicas }}",
    "helmfile.yaml.gotmpl": "releases: []",
    "helmfile.yaml": "releases: [{name: web, chart: r/web}]",
    "helmfile.d/00-web.yaml": "repositories: []\n---\nreleases: [{name: web, chart: r/web}]",
    "fleet.yaml": "defaultNamespace: shop\nhelm: {chart: ./web}",
    "ytt.yaml": "#@ load('@ytt:data', 'data')\n" + DEPLOYMENT % ("", "1m"),
    "ytt-values.yaml": "replicas: #@ data.values.replicas\n",
}
OTHERS = {
    "main.tf": 'resource "aws_vpc" "web" {}',
    "README.md.gotmpl": "kind: {{ a }}",
    "talos.yaml.j2": "machine: {}",
    "app.yaml": "helm: {chart: ./web}\nport: 1",
    "fleet.txt": "helm: {}",
    "notes.yaml": "#@ a remark\na: 1",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_makes_objects_of_is_not_read(name: str, tmp_path: Path) -> None:
    assert list(missing(tmp_path, {}, {name: PROGRAMS[name]})) == [name]


def test_other_files_of_such_names_have_no_effect(tmp_path: Path) -> None:
    assert missing(tmp_path, {}, OTHERS) == {}


def test_what_a_program_makes_is_a_gap_of_all_answers_about_its_directory(tmp_path: Path) -> None:
    report = read(tmp_path, {"main.jsonnet": "{}", "apps/pod.yaml": DEPLOYMENT % ("", "1m")})
    assert [(file, entry.reason) for file, entry in report.files.gaps()] == [
        (
            str(tmp_path / "main.jsonnet"),
            "a Jsonnet program, which is no object of a cluster: print its objects first, as jsonnet does",
        )
    ]
    assert next(report.notes()) == "passed over in directories, as no objects of a cluster: 1 Jsonnet program"


FLUX = {"ks.yaml": KUSTOMIZATION, "settings.sops.yaml": SOPS % ("a", "b", "c")}
TAKEN = "SOPS has encrypted it, and Deployment web takes it"
ENCRYPTED = {
    "requests": ({"apps/web.yaml": DEPLOYMENT % ("", "'${cpu}'")}, TAKEN),
    "a name": ({"apps/web.yaml": DEPLOYMENT % ("-${cpu}", "1m")}, TAKEN.replace("web", "web-cpu")),
    "nothing that matters": ({"apps/web.yaml": (DEPLOYMENT % ("", "1m")).replace("image: a", "image: 'a:${cpu}'")}, ""),
    "values of a release": (
        {**CHART, "web.yaml": LOCAL},
        "SOPS has encrypted it, and HelmRelease flux-system/web takes it",
    ),
}


@pytest.mark.parametrize("what", ENCRYPTED)
def test_a_value_that_changed_behind_encryption_is_a_gap_once_if_an_object_takes_it(what: str, tmp_path: Path) -> None:
    files, reason = ENCRYPTED[what]
    changed = missing(tmp_path, {**FLUX, **files}, {"settings.sops.yaml": SOPS % ("new", "b", "new")})
    assert changed == ({"settings.sops.yaml -> cpu": reason} if reason else {})


def test_another_value_of_the_same_secret_changes_nothing_that_is_judged(tmp_path: Path) -> None:
    base = {**FLUX, "apps/web.yaml": DEPLOYMENT % ("", "'${cpu}'")}
    assert missing(tmp_path, base, {"settings.sops.yaml": SOPS % ("a", "new", "new")}) == {}


def test_an_object_that_changed_and_was_left_out_for_a_variable_is_not_read(tmp_path: Path) -> None:
    web = DEPLOYMENT % ("", "'${cpu}'")
    changed = missing(tmp_path, {**FLUX, "apps/web.yaml": web}, {"apps/web.yaml": web.replace("image: a", "image: b")})
    assert changed == {"apps/web.yaml -> Deployment web": "Flux substitutes cpu, which nothing here says"}


def test_a_variable_of_a_shell_in_a_template_of_workflows_is_what_it_says(tmp_path: Path) -> None:
    script = (
        "    script: {image: a, source: 'mpiexec --host ${MPI_HOST}'}\n    resource: {manifest: 'a: ${MPI_HOST}'}\n"
    )
    template = (
        "apiVersion: argoproj.io/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: mpi}\n"
        f"spec:\n  templates:\n  - name: a\n{script}"
    )
    assert missing(tmp_path, {}, {"mpi.yaml": template}) == {}


ABSENT = "its chart is not here (helm pull web; then --charts DIR)"
FOLLOWERS = {
    "new values of a chart elsewhere": ({"web.yaml": RELEASE % 1}, {"web.yaml": RELEASE % 2}, ABSENT),
    "a release that comes": ({}, {"web.yaml": RELEASE % 1}, ABSENT),
    "a release in another file": ({"web.yaml": RELEASE % 1}, {"web.yaml": "", "apps.yaml": RELEASE % 1}, ""),
    "a chart here that nobody renders": (
        {**CHART, "web.yaml": LOCAL},
        {"web.yaml": LOCAL + "  values: {replicas: 2}\n"},
        "what it deploys is not read: charts, which --render auto has rendered",
    ),
}


@pytest.mark.parametrize("case", FOLLOWERS)
def test_an_object_that_changed_and_deploys_what_is_not_read_is_not_read(case: str, tmp_path: Path) -> None:
    base, change, reason = FOLLOWERS[case]
    changed = missing(tmp_path, base, change)
    assert changed == ({"web.yaml -> HelmRelease flux-system/web": reason} if reason else {})


@pytest.mark.skipif(not is_helm_installed(), reason="helm is not installed")
def test_values_that_no_release_here_takes_are_not_read(tmp_path: Path) -> None:
    chart = {**CHART, "chart/values.yaml": "a: 1\n", "chart/templates/a.yaml": DEPLOYMENT % ("", "1m")}
    more = {
        "chart/values-prod.yaml": "a: 2\n",
        "chart/prod/app-values.yaml": "a: 2\n",
        "chart/ci/a-values.yaml": "a: 3\n",
        "chart/templates/values-map.yaml": "",
    }
    why = "nothing here deploys a chart with these values"
    changed = missing(tmp_path, chart, more, render="auto")
    assert changed == dict.fromkeys(("chart/prod/app-values.yaml", "chart/values-prod.yaml"), why)
