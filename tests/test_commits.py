"""The check of commits' subjects: what it wants, and where it begins to read."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[1] / ".ci" / "commits.py"
problems_of = runpy.run_path(str(CHECK))["problems_of"]


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        pytest.param("scheduling: count a nominated pod once", "", id="room, imperative, object"),
        pytest.param(f"api: {'x' * 67}", "", id="72 characters are enough"),
        pytest.param(f"api: {'x' * 68}", "it has 73 characters, more than 72", id="73 are too many"),
        pytest.param("cli: print a table.", "it ends with a dot", id="a subject is no sentence"),
        pytest.param("Print a table", "no room stands in front", id="the room is missing"),
        pytest.param("CLI: print a table", "no room stands in front", id="rooms are in lower case"),
        pytest.param("cli:print a table", "no room stands in front", id="a blank follows the colon"),
        pytest.param("commands/gate: print a table", "", id="a room below a room"),
        pytest.param("ci: added a job", "'added' is no imperative but a past", id="past"),
        pytest.param("ci: Adding a job", "'Adding' is no imperative but a participle", id="participle"),
        pytest.param("ci: adds a job", "'adds' is no imperative but a third person", id="third person"),
        pytest.param("ci: retries once", "'retries' is no imperative but a third person", id="another one"),
        *(
            pytest.param(f"ci: {word} it", "", id=f"{word} is an imperative")
            for word in ("bring", "ping", "string", "feed", "exceed", "embed", "pass", "address", "focus", "bias")
        ),
    ],
)
def test_a_subject_names_its_room_and_then_what_to_do(subject: str, problem: str) -> None:
    found = list(problems_of(subject))
    assert len(found) == bool(problem), found
    assert all(each.startswith(problem) for each in found)


def run_check(folder: Path, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(folder / "commits.py")]
    return subprocess.run(words, env={"PATH": path}, check=False, capture_output=True, text=True)


def commit(folder: Path, subject: str, *files: str) -> None:
    for words in (("add", *files), ("commit", "--quiet", "--allow-empty", "-m", subject)):
        names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *names, *words], cwd=folder, check=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a commit before the check, that of the check, and one after it."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    folder = tmp_path / "clone"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    commit(folder, "Whatever was said before.")
    shutil.copy(CHECK, folder)
    commit(folder, "Added a check", "commits.py")
    commit(folder, "ci: keep it short")
    return folder


def test_what_came_before_the_check_is_not_read(clone: Path) -> None:
    ran = run_check(clone)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_what_came_after_it_is(clone: Path) -> None:
    commit(clone, "Added more.")
    ran = run_check(clone)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[:2] == ["Added more.", "  it ends with a dot"]


def test_a_shallow_clone_is_said_and_no_failure(clone: Path, tmp_path: Path) -> None:
    commit(clone, "Added more.")
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{clone}", str(shallow)], check=True)
    ran = run_check(shallow)
    assert ran.returncode == 0
    assert ran.stdout.startswith("the subjects of commits were not looked at: the clone is shallow")


@pytest.mark.parametrize(("path", "why"), [("", "there is no git"), (os.environ["PATH"], "this is no clone")])
def test_without_git_or_outside_a_clone_that_is_said(tmp_path: Path, path: str, why: str) -> None:
    if path and shutil.which("git") is None:
        pytest.skip("there is no git")
    shutil.copy(CHECK, tmp_path)
    ran = run_check(tmp_path, path)
    assert ran.returncode == 0
    assert ran.stdout == f"the subjects of commits were not looked at: {why}\n"
