"""Links of a repository are followed where they stay in it: in a work tree and in a revision alike."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.directories import gather_directories
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from kwhatif.snapshot.repository.revision_tree import RevisionTree
from tests.security.repositories import POD, run_git, write_files

pytestmark = [pytest.mark.posix, pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")]

FLUX = (
    "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n"
    "spec: {path: %s, sourceRef: {kind: GitRepository, name: flux-system}}\n"
)
REPOSITORIES: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    "a link to a manifest beside the directory": (
        {"apps/a.yaml": "->../common/web.yaml", "common/web.yaml": POD},
        ["Pod web"],
        [],
    ),
    "a link to a link": (
        {"apps/a.yaml": "->b", "apps/b": "->../common/web.yaml", "common/web.yaml": POD},
        ["Pod web"],
        [],
    ),
    "a directory of a kustomization that is a link": (
        {
            "apps/kustomization.yaml": "resources: [base]\nnamePrefix: p-\n",
            "apps/base": "->../common/web",
            "common/web/kustomization.yaml": "resources: [web.yaml]\n",
            "common/web/web.yaml": POD,
        },
        ["Pod p-web"],
        [],
    ),
    "a file of a kustomization that is a link": (
        {"apps/kustomization.yaml": "resources: [web.yaml]\n", "apps/web.yaml": "->../x/w", "x/w": POD},
        # kustomize reads no file of another directory, wherever its name stands; the resource is read as it is.
        ["Pod web"],
        ["apps/kustomization.yaml", "apps/web.yaml"],
    ),
    "a path of Flux below a link": (
        {"apps/flux.yaml": FLUX % "./now/web", "now": "->versions/v2", "versions/v2/web/web.yaml": POD},
        ["Pod web"],
        [],
    ),
    "a link to a directory is not gone into, as kubectl does not": (
        {"apps/web": "->../common", "apps/b.yaml": POD.replace("web", "b"), "common/web.yaml": POD},
        ["Pod b"],
        [],
    ),
    "a link that leads out": ({"apps/a.yaml": "->../../out.yaml", "apps/b.yaml": POD}, ["Pod web"], ["apps/a.yaml"]),
    "a link to an absolute path": ({"apps/a.yaml": "->/etc/passwd", "apps/b.yaml": POD}, ["Pod web"], ["apps/a.yaml"]),
    "a link to nothing": ({"apps/a.yaml": "->nothing.yaml", "apps/b.yaml": POD}, ["Pod web"], ["apps/a.yaml"]),
    "a link to itself": ({"apps/a.yaml": "->a.yaml", "apps/b.yaml": POD}, ["Pod web"], ["apps/a.yaml"]),
    "links to each other": (
        {"apps/a.yaml": "->c.yaml", "apps/c.yaml": "->a.yaml", "apps/b.yaml": POD},
        ["Pod web"],
        ["apps/a.yaml", "apps/c.yaml"],
    ),
}


def read(paths: list[str]) -> tuple[list[str], list[str]]:
    """Kinds and names of the objects, and the names of the files that were not read."""
    report = ReadingReport()
    found = load_manifests(gather_directories(paths), options=ReadingOptions(may_be_empty=True), report=report)
    gaps = [file.removeprefix("HEAD:") for file, _ in report.files.gaps()]
    return [f"{each.obj.kind} {each.obj.name}" for each in found], gaps


@pytest.mark.parametrize("path", ["apps", "HEAD:apps"])
@pytest.mark.parametrize("case", REPOSITORIES.values(), ids=REPOSITORIES)
def test_a_link_is_followed_where_it_stays_inside(
    case: tuple[dict[str, str], list[str], list[str]], path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, objects, gaps = case
    (tmp_path / "out.yaml").write_text(POD.replace("web", "stolen"))
    folder = tmp_path / "checkout"
    write_files(folder, files)
    run_git(folder, "init", "-q", ".")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "one")
    monkeypatch.chdir(folder)
    assert read([path]) == (objects, gaps)


@pytest.mark.long
def test_the_law_of_links_what_a_revision_has_is_what_its_checkout_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every path of a tree full of links is a file, a directory or nothing in both, with the same content."""
    folder = tmp_path / "checkout"
    names = [f"{a}/{b}" for a in "abc" for b in "xyz"]
    files = {name: name for name in names[::2]}
    targets = ["../b/x", "../c", "y", "../../a", "/a/x", "../a/./z", "..", "../el/../x", "x/x"]
    files |= {"deep/x": "deep x", "deep/in/x": "deep in x"}
    files |= {f"{name}.l": f"->{targets[number]}" for number, name in enumerate(names)}
    files |= {
        f"{letter}l": f"->{to}"
        for letter, to in zip("abcdefg", ("b", "bl", "dl/x", "a/x.l", "deep/in", "el/../x", "fl"), strict=True)
    }
    write_files(folder, files)
    run_git(folder, "init", "-q", ".")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "one")
    monkeypatch.chdir(folder)
    tree = RevisionTree("HEAD")
    tops = ["", "a", "b", "c", "al", "bl", "cl", "dl", "el", "a/y.l", "b/x.l", "c/x.l"]
    for path in {
        os.path.join(top, name) for top in tops for name in ("", "x", "y", "z", "x.l", "y.l", "z.l", "fl", "gl", "none")
    }:
        path = path or "."
        real = os.path.realpath(path)
        inside = real == str(folder) or real.startswith(f"{folder}{os.sep}")
        assert tree.is_file(path) == (inside and os.path.isfile(path)), path
        assert tree.is_folder(path) == (inside and os.path.isdir(path)), path
        if tree.is_file(path):
            assert tree.content_of(path) == Path(path).read_bytes(), path
            assert tree.identity_of(path), path
