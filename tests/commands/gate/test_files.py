"""A file that changed and was not read into objects is a gap by name, and no gate passes without it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from kwhatif import gate
from kwhatif.commands.gate.change import compare_manifests, find_unlisted
from kwhatif.commands.gate.files import account_files
from kwhatif.results.gate import GateFiles
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.read.files import Text
from kwhatif.snapshot.repository.file_account import FileAccount, FileEntry, FileUse
from kwhatif.snapshot.repository.kustomization_fields import read_fields
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from tests.security.repositories import write_files

RENDERINGS: tuple[Literal["never", "auto"], ...] = ("never", "auto")
SNAPSHOT = str(Path(__file__).parents[3] / "samples" / "gate" / "snapshot.json")


def deployment(name: str) -> str:
    return (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n"
        "  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: {app: a}}\n    spec:\n"
        "      containers:\n      - {name: a, image: a11}\n"
    )


PATCH = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n"
    "  template: {spec: {containers: [{name: a, resources: {requests: {cpu: 11m}}}]}}\n"
)
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.0.11\ndependencies: [{name: redis, version: 1.0.0}]\n",
    "chart/values.yaml": "cpu: 11m\n",
    "chart/templates/web.yaml": deployment("web"),
    "chart/templates/_names.tpl": '{{ define "name" }}11{{ end }}\n',
}
REPOSITORY = {
    **CHART,
    "README.md": "11 words\n",
    "plain/web.yaml": deployment("plain"),
    "plain/notes.txt": "11\n",
    "plain/config.yaml": "port: 11\n",
    "plain/template.yaml": "apiVersion: v1\nkind: {{ .Kind }}\nmetadata: {name: a11}\n",
    "plain/locked.yaml": "\0GITCRYPT\0 11",
    "plain/secret.sops.yaml": "apiVersion: ENC[a]\nkind: ENC[11]\nsops: {mac: a}\n",
    "plain/app-values.yaml": "replicaCount: 11\nresources: {}\n",
    "plain/broken.yaml": "apiVersion: v1\nkind: [11\n",
    "plain/.hidden.yaml": "a: 11\n",
    ".github/deep/pod.yaml": deployment("ci"),
    "base/kustomization.yaml": "resources: [web.yaml]\nnamePrefix: p11-\n",
    "base/web.yaml": deployment("web"),
    "base/unlisted.yaml": deployment("unlisted"),
    "prod/kustomization.yaml": (
        "resources: [../base]\npatches: [{path: cpu.yaml}]\nconfigMapGenerator: [{name: c, files: [settings.ini]}]\n"
        "commonLabels: {tier: a11}\n"
    ),
    "prod/cpu.yaml": PATCH,
    "prod/settings.ini": "size=11\n",
    "broken/kustomization.yaml": (
        "resources: [web.yaml]\npatches: [{path: cpu.yaml}]\nnamePrefix: a11\ntransformers: [a.yaml]\n"
    ),
    "broken/web.yaml": deployment("web"),
    "broken/cpu.yaml": PATCH,
    "flux/apps.yaml": (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata: {name: apps, namespace: flux-system}\nspec: {path: ./deployed,"
        " targetNamespace: n11, sourceRef: {kind: GitRepository, name: a}}\n"
    ),
    "remote/kustomization.yaml": "resources: ['https://example.com/a?ref=v11']\n",
    "over/kustomization.yaml": "resources: [far]\npatches: [{path: cpu.yaml}]\nnamePrefix: p11-\n",
    "over/cpu.yaml": PATCH,
    "over/far/kustomization.yaml": "resources: ['https://example.com/b?ref=v1']\nnameSuffix: -s11\n",
    "made/kustomization.yaml": "configMapGenerator: [{name: a11, files: ['a=https://example.com/c.json']}]\n",
    "deployed/kustomization.yaml": "resources: [web.yaml]\npatches: [{path: ../common/cpu.yaml}]\nnameSuffix: -s11\n",
    "deployed/web.yaml": deployment("web"),
    "common/cpu.yaml": PATCH,
}
NOT_READ = {
    *CHART,
    *("plain/template.yaml", "plain/locked.yaml", "plain/secret.sops.yaml", "plain/app-values.yaml"),
    *("plain/broken.yaml", "broken/kustomization.yaml", "broken/web.yaml", "broken/cpu.yaml"),
}
FAR = {
    **dict.fromkeys(
        ("over/cpu.yaml", "over/kustomization.yaml", "over/far/kustomization.yaml"),
        "over/far/kustomization.yaml -> https://example.com/b?ref=v1",
    ),
    "made/kustomization.yaml": "made/kustomization.yaml -> https://example.com/c.json",
}
PASSED_OVER = {
    *("README.md", "plain/notes.txt", "plain/config.yaml", "plain/.hidden.yaml", "base/unlisted.yaml"),
    ".github/deep/pod.yaml",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for side in ("base", "head"):
        write_files(tmp_path / side, dict(REPOSITORY))
    return tmp_path


def read(folder: Path) -> tuple[list[str], ReadingReport]:
    report = ReadingReport()
    options = ReadingOptions(may_be_empty=True, roots=[str(folder)])
    found = load_manifests(gather_directories([str(folder)]), options=options, report=report)
    return sorted(f"{each.key} {json.dumps(each.raw, sort_keys=True)}" for each in found), report


def compare(repository: Path, then: tuple[list[str], ReadingReport]) -> tuple[bool, Mapping[str, str]]:
    """Whether objects differ, and what became of the files that do."""
    objects, report = read(repository / "head")
    before, of_base = then
    head, base = [str(repository / "head")], [str(repository / "base")]
    files = account_files(report.files, of_base.files, head, base, ())
    uses = {each.file.removeprefix(f"{repository}/")[len("head/") :]: each.use for each in files.changed}
    return objects != before, uses


@pytest.mark.long
def test_any_changed_file_changes_objects_or_is_named_as_without_effect_or_as_not_read(repository: Path) -> None:
    then = read(repository / "base")
    assert compare(repository, then) == (False, {})
    for name, text in REPOSITORY.items():
        path = repository / "head" / name
        path.write_text(text.replace("11", "12"))
        differ, uses = compare(repository, then)
        path.write_text(text)
        expected = "not read" if name in NOT_READ else "passed over" if name in PASSED_OVER else ""
        if expected:
            assert uses == {name: expected}
        elif name in FAR:
            assert uses == {name: "rendered", FAR[name]: "not read"}
        elif name.startswith("remote/"):
            addresses = {f"{name} -> https://example.com/a?ref=v{number}": "not read" for number in (11, 12)}
            assert uses == {name: "rendered", **addresses}
        else:
            assert list(uses) == [name]
            assert uses[name] in ("read", "rendered")
            assert differ, name


@pytest.mark.long
def test_files_that_come_and_go_are_named_as_well(repository: Path) -> None:
    generator, then = random.Random(41), read(repository / "base")
    for name in generator.sample(sorted(REPOSITORY), 6):
        path = repository / "head" / name
        text = path.read_text()
        path.unlink()
        differ, uses = compare(repository, then)
        path.write_text(text)
        assert name in uses
        assert differ or uses[name] == "passed over" or "not read" in uses.values(), name


def judge(repository: Path, render: Literal["never", "auto"] = "never") -> tuple[str, int, GateFiles]:
    found = gate([str(repository / "head")], base=[str(repository / "base")], snapshot=SNAPSHOT, render=render)
    return found.verdict, found.exit_code, found.files


@pytest.mark.long
def test_a_changed_chart_that_cannot_be_rendered_does_not_pass_unless_it_is_accepted_by_name(tmp_path: Path) -> None:
    for side in ("base", "head"):
        write_files(tmp_path / side, {**CHART, "web.yaml": deployment("web")})
    assert judge(tmp_path)[:2] == ("pass", 0)
    (tmp_path / "head" / "chart" / "values.yaml").write_text("cpu: 12m\n")
    for render in RENDERINGS:
        verdict, code, files = judge(tmp_path, render=render)
        assert (verdict, code) == ("unknown", 2)
        (missing,) = files.missing
        assert missing.file.endswith("head/chart/values.yaml")
        assert missing.reason.startswith("its chart was not rendered: ")
    found = gate(
        [str(tmp_path / "head")], base=[str(tmp_path / "base")], snapshot=SNAPSHOT, accept=["chart/values.yaml"]
    )
    assert (found.verdict, found.exit_code, found.note) == ("warn", 0, "")
    assert any("chart/values.yaml" in gap.what and "accepted" in gap.effect for gap in found.fidelity.gaps)


def test_who_deploys_what_cannot_be_built_is_not_read_either(tmp_path: Path) -> None:
    write_files(tmp_path, {name: text for name, text in REPOSITORY.items() if name.startswith(("flux", "deployed"))})
    write_files(tmp_path, {"common/cpu.yaml": PATCH})
    apps = tmp_path / "flux" / "apps.yaml"
    apps.write_text(apps.read_text().replace("spec: {", "spec: {components: [../absent], "))
    _, report = read(tmp_path)
    entry = report.files.entries[str(apps)]
    assert entry.use.is_gap
    assert entry.reason == "what it deploys cannot be built: '../absent' is not there, and nothing is fetched"


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("kind: Kustomizatio", "kind: expected Kustomization or Component"),
        (
            "kind: Component\napiVersion: kustomize.config.k8s.io/v1beta1",
            "apiVersion: expected kustomize.config.k8s.io/v1alpha1 for a Component",
        ),
    ],
)
def test_a_kustomization_of_another_kind_or_version_is_not_built(head: str, problem: str, tmp_path: Path) -> None:
    write_files(tmp_path, {"kustomization.yaml": f"{head}\nresources: [web.yaml]\n", "web.yaml": deployment("web")})
    problems: list[str] = []
    file = tmp_path / "kustomization.yaml"
    read_fields(Text(str(file), file.read_bytes()), problems)
    assert problems == [problem]


def test_nothing_to_judge_is_said_once_every_changed_file_was_looked_at(tmp_path: Path) -> None:
    for side in ("base", "head"):
        write_files(tmp_path / side, {"web.yaml": deployment("web"), "README.md": side})
    found = gate([str(tmp_path / "head")], base=[str(tmp_path / "base")], snapshot=SNAPSHOT)
    assert found.note.startswith("nothing to judge")
    assert [(each.use, each.reason) for each in found.files.changed] == [("passed over", "no manifest by its name")]
    assert str(found.files) == "Files: 2 named, 1 read, 1 passed over."


def test_a_file_that_is_no_text_ends_no_run(tmp_path: Path) -> None:
    for side in ("base", "head"):
        write_files(tmp_path / side, {"web.yaml": deployment("web")})
        (tmp_path / side / "odd.yaml").write_bytes(f"a: {side}".encode("utf-16"))
    verdict, code, files = judge(tmp_path)
    assert (verdict, code) == ("unknown", 2)
    assert [(each.file.rpartition("/")[2], each.reason) for each in files.missing] == [
        ("odd.yaml", "the text is UTF-16, expected UTF-8")
    ]


def test_what_pods_refer_to_is_there_if_git_has_it_unchanged_and_the_snapshot_lacks_its_kind(tmp_path: Path) -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a, namespace: b}\nspec: {}\n"
    write_files(tmp_path, {"claim.yaml": claim, "web.yaml": deployment("web")})
    manifests = load_manifests([str(tmp_path)])
    unlisted = [
        [each.obj.kind for each in find_unlisted(manifests, kinds)] for kinds in ((), ("PersistentVolumeClaim",))
    ]
    assert unlisted == [["PersistentVolumeClaim"], []]


FLUX = (
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n"
    "spec: {path: ./apps, sourceRef: {kind: GitRepository, name: flux-system}, PRUNE}\n"
)
ARGO = (
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps}\n"
    "spec: {source: {path: apps}, destination: {namespace: default}, PRUNE}\n"
)


@pytest.mark.parametrize(
    ("deployer", "notes", "reason"),
    [
        (FLUX.replace("PRUNE", "prune: true"), "", ""),
        (FLUX.replace("PRUNE", "prune: false"), "", "prune: false"),
        (
            FLUX.replace("PRUNE", "prune: true"),
            "{kustomize.toolkit.fluxcd.io/prune: disabled}",
            "kustomize.toolkit.fluxcd.io/prune: disabled",
        ),
        (ARGO.replace("PRUNE", "syncPolicy: {automated: {prune: true}}"), "", ""),
        (ARGO.replace("PRUNE", "syncPolicy: {automated: {}}"), "", "automated without prune"),
        (ARGO.replace("PRUNE", "syncPolicy: {}"), "", ""),
        (
            ARGO.replace("PRUNE", "syncPolicy: {automated: {prune: true}}"),
            "{argocd.argoproj.io/sync-options: 'Validate=false,Prune=false'}",
            "argocd.argoproj.io/sync-options: Validate=false,Prune=false",
        ),
    ],
)
def test_what_leaves_git_stays_in_the_cluster_where_whoever_deploys_it_does_not_prune(
    deployer: str, notes: str, reason: str, tmp_path: Path
) -> None:
    web = deployment("web").replace("{name: web}", f"{{name: web, annotations: {notes or '{}'}}}")
    for side in ("base", "head"):
        files = {"deployer.yaml": deployer, "apps/other.yaml": deployment("other")}
        write_files(tmp_path / side, files | ({"apps/web.yaml": web} if side == "base" else {}))
    base, head = (
        load_manifests(gather_directories([str(tmp_path / side)]), options=ReadingOptions())
        for side in ("base", "head")
    )
    (change,) = [each for each in compare_manifests(base, head).changes if each.what != "unchanged"]
    assert (change.what, change.details) == (
        ("kept", (f"it stays in the cluster: {reason}",)) if reason else ("removed", ())
    )


@pytest.mark.parametrize("named", [".", "./", "head/..", "{}"])
def test_a_file_has_one_name_however_its_directory_is_named(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {**CHART, "head/broken.yaml": "kind: [11\n", "head/web.yaml": deployment("web")})
    monkeypatch.chdir(tmp_path)
    found = gate([named.format(tmp_path)], snapshot=SNAPSHOT, render="never").files
    assert found.named == len(CHART) + 2
    assert found.read == 1
    assert f"{tmp_path}/" * (named == "{}") + "head/broken.yaml" in [each.file for each in found.changed]


def test_of_an_object_that_two_files_have_the_one_that_does_not_count_is_named_with_the_other(tmp_path: Path) -> None:
    for side in ("base", "head"):
        first = deployment("web").replace("a11", "a12") if side == "head" else deployment("web")
        write_files(tmp_path / side, {"a.yaml": first, "b.yaml": deployment("web").replace("a11", "b")})
    _, exit_code, files = judge(tmp_path)
    assert exit_code == 0
    (one,) = files.changed
    assert one.file.endswith("/head/a.yaml")
    assert one.reason.startswith('of Deployment "default/web" another file counts: ')


def test_an_object_that_was_left_out_for_a_variable_is_not_known_to_be_gone_once_its_file_is(tmp_path: Path) -> None:
    source = "postBuild: {substituteFrom: [{kind: Secret, name: elsewhere}]}"
    flux = FLUX.replace("PRUNE", f"prune: true, {source}")
    web = deployment("web").replace("image: a11", "image: a, resources: {requests: {cpu: '${CPU}'}}")
    for side in ("base", "head"):
        files = {"flux.yaml": flux, "apps/other.yaml": deployment("other")}
        write_files(tmp_path / side, files | ({"apps/web.yaml": web} if side == "base" else {}))
    found = gate([str(tmp_path / "head")], base=[str(tmp_path / "base")], snapshot=SNAPSHOT, render="never")
    assert any("Flux substitutes CPU" in gap.what for gap in found.fidelity.gaps)


def test_overlays_of_one_file_are_workloads_of_their_own(tmp_path: Path) -> None:
    files = {"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": deployment("web")}
    files |= {f"{name}/kustomization.yaml": f"resources: [../base]\nnamePrefix: {name}-\n" for name in ("big", "one")}
    files["big/kustomization.yaml"] += "patches: [{path: cpu.yaml}]\nreplicas: [{name: web, count: 3}]\n"
    write_files(tmp_path, {**files, "big/cpu.yaml": PATCH.replace("11m", "900")})
    found = gate([str(tmp_path)], snapshot=SNAPSHOT)
    errors = [each for each in found.findings if each.level == "error"]
    assert [(each.subject and each.subject.name, each.numbers["pending"]) for each in errors] == [("big-web", 3)]
    assert {each.subject.name: each.pods_after for each in found.changes} == {"big-web": 3, "one-web": 1}


def test_a_file_beside_what_was_named_is_the_same_in_a_revision() -> None:
    entry = FileEntry(FileUse.read)
    head = FileAccount({"base/web.yaml": entry, "prod/cpu.yaml": entry})
    base = FileAccount({"HEAD:base/web.yaml": entry, "HEAD:prod/cpu.yaml": entry})
    assert account_files(head, base, ["prod"], ["HEAD:prod"], ()).changed == ()
