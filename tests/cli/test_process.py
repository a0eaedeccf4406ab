"""The real program in a process of its own: start-up, pipes, locales, hash seeds."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from tests.cli.running import CLUSTER, TESTS, process, run

PLACE = ("place", "data/pods.yaml", "data/hostile.json", "--snapshot", CLUSTER)


@pytest.mark.long
def test_the_program_prints_what_the_function_prints() -> None:
    real, own = process(*PLACE, "-o", "wide"), run(*PLACE, "-o", "wide")
    assert (real.returncode, real.stdout.decode()) == (own.code, own.out)
    assert real.stderr.startswith(b"note: the snapshot is ")


ONE_BY_ONE = """
import sys
from kwhatif.cli.main import main
for line in sys.stdin.read().splitlines():
    sys.argv = ["kwhatif", *line.split()]
    try:
        main()
    except SystemExit as end:
        print(line, end.code, flush=True)
"""


@pytest.mark.long
def test_what_is_printed_is_the_same_to_the_byte_whatever_the_seed_of_hashes() -> None:
    lines = [" ".join((*PLACE, "-o", form)) for form in ("wide", "json", "yaml", "markdown")]
    lines.append(f"explain data/pods.yaml --snapshot {CLUSTER}")
    first, second = (
        subprocess.run(
            [sys.executable, "-c", ONE_BY_ONE],
            input="\n".join(lines).encode(),
            capture_output=True,
            cwd=TESTS,
            env={**os.environ, "PYTHONPATH": str(TESTS.parent), "PYTHONHASHSEED": seed},
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert first == second
    assert all(f"{line} 1\n".encode() in first for line in lines)


@pytest.mark.long
def test_the_locale_changes_nothing() -> None:
    plain = process(*PLACE).stdout
    # CPython itself loads no extension module from a path that the locale's encoding lacks, unless in UTF-8 mode.
    utf8 = "0" if f"{sys.prefix}{TESTS}".isascii() else "1"
    assert plain == process(*PLACE, env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": utf8}).stdout
    assert plain == process(*PLACE, env={"LC_ALL": "C.UTF-8", "COLUMNS": "200"}).stdout


@pytest.mark.long
def test_standard_input_is_read() -> None:
    found = process("place", "-", "--snapshot", CLUSTER, "-o", "name", stdin=(TESTS / "data/small.yaml").read_bytes())
    assert found.stdout == b"pod/default/small -> node/bee-1\n"


@pytest.mark.long
def test_an_error_is_one_line_and_exit_code_2() -> None:
    found = process("place", "nowhere.yaml", "--snapshot", CLUSTER)
    assert (found.returncode, found.stdout) == (2, b"")
    assert found.stderr == b"kwhatif: nowhere.yaml: no such file or directory\n"


@pytest.mark.long
def test_a_reader_that_goes_away_is_no_error() -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "kwhatif", *PLACE, "-o", "yaml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent)},
    )
    assert program.stdout is not None
    assert program.stderr is not None
    program.stdout.close()
    errors = program.stderr.read()
    program.stderr.close()
    assert program.wait() == 1
    assert b"Traceback" not in errors
    assert b"Broken" not in errors


def modules_loaded(*words: str) -> set[str]:
    """Names of the modules and packages that a run of the program leaves loaded."""
    script = (
        f"import sys; sys.argv = ['kwhatif', *{words!r}]\n"
        "from kwhatif.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(TESTS.parent)}
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=TESTS, env=environment, check=True)
    return set(ended.stderr.decode().splitlines()[-1].split())


@pytest.mark.long
def test_help_starts_without_what_only_answers_need() -> None:
    heavy = {"numpy", "yaml", "msgspec", "zstandard", "kubernetes", "tabulate", "jsonschema", "rich"}
    assert not modules_loaded("--help") & heavy


@pytest.mark.long
def test_place_starts_without_the_rooms_and_libraries_of_other_questions() -> None:
    other_rooms = {f"kwhatif.{room}" for room in ("cel", "descheduling", "fleet", "kueue", "redaction", "serve")}
    other_libraries = {"asyncio", "http.client", "jinja2", "joblib", "jsonschema", "kubernetes", "rich", "ssl"}
    loaded = modules_loaded("place", "data/small.yaml", "--snapshot", CLUSTER)
    assert "kwhatif.scheduling" in loaded
    assert not loaded & (other_rooms | other_libraries)


# --- outputs that cannot be written to

ALL = (
    "place data/small.yaml --snapshot data/cluster.json",
    "snapshot convert data/cluster.json -o -",
    "--help",
)


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
    words = ["bash", "-c", f'kwhatif() {{ {shlex.quote(sys.executable)} -m kwhatif "$@"; }}; {command}']
    return subprocess.run(words, cwd=TESTS, env=environment, capture_output=True, check=False)


@pytest.mark.long
@pytest.mark.posix
@pytest.mark.parametrize(
    ("end", "codes", "told"),
    [
        ("| true", b"141", ""),
        (">&-", b"2", "standard output is closed"),
        ("> /dev/full", b"2", "standard output"),
        ("> /dev/full 2>&1", b"2", ""),
    ],
)
def test_an_answer_that_cannot_be_given_is_no_good_answer(end: str, codes: bytes, told: str) -> None:
    script = "".join(f"(kwhatif {words} {end}; exit ${{PIPESTATUS[0]}}); echo $? >&3;" for words in ALL)
    found = shell(f"exec 3>&1; {script}")
    assert found.stdout.split() == [codes] * len(ALL)
    lines = [line for line in found.stderr.decode().splitlines() if not line.startswith("note: ")]
    assert len(lines) == (len(ALL) if told else 0), lines
    assert all(line.startswith("kwhatif: ") and told in line for line in lines)


@pytest.mark.long
@pytest.mark.posix
@pytest.mark.parametrize("end", ["2>&-", "2> /dev/full"])
def test_errors_and_notes_never_go_to_standard_output(end: str) -> None:
    found = shell(f"kwhatif place nowhere.yaml --snapshot data/cluster.json {end}; echo $?")
    assert found.stdout == b"2\n"
    found = shell(f"kwhatif place data/small.yaml --snapshot data/cluster.json -o name {end}; echo $?")
    assert found.stdout == b"pod/default/small -> node/bee-1\n0\n"
