"""Trees of git that a server may send and git would not write: nothing is written elsewhere, nothing goes on without
end.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.load import load_manifests
from kwhatif.snapshot.read.git_revisions import is_revision, tree_named
from kwhatif.snapshot.read.git_trees import problem_of_name
from kwhatif.snapshot.repository.reading_report import ReadingOptions, ReadingReport
from kwhatif.snapshot.repository.scratch_directories import ScratchDirectory
from tests.cli.running import run
from tests.security.repositories import POD, commit_tree, run_git, write_files, write_object, write_tree

pytestmark = [pytest.mark.posix, pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")]

FILE, FOLDER, LINK = "100644", "40000", "120000"
SNAPSHOT = str(Path(__file__).parents[2] / "samples" / "gate" / "snapshot.json")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "checkout"
    write_files(folder, {"apps/web.yaml": POD})
    run_git(folder, "init", "-q", "-b", "main", ".")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "one")
    monkeypatch.chdir(folder)
    return folder


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if ".git" not in path.parts}


@pytest.mark.long
@pytest.mark.parametrize("render", ["never", "auto"])
@pytest.mark.parametrize(
    "name",
    [
        *(b"..", b".", b"", b"/x.yaml", b"/tmp/x.yaml", b"a/../../x.yaml", b"a/b.yaml", b".git", b".GIT", b".gIt"),
        *(b"git~1", b"GIT~1", b".git ", b".git.", b".git . .", b".git::$INDEX_ALLOCATION", b"a\\.git\\b"),
        *(".g\u200cit".encode(), ".gi\ufefft".encode(), "\u200e.git".encode(), b"x" * 300),
    ],
)
def test_an_entry_that_git_would_not_check_out_is_refused_in_a_line(
    checkout: Path, tmp_path: Path, name: bytes, render: str
) -> None:
    blob = write_object(checkout, "blob", b"resources: []\n")
    inner = write_tree(checkout, [(FILE, b"x.yaml", blob)])
    for mode, to in ((FILE, blob), (FOLDER, inner), (LINK, blob)):
        entries = [(FILE, b"kustomization.yaml", blob), (mode, name, to)]
        commit_tree(checkout, write_tree(checkout, entries), f"bad{mode}")
        before = everything(tmp_path)
        with pytest.raises(InputError, match=rf"bad{mode}: a directory of this revision has an entry .*git fsck"):
            load_manifests([f"bad{mode}:"], options=ReadingOptions(render=render))
        assert everything(tmp_path) == before


@pytest.mark.long
@pytest.mark.parametrize("order", [1, -1])
def test_a_file_and_a_directory_of_one_name_are_refused_in_a_line(checkout: Path, order: int) -> None:
    blob = write_object(checkout, "blob", POD.encode())
    inner = write_tree(checkout, [(FILE, b"x.yaml", blob)])
    commit_tree(checkout, write_tree(checkout, [(FILE, b"a", blob), (FOLDER, b"a", inner)][::order]))
    ran = run("gate", "main", "bad", "--snapshot", SNAPSHOT, folder=checkout)
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith("kwhatif: bad: a directory of this revision has an entry 'a', twice")


@pytest.mark.parametrize("render", ["never", "auto"])
def test_ten_directories_in_ten_directories_twelve_times_are_counted_not_listed(checkout: Path, render: str) -> None:
    blob = write_object(checkout, "blob", POD.encode())
    tree = write_tree(checkout, [(FILE, b"a.yaml", blob)])
    for _ in range(12):
        tree = write_tree(checkout, [(FOLDER, str(number).encode(), tree) for number in range(10)])
    commit_tree(checkout, tree)
    began = time.process_time()
    with pytest.raises(InputError, match=r"^bad: more than 1,000,000 files and directories, found 2,111,111,111,110$"):
        load_manifests(["bad:"], options=ReadingOptions(render=render))
    assert time.process_time() - began < 60


@pytest.mark.long
def test_directories_that_are_too_deep_and_paths_that_are_too_long_are_refused_in_a_line(checkout: Path) -> None:
    blob = write_object(checkout, "blob", POD.encode())
    deep = long = write_tree(checkout, [(FILE, b"a.yaml", blob)])
    content = b""
    for _ in range(2_500):
        content = b"40000 a\0" + bytes.fromhex(deep)
        deep = _name_of_tree(content)
        _write_loose(checkout, deep, content)
    for _ in range(30):
        long = write_tree(checkout, [(FOLDER, b"x" * 200, long)])
    commit_tree(checkout, deep, "deep")
    commit_tree(checkout, long, "long")
    for branch, problem in (("deep", "200 in each other, found 2,501"), ("long", "4,096 bytes, found 6,036")):
        ran = run("gate", "main", branch, "--snapshot", SNAPSHOT, folder=checkout)
        assert (ran.code, ran.out) == (2, "")
        assert problem in ran.err.splitlines()[-1]
        assert "internal error" not in ran.err


def _name_of_tree(content: bytes) -> str:
    from hashlib import sha1

    return sha1(b"tree %d\0" % len(content) + content).hexdigest()


def _write_loose(checkout: Path, name: str, content: bytes) -> None:
    import zlib

    path = checkout / ".git" / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(b"tree %d\0" % len(content) + content))


@pytest.mark.parametrize("content", [b"100644 a", b"100644 a\0short", b"\0" * 20, b"100644", b" " * 40])
def test_a_tree_that_is_cut_short_is_refused_in_a_line(checkout: Path, content: bytes) -> None:
    commit_tree(checkout, write_object(checkout, "tree", content))
    with pytest.raises(InputError, match=r"bad: (a directory of this revision|git)"):
        load_manifests(["bad:"])


def test_what_is_no_tree_in_the_place_of_one_is_refused(checkout: Path) -> None:
    blob = write_object(checkout, "blob", POD.encode())
    commit_tree(checkout, write_tree(checkout, [(FOLDER, b"a", blob)]))
    with pytest.raises(InputError, match="bad: git lacks a directory of this revision"):
        load_manifests(["bad:"])


@pytest.mark.long
def test_links_out_and_submodules_are_not_followed(checkout: Path) -> None:
    blob = write_object(checkout, "blob", b"/etc/passwd")
    pod = write_object(checkout, "blob", POD.encode())
    entries = [(LINK, b"a.yaml", blob), ("160000", b"sub", "1" * 40), (FILE, b"z\n.yaml", pod)]
    commit_tree(checkout, write_tree(checkout, entries))
    assert [str(each.origin) for each in load_manifests(["bad:"])] == ["'bad:z\\n.yaml'"]


@pytest.mark.parametrize(
    "word", ["--output=x", "-x", "--all", "HEAD\n", "\0", "main --output=x", "x" * 10_000, "@{-1}"]
)
def test_a_word_that_is_no_revision_is_none(checkout: Path, word: str) -> None:
    assert not is_revision(word)
    assert tree_named(f"{word}:apps") is None
    assert everything(checkout) == {"apps", "apps/web.yaml"}


def test_a_base_that_looks_like_an_option_is_no_option(checkout: Path) -> None:
    ran = run("gate", "apps", "--base=--output=x", "--snapshot", SNAPSHOT, folder=checkout)
    assert ran.code == 2
    assert "internal error" not in ran.err
    assert everything(checkout) == {"apps", "apps/web.yaml"}


@pytest.mark.parametrize("path", ["../x", "..", "apps/../../x", "/etc", "//etc"])
def test_a_path_of_a_revision_does_not_lead_out_of_the_repository(checkout: Path, path: str) -> None:
    with pytest.raises(InputError, match="not in the repository"):
        load_manifests([f"HEAD:{path}"])


CONFIG = """\
[core]
    repositoryformatversion = 1
    fsmonitor = touch {mark}
    pager = touch {mark}
    sshCommand = touch {mark}
    gitProxy = touch {mark}
    hooksPath = {hooks}
    editor = touch {mark}
    alternateRefsCommand = touch {mark}
