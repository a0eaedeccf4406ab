"""What the system refuses, and Ctrl-C while workers start."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from kwhatif.cli.main import _describe_system_error
from kwhatif.fleet.executors import _no_interrupts

pytestmark = pytest.mark.posix


@pytest.mark.long
@pytest.mark.parametrize("words", [("-m", "kwhatif"), ("-c", "from kwhatif.cli.main import main; main()")])
def test_a_working_directory_that_was_deleted_is_named(words: tuple[str, str], tmp_path: Path) -> None:
    program = (
        "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone');"
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    command = [sys.executable, "-c", program, *words, "place", "pods.yaml", "--snapshot", "cluster.yaml"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "kwhatif: the working directory cannot be read: No such file or directory\n"


def test_an_interrupt_while_modules_are_imported_is_a_line_too() -> None:
    program = (
        "import sys; sys.argv = ['kwhatif', '--version']\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from kwhatif.__main__ import main; main()"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "kwhatif: interrupted\n")


def test_too_few_files_are_no_trouble_of_standard_output() -> None:
    for number in (errno.EMFILE, errno.ENFILE):
        said = _describe_system_error(OSError(number, os.strerror(number)))
        assert said.startswith("too few files may be open at a time: ")
    assert _describe_system_error(OSError(errno.ENOSPC, "full")) == "standard output cannot be written: full"
    assert _describe_system_error(OSError(errno.EIO, "broken", "a file")) == ""
    with mock.patch("os.getcwd", side_effect=FileNotFoundError(errno.ENOENT, "gone")):
        assert _describe_system_error(OSError(errno.ENOENT, "x")) == "the working directory cannot be read: gone"


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Interrupts are heard: a shell's script starts what runs in its background deaf to them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_waits_until_workers_are_started_and_they_never_hear_of_it() -> None:
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        with _no_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            started = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert started.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
