"""Sources of Flux: whose files a Kustomization deploys. Of another repository's none is read as one of this one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from tests.security.repositories import write_files
from tests.snapshot.repository.test_inflated_charts import POD

ORIGIN = '[remote "origin"]\n\turl = https://git.example.com/team/home-ops.git\n'
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps, sourceRef: {kind: %s, name: %s}, targetNamespace: shop}
"""


def source(kind: str, name: str, spec: str) -> str:
    group = "fluxcd.controlplane.io" if kind == "FluxInstance" else "source.toolkit.fluxcd.io"
    return (
        f"apiVersion: {group}/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: flux-system}}\nspec: {{{spec}}}\n"
    )


def read(folder: Path, reference: tuple[str, str], sources: str, config: str = ORIGIN) -> tuple[bool, ReadingReport]:
    """Whether the pod of ``apps`` is deployed where the Kustomization says."""
    kustomization = KUSTOMIZATION % reference
    files = {"cluster/apps.yaml": kustomization, "apps/pod.yaml": POD, "elsewhere/sources.yaml": sources}
    write_files(folder, {**files, ".git/config": config, ".git/HEAD": "ref: refs/heads/main\n"})
    (folder / ".git/objects").mkdir()
    (folder / ".git/refs").mkdir()
    report = ReadingReport()
    options = ReadingOptions(may_be_empty=True)
    found = load_manifests(gather_directories([str(folder / "cluster")]), options=options, report=report)
    return [each.obj.namespace for each in found if each.obj.kind == "Pod"] == ["shop"], report


OWN, OTHER = "url: 'ssh://git@git.example.com/me/home-ops'", "url: 'https://git.example.com/team/other'"
GIT, BUCKET, IMAGE = ("GitRepository", "a"), ("Bucket", "a"), ("OCIRepository", "a")
INSTANCE = ("FluxInstance", "flux", "sync: {name: a, kind: GitRepository, %s}")
STANDINGS = {
    "its own URL, by another protocol": (GIT, source(*GIT, OWN), True, ""),
    "the URL of another": (GIT, source(*GIT, OTHER), False, ""),
    "a source that no file has": (GIT, "", True, "GitRepository a"),
    "a URL that is not known": (GIT, source(*GIT, "url: '${URL}'"), True, "GitRepository a"),
    "what bootstrap makes": (("GitRepository", "flux-system"), "", True, ""),
    "an instance of the operator": (GIT, source(*INSTANCE) % OWN, True, ""),
    "an instance that syncs another": (GIT, source(*INSTANCE) % OTHER, False, ""),
    "an image named as the repository": (IMAGE, source(*IMAGE, "url: 'oci://r.example.com/home-ops/flux'"), True, ""),
    "an image of another": (IMAGE, source(*IMAGE, "url: 'oci://r.example.com/fluxcd/flux-manifests'"), False, ""),
    "a bucket that is not there": (BUCKET, "", True, "Bucket a"),
    "a bucket of another": (BUCKET, source(*BUCKET, "bucketName: other"), False, ""),
    "what another controller makes": (("ExternalArtifact", "a"), "", False, ""),
}


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git, which knows the repository's URL")
@pytest.mark.parametrize("case", STANDINGS)
def test_files_are_deployed_from_the_sources_that_are_this_repository(case: str, tmp_path: Path) -> None:
    reference, sources, is_here, assumed = STANDINGS[case]
    deployed, report = read(tmp_path, reference, sources)
    assert deployed is is_here
    assert report.assumed == ({assumed: ["Kustomization flux-system/apps"]} if assumed else {})
    assert report.not_followed.keys() == (set() if is_here else {"not in this repository"})


def test_a_source_that_is_taken_for_this_repository_is_a_gap_unless_it_was_so_before(tmp_path: Path) -> None:
    _, report = read(tmp_path / "a", GIT, "")
    what = "GitRepository a is taken for this repository, which no file says: that of Kustomization flux-system/apps"
    assert list(report.gaps()) == [(what, "what is deployed may come from elsewhere")]
    report.leave_out_known(read(tmp_path / "b", GIT, "")[1])
    assert list(report.gaps()) == []


def test_without_a_remote_the_source_of_bootstrap_says_which_repository_this_is(tmp_path: Path) -> None:
    for name, url, is_here in (("one", OTHER, True), ("two", OWN, False)):
        sources = f"{source('GitRepository', 'flux-system', url)}---\n{source(*GIT, OTHER)}"
        # It lies where somebody looks for all sources.
        deployed, report = read(tmp_path / name, GIT, sources, config="")
        assert (deployed, report.assumed) == (is_here, {})
