"""What is in the repository is meant to be there, and asks for nothing beside it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What users have, what makes it, and what says how.
AT_THE_TOP = {
    *("kwhatif", "samples", "schemas", "tests", "benchmarks", "docs", "pyproject.toml", "Makefile", ".ci", ".github"),
    *("README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"),
    *(".gitattributes", ".gitignore", ".pre-commit-config.yaml", ".pre-commit-hooks.yaml"),
}

# Patterns of files that are no UTF-8, and why they are here.
BINARIES = {
    "docs/map.png": "the picture of the README, which .ci/map_picture.py takes",
    "docs/serve*.png": "pictures of a server's page, which it takes as well",
    "tests/*.jsonl.gz": "decisions that real programs made",
    "tests/data/foreign/cluster-info*.txt": "what containers log is any bytes, and dumps have it",
}

LARGE = 1_000_000
LARGE_FILES: dict[str, str] = {}


@cache
def files() -> tuple[str, ...]:
    """What git has or, where it cannot be asked (an unpacked archive), all that it would not ignore."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        ran = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=False, capture_output=True, text=True)
        if ran.returncode == 0:
            return tuple(name for name in ran.stdout.split("\0") if name and (ROOT / name).is_file())
    ignored = [".git", *(line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines())]

    def kept(names: list[str]) -> list[str]:
        return [name for name in names if not any(fnmatch(name, pattern) for pattern in ignored)]

    there = []
    for directory, below, names in os.walk(ROOT):
        below[:] = kept(below)
        there += [(Path(directory) / name).relative_to(ROOT).as_posix() for name in kept(names)]
    return tuple(there)


def is_text(path: Path) -> bool:
    content = path.read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def surplus(names: list[str], patterns: dict[str, str]) -> list[str]:
    return [name for name in names if not any(fnmatch(name, each) for each in patterns)]


def test_at_the_top_are_the_names_that_are_meant_to_be_there() -> None:
    assert {name.partition("/")[0] for name in files()} == AT_THE_TOP


def test_a_binary_has_a_reason_to_be_there() -> None:
    binaries = [name for name in files() if not is_text(ROOT / name)]
    assert surplus(binaries, BINARIES) == []
    assert [each for each in BINARIES if not any(fnmatch(name, each) for name in binaries)] == []


def test_a_file_of_more_than_a_megabyte_has_a_reason_to_be_there() -> None:
    large = [name for name in files() if (ROOT / name).stat().st_size > LARGE]
    assert surplus(large, LARGE_FILES) == []
    assert set(LARGE_FILES) <= set(large)


def test_no_task_names_a_place_beside_the_repository() -> None:
    assert "../" not in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize(("task", "variable"), [("conformance", "CONFORMANCE=DIR"), ("verdicts", "VERDICTS=FILE")])
@pytest.mark.parametrize("value", ["", "not-there"])
def test_a_task_on_recordings_asks_for_them(task: str, variable: str, value: str, tmp_path: Path) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    # An environment that is there already, so that none is made.
    for name in (".installed", ".installed-dev"):
        (tmp_path / name).touch()
    given = [f"VENV={tmp_path}", f"{variable.partition('=')[0]}={value}"]
    ran = subprocess.run([make, "-s", task, *given], cwd=ROOT, check=False, capture_output=True, text=True)
    assert ran.returncode == 2
    assert re.match(rf"make {task}: .*: {variable} make {task}\n", ran.stderr), ran.stderr
