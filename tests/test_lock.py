"""One lock holds the releases of all environments; each gets its own by their hashes, from any registry."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "lock.py"
LOCK = SCRIPT.with_suffix(".txt").read_text()
lock = runpy.run_path(str(SCRIPT))


def pins_of(environment: str) -> set[tuple[str, str]]:
    return set(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", lock["entries_of"](environment, LOCK)))


def requirements_of(environment: str) -> list[Requirement]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    kinds = {"--group": project["dependency-groups"], "--extra": project["project"]["optional-dependencies"]}
    texts = list(project["project"]["dependencies"])
    for kind, _, name in (word.partition("=") for word in lock["ENVIRONMENTS"][environment]):
        texts += [text for text in kinds[kind][name] if isinstance(text, str)]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("environment", lock["ENVIRONMENTS"])
def test_what_is_locked_is_what_pyproject_asks_for(environment: str) -> None:
    pins = pins_of(environment)
    for requirement in requirements_of(environment):
        versions = [version for name, version in pins if name == canonicalize_name(requirement.name)]
        assert versions, requirement
        assert all(requirement.specifier.contains(version) for version in versions)


@pytest.mark.parametrize("environment", lock["ENVIRONMENTS"])
def test_what_users_get_is_in_every_environment(environment: str) -> None:
    assert pins_of("users") <= pins_of(environment)


def test_every_entry_is_for_an_environment_and_has_its_hashes_and_no_line_names_a_registry() -> None:
    head, *entries = re.split(r"(?m)^(?=# for: )", LOCK)
    assert head.count("\n") == 1
    for entry in entries:
        first, pin, *hashes = entry.splitlines()
        assert set(first.removeprefix("# for: ").split()) <= set(lock["ENVIRONMENTS"])
        assert re.fullmatch(r"[\w.-]+==[\w.]+(?: ; [^\\]+)? \\", pin)
        assert hashes
        assert all(re.fullmatch(r" {4}--hash=sha256:[0-9a-f]{64}(?: \\)?", each) for each in hashes)


@pytest.mark.parametrize("code", [0, 1])
def test_pip_is_handed_the_entries_of_one_environment_as_constraints_too_and_holds_to_their_hashes(code: int) -> None:
    def pip(words: list[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        assert not check
        assert [*words[1:5]] == ["-I", "-m", "pip", "install"]
        required, constraint, entries = words[-3:]
        assert required == "--require-hashes"
        file = entries.removeprefix("--requirement=")
        assert constraint == f"--constraint={file}"
        assert Path(file).read_text() == lock["entries_of"]("docs", LOCK)
        return subprocess.CompletedProcess(words, code)

    with mock.patch("subprocess.run", pip):
        assert lock["install"]("docs") == code


def test_an_environment_that_there_is_not_is_refused() -> None:
    words = ["lock.py", "install", "elsewhere"]
    with mock.patch("sys.argv", words), pytest.raises(SystemExit, match=r"^usage: lock\.py"):
        runpy.run_path(str(SCRIPT), run_name="__main__")
