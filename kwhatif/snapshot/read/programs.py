"""Starts other programs, those of the ``PATH`` alone, with as few permissions as possible.

Every program is started here, but for those that a kubeconfig names for credentials. None has a shell, or anything on
standard input but what is read from here, and none takes more time, memory and room than it may. Programs that render
have an empty home directory besides, no environment but ``PATH`` and, where the system can do that, no network;
elsewhere proxies point to nowhere and git may use no protocol. What they read was written for them
(``repository/charts.py``).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Timer
from typing import IO, TypeVar

from kwhatif import bounds
from kwhatif.errors import InputError
from kwhatif.snapshot.read import program_launcher
from kwhatif.snapshot.read.program_words import ProgramCall

T = TypeVar("T")

SECONDS = 60
"""For how long a program may run."""

_AT_ONCE = bounds.MIB
_TOLD = 64 * 1024
_NOWHERE = "http://127.0.0.1:1"
_SHOWN = 250
_OF_THE_LOG = re.compile(r"[EIWF][0-9]{4} [0-9:.]{1,20} +[0-9]{1,10} [^\]\s]{1,100}\] ")
_WARNING, _OWN = "# Warning:", "kwhatif-"
_NO_MEMORY = ("out of memory", "cannot allocate memory", "failed to reserve")

_running: set[subprocess.Popen[bytes]] = set()


class ProgramFailureError(InputError):
    """A program that could not do what it was asked to; the problem is in its own words."""


def find_program(name: str) -> str:
    """The path of a program; empty if there is none. A directory of the PATH that is relative to here is none."""
    suffixes = os.environ.get("PATHEXT", "").split(os.pathsep) if os.name == "nt" else [""]
    for folder in _path_of_programs().split(os.pathsep):
        for suffix in suffixes:
            path = os.path.join(folder, f"{name}{suffix}")
            if folder and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return ""


def _path_of_programs() -> str:
    return os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)))


def run_program(call: ProgramCall, home: str, source: str) -> bytes:
    """Run a program in the directory ``home``, which is also its home directory, and return what it prints.

    ``source`` names its input in messages. Raises InputError for words that it must not get, ProgramFailureError if it
    is not there, fails, takes too long or prints too much.
    """
    name = call.command.program
    environment = {
        "PATH": _path_of_programs(),
        **dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), home),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"), _NOWHERE),
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "KUBECONFIG": os.devnull,
        "LC_ALL": "C",
    }
    try:
        with (
            tempfile.TemporaryFile() as errors,
            start_program(call, environment, home, errors=errors) as program,
        ):
            printed = program.read(bounds.MANIFEST_BYTES + 1)
            if len(printed) > bounds.MANIFEST_BYTES:
                raise InputError(f"{name} prints more than the limit of {bounds.MANIFEST_BYTES:,} bytes")
            code = program.wait()
            errors.seek(0)
            said = errors.read(_TOLD).decode("utf-8", "replace") if code else ""
    except InputError as error:
        raise ProgramFailureError(error.problem, source=source) from None
    if code and any(mark in said for mark in _NO_MEMORY):
        problem = f"{name} takes more than the limit of {bounds.PROGRAM_BYTES:,} bytes of memory"
        raise ProgramFailureError(problem, source=source)
    if code:
        raise ProgramFailureError(f"{name} cannot render this: {_shorten(clean_error(said))}", source=source)
    return printed


class RunningProgram:
    """A program that runs. What it prints is read, and no longer than it may take: InputError says that it did."""

    def __init__(self, name: str, process: subprocess.Popen[bytes]) -> None:
        self._name, self._process = name, process
        self._overdue = False

    def stop(self) -> None:
        """End it, as it is overdue."""
        self._overdue = True
        _end(self._process)

    def write(self, data: bytes) -> None:
        """Write to its standard input."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def read(self, most: int) -> bytes:
        """What it prints next, ``most`` bytes unless it ends before."""
        assert self._process.stdout is not None
        pieces, left = list[bytes](), most
        # What is read at once takes its room beforehand.
        while left > 0 and (piece := self._process.stdout.read(min(left, _AT_ONCE))):
            pieces.append(piece)
            left -= len(piece)
        return self._check(b"".join(pieces))

    def read_line(self, most: int = 1000) -> bytes:
        """The next line, as far as it has no more than ``most`` bytes."""
        assert self._process.stdout is not None
        return self._check(self._process.stdout.readline(most))

    def wait(self) -> int:
        """Its exit code."""
        return self._check(self._process.wait())

    def _check(self, value: T) -> T:
        if self._overdue:
            raise InputError(f"{self._name} took longer than {SECONDS} seconds")
        return value


@contextmanager
def start_program(
    call: ProgramCall,
    environment: Mapping[str, str],
    folder: str = "",
    *,
    errors: IO[bytes] | None = None,
    with_input: bool = False,
    isolated: bool = True,
) -> Iterator[RunningProgram]:
    """A program that has begun, and is ended when the context is left. It is the one way to start any.

    ``isolated`` ones have no network, where the system can do that. Raises InputError for a word that it must not get,
    and for one that is not there.
    """
    name = call.command.program
    words = call.words()
    path = find_program(name)
    if not path:
        raise InputError(f"{name} is not installed")
    with subprocess.Popen(
        _launch_words([path, *words], isolated=isolated),
        stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if errors is None else errors,
        cwd=folder or None,
        env=dict(environment),
        start_new_session=os.name == "posix",
    ) as process:
        program = RunningProgram(name, process)
        timer = Timer(SECONDS, program.stop)
        _running.add(process)
        timer.start()
        try:
            yield program
        finally:
            timer.cancel()
            _running.discard(process)
            _end(process)


def end_programs() -> None:
    """End all that run, as nobody waits for them any more."""
    for process in list(_running):
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and those that it started."""
    if process.poll() is None and os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, 9)
    process.kill()


def _launch_words(words: Sequence[str], *, isolated: bool) -> list[str]:
    """The words with the launcher before them, where there is one."""
    if os.name != "posix" or not sys.executable:
        return list(words)
    space = bounds.PROGRAM_BYTES if isolated else bounds.GIT_BYTES
    limits = (space, int(SECONDS) + 1, bounds.SETTINGS_BYTES, int(isolated))
    return [sys.executable, "-I", "-S", program_launcher.__file__, *map(str, limits), *words]


def clean_error(text: str) -> str:
    """What a program says of a problem, without what is another each time: times of logs, and directories of ours."""
    lines = (line for line in text.splitlines() if not line.startswith(_WARNING))
    words = " ".join(_without_log(line) for line in lines).split()
    return " ".join(map(_without_own_directory, words))


def _without_log(line: str) -> str:
    match = _OF_THE_LOG.match(line)
    rest = line if match is None else line[match.end() :]
    return rest.removeprefix('"command failed" ').removeprefix("err=")


def _without_own_directory(word: str) -> str:
    """``'/tmp/kwhatif-x1/k0'`` without ``/tmp/kwhatif-x1/``."""
    at = word.rfind(_OWN)
    end = word.find("/", at)
    if at < 0 or end < 0:
        return word
    start = max(word.rfind(quote, 0, at) for quote in "'\"=(") + 1
    return word[:start] + word[end + 1 :]


def _shorten(text: str) -> str:
    """The beginning and the end of a long text: the first error, and what it comes from."""
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} ... {text[-_SHOWN:]}"
