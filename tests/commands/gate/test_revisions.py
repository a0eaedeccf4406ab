"""The gate between two revisions of git, which nobody checks out."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kwhatif import gate
from kwhatif.errors import InputError, UsageError
from kwhatif.results.gate import Location
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.git_revisions import is_revision

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

SNAPSHOT = str(Path(__file__).parents[3] / "samples" / "gate" / "snapshot.json")


def web(replicas: int) -> str:
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n"
        f"  replicas: {replicas}\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n"
        "    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: web}]\n"
    )


def run_git(*words: str) -> None:
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(["git", *words], check=True, capture_output=True, env={**os.environ, **names})


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    run_git("init", "-q", "-b", "main", ".")
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "web.yaml").write_text(web(1))
    (tmp_path / "apps" / "values.yaml").write_text("replicaCount: 1\n")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "a.yaml").write_text("apiVersion: [")
    run_git("add", ".")
    run_git("commit", "-qm", "one")
    run_git("tag", "one")
    (tmp_path / "apps" / "web.yaml").write_text(web(2))
    run_git("commit", "-qam", "two")
    return tmp_path


def changes(*manifests: str, base: str | None = None) -> list[tuple[str, str]]:
    found = gate(list(manifests), snapshot=SNAPSHOT, base=base)
    return [(change.what, str(change.subject)) for change in found.changes]


CHANGED = [("changed", "Deployment shop/web")]


@pytest.mark.long
def test_two_words_that_are_revisions_are_base_and_head(repository: Path) -> None:
    assert changes("one", "main") == CHANGED


@pytest.mark.long
def test_a_directory_is_compared_with_itself_in_a_revision(repository: Path) -> None:
    assert changes("apps", base="one") == CHANGED
    assert changes("apps", base="main") == [("unchanged", "Deployment shop/web")]


@pytest.mark.long
def test_a_directory_is_found_from_within_the_repository(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "apps")
    assert changes(".", base="one") == CHANGED


@pytest.mark.long
def test_parts_of_revisions_are_named_as_git_does(repository: Path) -> None:
    assert changes("main:apps", base="one") == CHANGED
    assert changes("main:apps/web.yaml", base="one:apps/web.yaml") == CHANGED


@pytest.mark.long
def test_a_directory_that_a_revision_lacks_is_empty_there(repository: Path) -> None:
    (repository / "more").mkdir()
    (repository / "more" / "web.yaml").write_text(web(1))
    assert changes("more", base="one") == [("added", "Deployment shop/web")]


def test_what_is_no_object_is_passed_over_in_revisions_too_and_places_name_the_revision(repository: Path) -> None:
    (manifest,) = load_manifests(["one:"])
    assert str(manifest.origin) == "one:apps/web.yaml"


@pytest.mark.long
def test_kustomizations_of_revisions_are_built_where_somebody_asks(repository: Path) -> None:
    (repository / "apps" / "kustomization.yaml").write_text("resources: [web.yaml]\nnamespace: shop\n")
    run_git("add", ".")
    run_git("commit", "-qm", "three")
    (repository / "apps" / "kustomization.yaml").write_text(
        "resources: [web.yaml]\nreplicas: [{name: web, count: 5}]\n"
    )
    run_git("commit", "-qam", "four")
    found = gate("HEAD:apps", snapshot=SNAPSHOT, base="HEAD~1", render="auto")
    assert [(change.what, change.details) for change in found.changes] == [("changed", ("spec.replicas: 2 -> 5",))]
    assert gate("HEAD:apps", snapshot=SNAPSHOT, base="HEAD~1").outcome.good


@pytest.mark.long
def test_a_file_that_nobody_could_read_before_either_says_nothing_of_a_change(repository: Path) -> None:
    (repository / "apps" / "broken.yaml").write_text("kind: Pod\nmetadata: {name: [}\n")
    run_git("add", ".")
    run_git("commit", "-qm", "broken")
    found = gate("HEAD:apps", snapshot=SNAPSHOT, base="HEAD~1")
    assert (found.verdict, [each.file for each in found.files.missing]) == ("unknown", ["HEAD:apps/broken.yaml"])
    (repository / "apps" / "web.yaml").write_text(web(3))
    run_git("commit", "-qam", "web")
    found = gate("HEAD:apps", snapshot=SNAPSHOT, base="HEAD~1")
    assert [change.what for change in found.changes] == ["changed"]
    assert any("passed over: HEAD:apps/broken.yaml" in note for note in found.notes)


@pytest.mark.long
@pytest.mark.usefixtures("repository")
def test_a_file_called_as_the_revision_hides_no_path_of_it(repository: Path) -> None:
    (repository / "one").mkdir()
    assert changes("one:apps", base="one:apps") == [("unchanged", "Deployment shop/web")]


def test_a_path_that_exists_is_no_revision_and_neither_is_an_option(repository: Path) -> None:
    (repository / "main").mkdir()
    assert [is_revision(word) for word in ("one", "main", "--all", "nowhere", "")] == [True, False, False, False, False]


@pytest.mark.long
def test_a_revision_is_one_of_the_repository_of_what_is_judged(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    named = os.path.relpath(repository)
    assert changes(named, base="one") == CHANGED
    assert changes(f"main:{named}", base=f"one:{named}") == CHANGED


@pytest.mark.long
def test_without_manifests_the_working_directory_is_compared(repository: Path) -> None:
    assert changes(base="one") == CHANGED
    with pytest.raises(UsageError, match="missing argument"):
        changes()


def test_a_base_that_was_not_fetched_is_said_to_be_none(repository: Path) -> None:
    with pytest.raises(InputError, match=r"^origin/main: .*no such git revision here; fetch it"):
        changes(".", base="origin/main")


@pytest.mark.long
def test_findings_point_to_the_lines_of_files_of_revisions(repository: Path) -> None:
    (change,) = gate("main:", snapshot=SNAPSHOT, base="one").changes
    assert change.location == Location(file="main:apps/web.yaml", line=5)


@pytest.mark.long
def test_files_that_say_how_the_gate_judges_are_no_manifests(repository: Path) -> None:
    shutil.copy(SNAPSHOT, repository / "cluster.json")
    (repository / ".kwhatif.yaml").write_text(
        "apiVersion: kwhatif.dev/v1\nkind: GatePolicy\nsnapshot: [cluster.json]\n"
    )
    run_git("add", ".")
    run_git("commit", "-qm", "three")
    for head, base in ((".", "one"), ("HEAD", "one"), (".", "HEAD")):
        found = gate(head, base=base)
        assert {str(change.subject) for change in found.changes} == {"Deployment shop/web"}, (head, base)


def test_a_path_outside_of_the_repository_is_an_error(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "web.yaml").write_text(web(1))
    with pytest.raises(InputError, match="not in the repository, so one has no such path"):
        changes(str(elsewhere), base="one")


@pytest.mark.long
def test_two_alternatives_of_one_object_are_one_finding_where_they_are_of_the_change(repository: Path) -> None:
    (repository / "apps" / "web-prod.yaml").write_text(web(4))
    run_git("add", ".")
    run_git("commit", "-qm", "three")
    found = gate("HEAD:apps", snapshot=SNAPSHOT, base="HEAD~1")
    texts = [finding.title for finding in found.findings if "appears twice" in finding.title]
    assert texts == ["Deployment web appears twice: HEAD:apps/web.yaml counts, not HEAD:apps/web-prod.yaml"]
    run_git("commit", "-q", "--allow-empty", "-m", "four")
    assert not gate("HEAD:apps", snapshot=SNAPSHOT, base="HEAD~1").findings
