"""Variables of Flux's and Secrets of SOPS' in manifests that nobody has rendered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwhatif.errors import UsageError
from kwhatif.simulation.manifest_loading import variables_of
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.repository.envsubst import evaluate
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: "${TEAM:=shop}"}
spec:
  replicas: ${REPLICAS:-3}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:${TAG}", args: ["echo ${HOME}"], resources: {requests: {cpu: "${CPU:=100m}"}}}
"""


def read(tmp_path: Path, text: str, **variables: str) -> tuple[list[dict[str, Any]], ReadingReport]:
    (tmp_path / "a.yaml").write_text(text)
    report = ReadingReport()
    found = load_manifests([str(tmp_path)], options=ReadingOptions(variables=variables), report=report)
    return [manifest.raw for manifest in found], report


def test_defaults_are_taken_and_what_a_shell_would_read_stays(tmp_path: Path) -> None:
    (web,), report = read(tmp_path, DEPLOYMENT)
    container = web["spec"]["template"]["spec"]["containers"][0]
    assert web["metadata"]["namespace"] == "shop"
    assert web["spec"]["replicas"] == 3
    assert container["resources"]["requests"]["cpu"] == "100m"
    assert container["args"] == ["echo ${HOME}"]
    assert list(report.gaps()) == []


def test_what_is_given_counts_more_than_a_default(tmp_path: Path) -> None:
    (web,), _ = read(tmp_path, DEPLOYMENT, REPLICAS="5", TEAM="blue")
    assert (web["spec"]["replicas"], web["metadata"]["namespace"]) == (5, "blue")


def test_a_number_in_an_object_that_an_operator_reads_is_one(tmp_path: Path) -> None:
    text = (
        "apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: pg}\nspec: {instances: '${REPLICAS:=2}'}\n"
    )
    (given,), _ = read(tmp_path, text, REPLICAS="3")
    (default,), _ = read(tmp_path, text)
    assert (given["spec"]["instances"], default["spec"]["instances"]) == (3, 2)


def test_a_variable_without_a_value_is_a_gap_of_its_file_and_the_object_left_out(tmp_path: Path) -> None:
    found, report = read(tmp_path, DEPLOYMENT.replace("${REPLICAS:-3}", "${REPLICAS}"))
    assert found == []
    assert list(report.gaps()) == [
        (
            f"{tmp_path}/a.yaml: Flux substitutes REPLICAS; give --var REPLICAS=...",
            "Deployment web is left out",
        )
    ]


def test_in_names_and_labels_a_variable_stands_for_itself(tmp_path: Path) -> None:
    (web,), report = read(tmp_path, DEPLOYMENT.replace("name: web, namespace", 'name: "${MY_APP}", namespace'))
    assert web["metadata"]["name"] == "my-app"
    assert [effect for _, effect in report.gaps()] == ["in names and labels their own names stand for variables"]


def test_two_dollars_are_one_and_an_object_may_forbid_substitution(tmp_path: Path) -> None:
    (web,), _ = read(tmp_path, DEPLOYMENT.replace("name: web, namespace", 'name: "a-$${B}", namespace'))
    assert web["metadata"]["name"] == "a-${B}"
    off = 'annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}, namespace: "${A}"'
    (pod,), _ = read(tmp_path, f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, {off}}}\n")
    assert pod["metadata"]["namespace"] == "${A}"


def test_a_secret_that_is_encrypted_is_one_of_unknown_content(tmp_path: Path) -> None:
    text = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: 'ENC[AES256_GCM,data:x]'}\n"
        "sops: {mac: x, version: 3.9.0}\n"
    )
    (secret,), report = read(tmp_path, text)
    assert secret == {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"password": None}}
    assert list(report.notes()) == ["1 Secret is encrypted by SOPS: what it holds is not known"]


def test_what_the_api_server_checks_is_no_word_that_stands_for_a_variable(tmp_path: Path) -> None:
    policy = (
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\n"
        "spec: {podSelector: {}, egress: [{to: [{ipBlock: {cidr: '${HOME_NET}'}}]}]}\n"
    )
    found, report = read(tmp_path, policy)
    assert found == []
    assert [effect for _, effect in report.gaps()] == ["NetworkPolicy a is left out"]


