"""How programs of others are run; the program here is a stub that tells what it was given."""

from __future__ import annotations

import shlex
import socket
import sys
import time
from pathlib import Path

import pytest

from kwhatif.errors import InputError
from kwhatif.snapshot.read import programs
from kwhatif.snapshot.read.program_words import COMMANDS, HELM_TEMPLATE, OWN_PATH, ProgramCall
from kwhatif.snapshot.read.programs import ProgramFailureError, clean_error, find_program, run_program

pytestmark = pytest.mark.posix


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/local/bin:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def run_stub(home: Path, script: str) -> str:
    path = home.parent / "bin" / "helm"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return run_program(ProgramCall(HELM_TEMPLATE, operands=("web", "/x y")), str(home), "apps").decode()


def run_python_stub(home: Path, script: str) -> str:
    # The first line of a script cannot name an interpreter in a directory with a blank.
    return run_stub(home, f"exec {shlex.join([sys.executable, '-c', script])}")


def test_a_program_has_an_empty_home_and_no_environment_but_its_path(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    printed = run_stub(home, 'env; pwd; echo "$1 $2 $3"; cat')
    lines = printed.splitlines()
    assert "hidden" not in printed
    assert f"HOME={home}" in lines
    assert lines[-2:] == [str(home), "template --include-crds --skip-tests"]


def test_what_a_program_says_when_it_fails_is_told(home: Path) -> None:
    with pytest.raises(ProgramFailureError, match=r"apps: helm cannot render this: no such base"):
        run_stub(home, "echo no such >&2; echo base >&2; exit 3")


def test_a_program_that_takes_too_long_is_stopped_with_those_that_it_started(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "SECONDS", 0.05)
    with pytest.raises(ProgramFailureError, match="helm took longer than"):
        run_stub(home, "sleep 30 & sleep 30")


def test_a_program_that_prints_without_end_is_stopped(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.bounds.MANIFEST_BYTES", 1000)
    with pytest.raises(ProgramFailureError, match="helm prints more than the limit of 1,000 bytes"):
        run_stub(home, "while :; do echo more; done")


def test_a_program_that_complains_without_end_fills_no_disk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.bounds.SETTINGS_BYTES", 100_000)
    with pytest.raises(ProgramFailureError, match="helm cannot render this: more more"):
        run_stub(home, "while echo more >&2; do :; done; exit 1")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the addresses that a program uses")
def test_a_program_that_takes_too_much_memory_is_refused_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwhatif.bounds.PROGRAM_BYTES", 200 * 1024**2)
    script = "try:\n    bytearray(1 << 30)\nexcept MemoryError:\n    exit('fatal error: out of memory')"
    with pytest.raises(ProgramFailureError, match=r"more than the limit of 209,715,200 bytes of memory"):
        run_python_stub(home, script)


def has_namespaces() -> bool:
    import ctypes
    import os

    child = os.fork() if sys.platform == "linux" else 0
    if child == 0 and sys.platform == "linux":
        os._exit(int(ctypes.CDLL(None).unshare(0x50000000) != 0))
    return sys.platform == "linux" and os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not has_namespaces(), reason="this user may have no namespace without a network here")
def test_a_program_reaches_no_network_not_even_here(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket\ntry:\n    socket.create_connection(('127.0.0.1', {port}), 5)\n    print('there')\n"
        printed = run_python_stub(home, f"{script}except OSError as error:\n    print('nowhere')")
    assert printed == "nowhere\n"


def test_a_relative_directory_of_the_path_has_no_programs(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_stub(home, "exit 0")
    monkeypatch.chdir(tmp_path / "bin")
    monkeypatch.setenv("PATH", ".::bin")
    assert find_program("helm") == ""


# --- words


@pytest.mark.parametrize(
    "name",
    [
        *("--post-renderer=sh", "-f", "-f=/etc/passwd", "--kubeconfig=x", "--set-file=a=/etc/passwd", "", "a b", "A"),
        *("a\n", "a\nb", "a/../b", "https://x", "a" * 54, "-", "--", "ｗｅｂ", "a--", ".a"),
    ],
)
def test_what_is_no_name_of_a_release_is_no_word_of_helm(name: str) -> None:
    with pytest.raises(InputError, match="is no name of a Helm release, and no program gets it"):
        ProgramCall(HELM_TEMPLATE, operands=(name, "/chart")).words()


@pytest.mark.parametrize(
    ("option", "word"), [("namespace", "--x"), ("namespace", "a.b"), ("kube-version", "1.30 --x"), ("set", "x")]
)
def test_what_is_no_value_of_an_option_is_no_word_of_helm(option: str, word: str) -> None:
    with pytest.raises(InputError, match="and no program gets it"):
        ProgramCall(HELM_TEMPLATE, [(option, word)], ("web", "/chart")).words()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command.program} {command.words[-1]}")
def test_words_of_others_stand_behind_an_option_or_where_no_option_is_read(command: object) -> None:
    for each in COMMANDS:
        examples = {OWN_PATH: "/a"}
        operands = [examples.get(sort, "web") for sort in each.operands]
        words = ProgramCall(each, operands=operands).words()
        assert words[: len(each.words)] == list(each.words)
        assert words[len(each.words) :] == ([each.separator, *operands] if operands else [])


# --- errors


def test_errors_lose_times_and_directories_of_ours() -> None:
    said = (
        "# Warning: 'bases' is deprecated\n"
        'E0102 03:04:05.678901   12345 run.go:74] "command failed" err="accumulating resources from \'../k1\': '
        "'/tmp/kwhatif-a1/k1' must resolve\""
    )
    assert clean_error(said) == "\"accumulating resources from '../k1': 'k1' must resolve\""


@pytest.mark.parametrize(
    "said",
    [
        *("a" * 70_000, "/" * 70_000, "/kwhatif-" * 8_000, "E1234 " * 12_000, "# Warning:" * 7_000),
        *("E0102 1 1 x" * 6_000, "'\"=(" * 17_000, " " * 70_000, "E0102 1 1 \n" * 6_000, "kwhatif-/" * 8_000),
    ],
)
def test_errors_are_cleaned_in_little_time(said: str) -> None:
    began = time.process_time()
    clean_error(said)
    assert time.process_time() - began < 60
