"""How programs of others are run; the program here is a stub that tells what it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwhatif.snapshot.repository import programs
from kwhatif.snapshot.repository.programs import ProgramFailureError, run_program

pytestmark = pytest.mark.posix


def stub(tmp_path: Path, script: str) -> list[str]:
    path = tmp_path / "stub"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return [str(path), "build", "x y"]


def test_a_program_has_an_empty_home_and_no_environment_but_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    home = tmp_path / "home"
    home.mkdir()
    printed = run_program(stub(tmp_path, 'env; pwd; echo "$1 $2"; cat'), str(home), "apps").decode()
    lines = printed.splitlines()
    assert "hidden" not in printed
    assert f"HOME={home}" in lines
    assert lines[-2:] == [str(home), "build x y"]


def test_what_a_program_says_when_it_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProgramFailureError, match=r"apps: stub cannot render this: no such base"):
        run_program(stub(tmp_path, "echo no such >&2; echo base >&2; exit 3"), str(tmp_path), "apps")


def test_a_program_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "SECONDS", 0.05)
    with pytest.raises(ProgramFailureError, match="stub took longer than"):
        run_program(stub(tmp_path, "exec sleep 30"), str(tmp_path), "apps")


def test_a_program_that_prints_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.bounds.MANIFEST_BYTES", 1000)
    with pytest.raises(ProgramFailureError, match="stub prints more than the limit of 1,000 bytes"):
        run_program(stub(tmp_path, "while :; do echo more; done"), str(tmp_path), "apps")
