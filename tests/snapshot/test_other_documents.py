"""What stands beside manifests in a repository: passed over in a directory, refused with its own sentence if named."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: a}]}\n"

CHART = pytest.param("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n", "chart", id="a chart")
OTHERS = [
    pytest.param("values.yaml", "replicaCount: 1\nresources: {}\n", "file of Helm values", id="values of a chart"),
    pytest.param(
        "kind.yaml", "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n", "configuration of kind", id="kind"
    ),
    pytest.param("k3d.yaml", "apiVersion: k3d.io/v1alpha5\nkind: Simple\n", "configuration of k3d", id="k3d"),
    pytest.param("ci.yaml", "on: push\njobs: {}\n", "file of CI", id="a workflow of GitHub"),
    pytest.param("data.json", '{"a": 1}', "document without apiVersion and kind", id="JSON of anything"),
    pytest.param("list.yaml", "- hosts: all\n", "document without apiVersion and kind", id="a list"),
    pytest.param(
        "policy.yaml",
        "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n",
        "DeschedulerPolicy",
        id="descheduler",
    ),
    pytest.param(
        "kubeadm.yaml",
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n",
        "configuration of kubeadm",
        id="kubeadm",
    ),
    pytest.param("audit.json", '{"apiVersion":"audit.k8s.io/v1","kind":"Event"}', "log of API requests", id="audit"),
    pytest.param("trace.json", '{"events": [], "config": {}, "index": {}}', "trace of SimKube", id="a trace in JSON"),
    pytest.param("openb.yaml", "name,cpu_milli,memory_mib,num_gpu\na,1,2,0\n", "table of the openb traces", id="openb"),
    pytest.param("compose.yaml", "services: {web: {}}\n", "Compose file", id="a Compose file"),
    pytest.param("tsconfig.json", '{"a": 1, // comment\n}', "file of another format", id="JSON with comments"),
    pytest.param(
        "omni.yaml",
        "metadata: {namespace: default, type: MachineClasses.omni.sidero.dev, id: worker}\nspec: {}\n",
        "resource of Omni or Talos",
        id="COSI",
    ),
    pytest.param("t.yaml", "metadata:\n  name: {{ .Values.name }}\n", "template", id="a template"),
    pytest.param("secret.yaml", "a: ENC[x]\nsops: {version: 3.9}\n", "document encrypted by SOPS", id="SOPS"),
]

KUSTOMIZATIONS = [
    pytest.param("kustomization.yaml", "resources: [a.yaml]\n", "Kustomization", id="a kustomization without kind"),
    pytest.param(
        "kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: a\n",
        "Kustomization",
        id="a kustomization",
    ),
]


@pytest.mark.parametrize(("name", "text", "sort"), OTHERS)
def test_in_a_directory_what_is_no_object_is_passed_over_and_counted(
    name: str, text: str, sort: str, tmp_path: Path
) -> None:
    (tmp_path / "web.yaml").write_text(POD)
    (tmp_path / name).write_text(text)
    report = ReadingReport()
    manifests = load_manifests([str(tmp_path)], report=report)
    assert [manifest.obj.name for manifest in manifests] == ["web"]
    assert list(report.notes()) == [f"passed over in directories, as no objects of a cluster: 1 {sort}"]


def test_what_lies_beside_a_chart_belongs_to_it(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(POD)
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 1.0.0\n")
    with pytest.raises(InputError, match="no objects of a cluster in here, only 1 chart"):
        load_manifests([str(tmp_path)])


@pytest.mark.parametrize(("name", "text", "sort"), [*OTHERS, CHART, *KUSTOMIZATIONS])
def test_named_by_itself_it_is_an_error(name: str, text: str, sort: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        load_manifests([str(tmp_path / name)])
    told = str(caught.value)
    assert name in told
    assert sort in told or sort.startswith(("document without", "file of another"))


def test_what_a_kustomization_does_not_list_is_not_deployed_and_so_passed_over(tmp_path: Path) -> None:
    for name, text in (("kustomization.yaml", "resources: [a.yaml]\n"), ("a.yaml", POD), ("b.yaml", POD)):
        (tmp_path / name).write_text(text)
    report = ReadingReport()
    assert [str(each.origin) for each in load_manifests([str(tmp_path)], report=report)] == [str(tmp_path / "a.yaml")]
    assert "1 file beside a Kustomization that does not list it" in next(report.notes())


def test_a_trace_in_message_pack_is_known_by_its_keys(tmp_path: Path) -> None:
    (tmp_path / "trace.sktrace").write_bytes(b"\x84\xa6config\x80\xa6events\x90\xa5index\x80\xaepod_lifecycles\x80")
    with pytest.raises(InputError, match="a trace of SimKube, which is no object of a cluster"):
        load_manifests([str(tmp_path / "trace.sktrace")])


def test_helm_values_with_resources_are_no_kustomization(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("resources:\n  requests: {cpu: 1}\n")
    with pytest.raises(InputError, match="a file of Helm values"):
        load_manifests([str(tmp_path / "values.yaml")])


def test_an_object_that_somebody_forgot_to_finish_is_an_error_in_a_directory_too(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text("kind: Pod\nmetadata: {name: web}\n")
    with pytest.raises(InputError, match=r"\$\.apiVersion: expected a string"):
        load_manifests([str(tmp_path)])


def test_a_directory_without_any_object_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 1.0.0\n")
    with pytest.raises(InputError, match="no objects of a cluster in here, only 1 chart"):
        load_manifests([str(tmp_path)])
    assert load_manifests([str(tmp_path)], options=ReadingOptions(may_be_empty=True)) == []


def test_what_is_excluded_is_not_even_counted(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(POD)
    (tmp_path / "broken.yaml").write_text("apiVersion: [\n")
    report = ReadingReport()
    assert len(load_manifests([str(tmp_path)], options=ReadingOptions(("broken.yaml",)), report=report)) == 1
    assert list(report.notes()) == []


def test_a_program_s_configuration_has_no_name_and_is_passed_over_whatever_its_kind(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(POD)
    (tmp_path / "manager.yaml").write_text("apiVersion: config.example.com/v1\nkind: Configuration\nhealth: {}\n")
    (tmp_path / "jinja.yaml").write_text("kind: Pod\nmetadata:\n  name: {{ item.name }}-{% if a %}x{% endif %}\n")
    report = ReadingReport()
    assert len(load_manifests([str(tmp_path)], report=report)) == 1
    counts = "1 configuration of a program, 1 template"
    assert list(report.notes()) == [f"passed over in directories, as no objects of a cluster: {counts}"]


def test_two_alternatives_of_one_workload_in_a_directory_are_one_and_say_where_both_stand(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(POD)
    (tmp_path / "b.yaml").write_text(POD.replace("image: a", "image: b"))
    (manifest,) = load_manifests([str(tmp_path)])
    assert manifest.origin.file.endswith("b.yaml")
    assert manifest.replaces is not None
    assert manifest.replaces.file.endswith("a.yaml")
    with pytest.raises(InputError, match="appears twice"):
        load_manifests([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")])
