"""Tasks in forks: their results in order, whatever runs them."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

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


@pytest.mark.skipif(sys.platform != "linux", reason="forks are used on Linux")
def test_several_processes_are_forks_and_their_errors_are_raised_here() -> None:
    ran = subprocess.run([sys.executable, "-c", _IN_FORKS], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("no node\n", "", 0)


def test_one_process_is_this_one() -> None:
    seen: list[int] = []
    assert run_in_forks([partial(seen.append, number) for number in range(3)], 1) == [None, None, None]
    assert seen == [0, 1, 2]
