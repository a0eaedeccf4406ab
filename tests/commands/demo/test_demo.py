"""``kwhatif demo``: the samples, copied as a whole or not at all."""

from __future__ import annotations

import re
import shlex
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO

import pytest

from kwhatif.commands.registry import all_entries
from kwhatif.snapshot.format.atomic_files import draft_of
from tests.cli.running import run

SAMPLES = Path(__file__).parents[3] / "samples"

pytest.importorskip("kwhatif.samples", reason="needs an installed package")


def contents_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
def test_the_copy_is_the_samples_and_what_is_printed_runs(tmp_path: Path) -> None:
    ran = run("demo", folder=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    expected = {
        path: text for path, text in contents_of(SAMPLES).items() if path != "__init__.py" and "__pycache__" not in path
    }
    assert contents_of(tmp_path / "samples") == expected
    assert ran.lines[0] == f"{len(expected)} files copied to samples. Try:"
    commands = [line.split()[1:] for line in ran.lines if line.startswith("  kwhatif ")]
    assert len(commands) == 3
    for words in commands:
        tried = run(*words, folder=tmp_path)
        assert tried.code in (0, 1), tried.err
        assert tried.out


def test_a_file_of_the_samples_that_an_example_names_is_copied(tmp_path: Path) -> None:
    assert run("demo", folder=tmp_path).code == 0
    words = {word for spec in all_entries() for example in spec.examples for word in shlex.split(example)}
    named = {path for word in words for path in re.findall(r"(?:^|=)(samples/.*)", word)}
    assert len(named) > 10
    assert {path for path in named if not (tmp_path / path).exists()} == set()


def test_a_directory_by_another_name_is_quoted_in_what_to_try(tmp_path: Path) -> None:
    ran = run("demo", "to try/", folder=tmp_path)
    assert ran.code == 0
    assert "--snapshot 'to try'/cluster" in ran.out
    assert (tmp_path / "to try" / "cluster" / "nodes.yaml").is_file()


@pytest.mark.parametrize("there", ["an earlier copy", "an empty directory", "a file", "a link to nowhere"])
def test_what_is_there_already_is_left_alone(there: str, tmp_path: Path) -> None:
    name = tmp_path / "samples"
    if there == "an earlier copy":
        assert run("demo", folder=tmp_path).code == 0
        (name / "edits.yaml").write_text("mine")
    elif there == "an empty directory":
        name.mkdir()
    elif there == "a file":
        name.write_text("mine")
    else:
        name.symlink_to(tmp_path / "nowhere")
    before = contents_of(tmp_path)
    ran = run("demo", folder=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "kwhatif: samples: already exists; expected the name of a new directory\n"
    assert contents_of(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["samples"]


def test_a_copy_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def fail_at_third(path: str) -> AbstractContextManager[IO[bytes]]:
        written.append(path)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        return draft_of(path)

    monkeypatch.setattr("kwhatif.commands.demo.copy_samples.draft_of", fail_at_third)
    ran = run("demo", folder=tmp_path)
    assert (ran.code, ran.err) == (2, "kwhatif: samples: cannot be written: No space left on device\n")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_in_one_that_is_not_there_is_refused(tmp_path: Path) -> None:
    ran = run("demo", "nowhere/samples", folder=tmp_path)
    assert (ran.code, ran.err) == (2, "kwhatif: nowhere/samples: cannot be written: No such file or directory\n")
