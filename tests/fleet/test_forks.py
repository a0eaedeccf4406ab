"""Tasks in forks: their results in order, whatever runs them."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from kwhatif.fleet.forks import run_in_forks

_IN_FORKS = """
import os
from kwhatif.fleet.forks import run_in_forks

def fail():
    raise ValueError("no node")

pids = run_in_forks([os.getpid] * 4, 2)
assert os.getpid() not in pids, pids
assert run_in_forks([lambda: 1, lambda: 2, lambda: 3], 2) == [1, 2, 3]
try:
    run_in_forks([fail, os.getpid], 2)
except ValueError as error:
    print(error)
"""

_STUDY_IN_FORKS = """
import sys
from pathlib import Path
from msgspec import structs
from kwhatif.fleet.dispatch import run
from kwhatif.fleet.executors import LocalExecutor
from tests.fleet.squares import Base, squares

base = Base(Path(sys.argv[1]), bad=frozenset({7}), kills_once=frozenset({20}))
# It cannot be pickled.
base.here = lambda: None
rows = run(structs.replace(squares(base, 30), stationary=True), LocalExecutor(2))
print([getattr(row, "square", "failed") for row in rows][5:9], base.tried)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux")
def test_a_study_that_cannot_be_pickled_is_tried_in_forks_which_may_fail_and_die(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _STUDY_IN_FORKS, str(tmp_path)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("[25, 36, 'failed', 64] []\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux")
def test_several_processes_are_forks_and_their_errors_are_raised_here() -> None:
    ran = subprocess.run([sys.executable, "-c", _IN_FORKS], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("no node\n", "", 0)


def test_one_process_is_this_one() -> None:
    seen: list[int] = []
    assert run_in_forks([partial(seen.append, number) for number in range(3)], 1) == [None, None, None]
    assert seen == [0, 1, 2]
