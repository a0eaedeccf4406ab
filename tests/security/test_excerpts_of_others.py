"""Excerpts of manifests at findings: no file is read that was not judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kwhatif import gate
from kwhatif.commands.gate.excerpts import with_excerpts
from tests.security.repositories import run_git, write_files

pytestmark = [pytest.mark.posix, pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")]

SNAPSHOT = str(Path(__file__).parents[2] / "samples" / "gate" / "snapshot.json")
LARGE = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\n"
    "spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 9k}}}]}\n"
)


@pytest.mark.long
@pytest.mark.parametrize("planted", ["|", "->/dev/zero", "->/proc/kmsg", "->../../outside.yaml", "stolen: 1\n"])
def test_a_file_that_is_called_as_one_of_a_revision_is_not_read_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    checkout = tmp_path / "checkout"
    write_files(tmp_path, {"checkout/apps/web.yaml": "", "outside.yaml": "stolen: 1\n"})
    run_git(checkout, "init", "-q", "-b", "main", ".")
    run_git(checkout, "add", ".")
    run_git(checkout, "commit", "-qm", "one")
    (checkout / "apps" / "web.yaml").write_text(LARGE)
    run_git(checkout, "commit", "-qam", "two")
    write_files(checkout, {"HEAD:apps/web.yaml": planted})
    monkeypatch.chdir(checkout)
    found = gate(["main~1", "HEAD"], snapshot=SNAPSHOT)
    assert [each.location.file for each in found.findings if each.location] == ["HEAD:apps/web.yaml"]
    (excerpt,) = with_excerpts(found).excerpts.values()
    assert [text for _, text in excerpt] == ["apiVersion: v1", "kind: Pod", "metadata: ...", "spec: ..."]