[extensions]
    partialClone = origin
[remote "origin"]
    url = {url}
    promisor = true
    uploadpack = touch {mark};
[filter "x"]
    smudge = touch {mark}
    clean = touch {mark}
    process = touch {mark}
[diff "x"]
    textconv = touch {mark}
[alias]
    cat-file = !touch {mark}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "url", ["ext::sh -c touch% {mark}", "ssh://x/y", "{folder}", "file://{folder}", "git://127.0.0.1:1/x"]
)
def test_nothing_of_a_repositorys_own_configuration_is_run_and_nothing_is_fetched(
    checkout: Path, tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, hooks = tmp_path / "mark", tmp_path / "hooks"
    write_files(hooks, dict.fromkeys(("post-checkout", "reference-transaction"), f"#!/bin/sh\ntouch {mark}\n"))
    for hook in hooks.iterdir():
        hook.chmod(0o700)
    write_files(checkout, {".gitattributes": "* filter=x diff=x\n"})
    run_git(checkout, "add", ".")
    run_git(checkout, "commit", "-qm", "two")
    entries = [(FILE, b"a.yaml", "1" * 40), (FILE, b"b.yaml", write_object(checkout, "blob", POD.encode()))]
    commit_tree(checkout, write_tree(checkout, entries))
    config = CONFIG.format(mark=mark, hooks=hooks, url=url.format(mark=mark, folder=checkout))
    (checkout / ".git" / "config").write_text(config)
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {mark}")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {mark}")
    monkeypatch.setenv("GIT_TRACE", str(mark))
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", "/nowhere")
    assert [each.obj.name for each in load_manifests(["main:"])] == ["web"]
    report = ReadingReport()
    assert [each.obj.name for each in load_manifests(["bad:"], report=report)] == ["web"]
    assert list(map(str, report.unreadable)) == ["bad:a.yaml: git lacks the content of this file"]
    assert not mark.exists()


def test_what_replaces_an_object_is_not_read(checkout: Path) -> None:
    other = write_object(checkout, "blob", POD.replace("web", "other").encode())
    run_git(checkout, "replace", run_git(checkout, "rev-parse", "main:apps/web.yaml"), other)
    assert [each.obj.name for each in load_manifests(["main:"])] == ["web"]


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", ".git/config", "a//b", "", "a\0b", "x" * 300])
def test_nothing_is_written_outside_of_a_directory_for_programs(tmp_path: Path, name: str) -> None:
    (tmp_path / "scratch").mkdir()
    with pytest.raises(InputError, match="a file is called"):
        ScratchDirectory(str(tmp_path / "scratch")).write(name, b"x")
    assert everything(tmp_path) == {"scratch"}


def test_nothing_is_written_through_a_link_or_over_a_file(tmp_path: Path) -> None:
    links = {"scratch/folder": "->../elsewhere", "scratch/file": "->../elsewhere/mine"}
    write_files(tmp_path, {"elsewhere/mine": "mine", **links})
    scratch = ScratchDirectory(str(tmp_path / "scratch"))
    for name in ("folder/new", "file", "folder/mine"):
        with pytest.raises(InputError, match="cannot be written for a program"):
            scratch.write(name, b"x")
    assert sorted(os.listdir(tmp_path / "elsewhere")) == ["mine"]
    assert (tmp_path / "elsewhere" / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["web.yaml", ".gitignore", ".github", "git", "a.git", "git~", ".gitx", "ü.yaml", "a b", "a\\b"]
)
def test_usual_names_are_names(name: str) -> None:
    assert problem_of_name(name.encode()) == ""
