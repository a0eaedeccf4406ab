"""No code from where one stands: with hostile modules of every name that is imported, none of them is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import TESTS
from tests.fuzz.commands import readers

pytestmark = pytest.mark.posix

STUDY = ("outage", "--snapshot", str(TESTS / "data" / "cluster.json"), "--each", "nodes", "--workers", "2")


def names_of_modules() -> set[str]:
    """Every module that Python or a package here could ask for at the top, but for those it has when it starts."""
    packages = {
        path.name.partition(".")[0] for folder in sys.path if os.path.isdir(folder) for path in Path(folder).iterdir()
    }
    names = {name for name in {*sys.stdlib_module_names, *packages} if name.isidentifier()}
    return names - set(sys.builtin_module_names) - {"kwhatif", "tests", "__pycache__"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    mark = folder / "imported"
    for name in names_of_modules():
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write({name!r} + ' ')\n")
    return folder


def python(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )


def kwhatif(folder: Path, *words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    script = "import sys; del sys.argv[0]; from kwhatif.cli.main import main; main()"
    return python(*(before or ("-P",)), "-c", script, "kwhatif", *words, folder=folder)


@pytest.mark.long
@pytest.mark.parametrize("before", [("-P",), ("-I",)], ids=["a safe path", "isolated"])
def test_workers_import_nothing_from_the_working_directory(hostile: Path, before: tuple[str, ...]) -> None:
    ran = kwhatif(hostile, *STUDY, before=before)
    assert "Does not survive: " in ran.stdout, ran.stderr
    mark = hostile / "imported"
    assert not mark.exists(), mark.read_text()


# Every command in one process, each with good files, and where the working directory is the hostile one.
_EVERY_COMMAND = """
import contextlib, sys
from pathlib import Path
sys.path.append(sys.argv[1])
import tests.cli.running
tests.cli.running.contextlib.chdir = lambda folder: contextlib.nullcontext()
from tests.fuzz.cases import good_cases
from tests.fuzz.trial import Trial
trial = Trial(Path(sys.argv[2]))
one_each = {}
for case in good_cases():
    words = case.command.split()
    named = words[:2] if words[0] in ("snapshot", "policy") or words[1] in ("groups", "catalogue") else words[:1]
    one_each.setdefault(" ".join(named), case)
for name, case in one_each.items():
    outcome = trial.of(case)
    assert outcome.code in (0, 1), outcome
    print(name)
"""


@pytest.mark.long
def test_no_command_imports_anything_from_the_working_directory(hostile: Path, tmp_path: Path) -> None:
    ran = python("-P", "-c", _EVERY_COMMAND, str(TESTS.parent), str(tmp_path), folder=hostile)
    assert ran.returncode == 0, ran.stderr
    assert readers() <= set(ran.stdout.splitlines())
    mark = hostile / "imported"
    assert not mark.exists(), mark.read_text()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_workers_end_with_their_parent_and_leave_no_file(tmp_path: Path, number: signal.Signals) -> None:
    script = (
        "import sys, time\nfrom kwhatif.fleet.dispatch import run\nfrom kwhatif.fleet.executors import LocalExecutor\n"
        "from tests.security.waiting import waiting\n"
        "for row in run(waiting(sys.argv[1]), LocalExecutor(2)): pass\n"
    )
    marks, temporary = tmp_path / "marks", tmp_path / "temporary"
    marks.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(TESTS.parent), "TMPDIR": str(temporary)}
    parent = subprocess.Popen([sys.executable, "-c", script, str(marks)], env=environment, start_new_session=True)
    until = time.monotonic() + 120
    while len(list(marks.iterdir())) < 2:
        assert time.monotonic() < until, "no worker has begun"
        time.sleep(0.05)
    workers = [int(path.name) for path in marks.iterdir()]
    os.kill(parent.pid, number)
    parent.wait(60)
    until = time.monotonic() + 20
    while any(is_alive(worker) for worker in workers):
        assert time.monotonic() < until, "workers outlive their parent"
        time.sleep(0.05)
    assert list(temporary.iterdir()) == []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