def test_a_secret_whose_name_is_a_variable_is_no_wrong_name(tmp_path: Path) -> None:
    variable = "env: [{name: KEY, valueFrom: {secretKeyRef: {name: '${PLUGIN_keys}', key: a}}}], resources"
    (web,), report = read(tmp_path, DEPLOYMENT.replace("resources", variable))
    (container,) = web["spec"]["template"]["spec"]["containers"]
    assert container["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "plugin-keys"
    assert [effect for _, effect in report.gaps()] == ["in names and labels their own names stand for variables"]


VALUES = {"A": "hello", "EMPTY": "", "PATH": "a/b/c", "N": "3"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${ABSENT:=${A}}", "hello"),
        ("${ABSENT:=${EMPTY:=${N}}x}", "3x"),
        ("${EMPTY:-d}${A:=x}", "dhello"),
        ("${A^}${A^^}${A,}", "HelloHELLOhello"),
        (r"${PATH//\//-}", "a-b-c"),
        ("${PATH/#a/z}${PATH/#a/}", "z/b/ca/b/c"),
        ("${PATH%/*} ${PATH##*/}", "a/b c"),
        ("${#A}${A:1:2}${A:-2}", "5elhello"),
        ("${A: -2}", "hello"),
        ("${A-word} $${A}", "${A-word} ${A}"),
    ],
)
def test_texts_become_what_envsubst_makes_of_them(text: str, value: str) -> None:
    assert evaluate(text, lambda name, _: VALUES.get(name, "")) == value


FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: flux-system}
spec:
  path: ./web
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild:
    substitute: {ROLE: batch, ARG: fast}
    substituteFrom: [{kind: Secret, name: settings}]
"""
SETTINGS = """\
apiVersion: v1
kind: Secret
metadata: {name: settings, namespace: flux-system}
stringData: {REPLICAS: 'ENC[AES256_GCM,data:x]'}
sops: {mac: x, version: 3.9.0}
"""
WEB = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  tolerations: [{key: role, value: "${ROLE}", effect: NoSchedule}]
  containers: [{name: web, image: "web:${TAG:=1}", args: ["--${ARG}", "$${HOME}"]}]
"""


def read_deployed(tmp_path: Path, pod: str) -> tuple[list[dict[str, Any]], ReadingReport]:
    (tmp_path / "web").mkdir()
    for name, text in (("flux.yaml", FLUX), ("settings.yaml", SETTINGS), ("web/pod.yaml", pod)):
        (tmp_path / name).write_text(text)
    report = ReadingReport()
    options = ReadingOptions(render="auto")
    found = load_manifests([str(tmp_path), str(tmp_path / "web")], options=options, report=report)
    return [manifest.raw for manifest in found if manifest.raw["kind"] == "Pod"], report


def test_flux_substitutes_everywhere_in_what_it_deploys(tmp_path: Path) -> None:
    (pod,), report = read_deployed(tmp_path, WEB)
    (container,) = pod["spec"]["containers"]
    assert (container["image"], container["args"]) == ("web:1", ["--fast", "${HOME}"])
    assert pod["spec"]["tolerations"][0]["value"] == "batch"
    assert list(report.gaps()) == []


def test_a_default_does_not_stand_for_what_an_encrypted_source_says(tmp_path: Path) -> None:
    found, report = read_deployed(tmp_path, WEB.replace("spec:", "spec:\n  priority: ${REPLICAS:=3}"))
    assert found == []
    assert [effect for _, effect in report.gaps()] == ["Pod web is left out"]


def test_variables_are_told_as_name_and_value() -> None:
    assert variables_of(["A=1", "B=x=y", "A=2"]) == {"A": "2", "B": "x=y"}
    with pytest.raises(UsageError, match="--var A: expected NAME=VALUE"):
        variables_of(["A"])
