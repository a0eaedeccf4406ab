"""What is written: complete or not at all, under its own name, and for those who may read it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from kwhatif.snapshot.format.atomic_files import draft_of, lock_directory, note_replaced_links
from tests.cli.running import TESTS, run


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 253)
    with draft_of(str(path)) as file:
        file.write(b"all")
    assert path.read_bytes() == b"all"
    assert os.listdir(tmp_path) == [path.name]


def test_two_who_write_one_file_do_not_touch_each_others_drafts(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def fail() -> None:
        with draft_of(str(path)) as second:
            second.write(b"second")
            raise RuntimeError

    with draft_of(str(path)) as first:
        first.write(b"first")
        with pytest.raises(RuntimeError):
            fail()
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.posix
@pytest.mark.parametrize("before", [0o600, 0o640, 0o644])
def test_what_replaces_a_file_is_for_those_who_could_read_that(before: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(mode=before)
    path.chmod(before)
    with draft_of(str(path)) as file:
        file.write(b"new")
    assert mode(path) == before
    with draft_of(str(path), private=True) as file:
        file.write(b"private")
    assert mode(path) == 0o600


@pytest.mark.posix
def test_a_report_of_the_gate_stays_as_private_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.touch(mode=0o600)
    ran = run("gate", "data/small.yaml", "--snapshot", "data/cluster.json", "--report", f"json={path}")
    assert (ran.code, mode(path)) == (0, 0o600), ran.err
    assert path.stat().st_size > 100


@pytest.mark.posix
def test_a_link_gives_way_to_what_is_written_and_a_device_is_written_directly(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with note_replaced_links() as notes, draft_of(str(tmp_path / "link")) as file:
        file.write(b"all")
    assert not (tmp_path / "link").is_symlink()
    assert [(tmp_path / name).read_text() for name in ("link", "file")] == ["all", "mine"]
    assert len(notes) == 1
    with draft_of("/dev/null") as file:
        file.write(b"all")


# --- two runs at the same time


@pytest.mark.posix
def test_who_wants_to_be_alone_waits_for_the_other(tmp_path: Path) -> None:
    told: list[str] = []

    def other() -> None:
        with lock_directory(str(tmp_path / "file")):
            told.append("other")

    with lock_directory(str(tmp_path / "file")):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.1)
        told.append("first")
    thread.join()
    assert told == ["first", "other"]


@pytest.mark.long
@pytest.mark.posix
def test_two_redactions_with_one_translation_lose_none_of_its_names(tmp_path: Path) -> None:
    node = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s"}}'
    runs = []
    for name in ("aardvark", "zebra"):
        (tmp_path / f"{name}.json").write_text(node % name)
        words = ["snapshot", "redact", f"{name}.json", "-o", f"{name}.out.json", "--translation", "t.json"]
        environment = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
        runs.append(subprocess.Popen([sys.executable, "-m", "kwhatif", *words], cwd=tmp_path, env=environment))
    assert [one.wait(120) for one in runs] == [0, 0]
    known = msgspec.json.decode((tmp_path / "t.json").read_bytes())["nodes"]
    assert set(known) == {"aardvark", "zebra"}
    assert len(set(known.values())) == 2
