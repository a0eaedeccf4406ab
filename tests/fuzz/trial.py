"""One input after the other, each under a limit of time and of memory: what a command makes of it.

Time is that of the processor, so that nobody fails because others are at work; who waits has a limit by the clock.

A command may answer, or end with one line that says which file is wrong. Whatever else it does is a failure.
"""

from __future__ import annotations

import contextlib
import functools
import json
import resource
import signal
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from unittest import mock

import typer

from kwhatif.cli.command_line import typer_command
from kwhatif.cli.common import complete_command
from kwhatif.snapshot.live.live_cluster import LiveCluster, Reply
from tests.cli.running import Ran, run
from tests.fuzz.cases import Case
from tests.fuzz.good_files import good_files

# To put a command together takes longer than most of them take; and what completes it adds to it.
_command = functools.cache(typer.main.get_command)
_complete = functools.cache(complete_command)
_made = functools.cache(typer_command)

SECONDS = 10
WAITED = 600
_TIMERS = ((signal.SIGPROF, signal.ITIMER_PROF, SECONDS), (signal.SIGALRM, signal.ITIMER_REAL, WAITED))
MEMORY = 1 << 30


class TooLong(BaseException):
    """A command that did not come to an end in time; no handler of errors catches this."""


@dataclass(frozen=True)
class Outcome:
    """What came of one input: its exit ``code``, and how it failed, which is empty if all went as it should.

    ``memory`` is the most that the process got for it, in bytes. ``files`` of the input are wrong.
    """

    case: str
    command: str
    seconds: float
    memory: int
    failure: str = ""
    code: int = -1
    files: int = 1


class _Served(LiveCluster):
    """A cluster whose answers are in memory, by path."""

    answers: Mapping[str, bytes]

    def __init__(self, *_: object) -> None:
        self.context = "fuzz"

    host = "https://127.0.0.1:6443"
    complaint = ""

    def __exit__(self, *_: object) -> None:
        """There is no connection to be closed."""

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Reply:
        found = self.answers.get(path)
        return Reply(404, {}, b"{}") if found is None else Reply(200, {}, found)


class Trial:
    """A directory with the good files, in which commands run."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        for name, good in good_files().items():
            self._write(f"{name}.json", json.dumps(good))

    def _write(self, name: str, text: str) -> str:
        path = self._directory / name
        path.write_text(text, "utf-8", "surrogatepass")
        return str(path)

    def of(self, case: Case) -> Outcome:
        """What comes of an input."""
        for left in self._directory.glob("out.*"):
            left.unlink()
        words = {name: str(self._directory / f"{name}.json") for name in (*good_files(), "bad", "good")}
        self._write("bad.json", case.bad)
        self._write("good.json", case.good)
        if case.second is not None:
            words[case.second[0]] = self._write("second.json", case.second[1])
        words["rows"] = self._write("rows.jsonl", case.bad) if case.sort == "rows" else ""
        command = [word.format(out=self._directory / "out", **words) for word in case.command.split()]
        _forget_peak()
        began, before, failure, code = time.process_time(), _peak(), "", -1
        try:
            with (
                _within(),
                _answering(case),
                mock.patch("typer.main.get_command", _command),
                mock.patch("kwhatif.cli.common.complete_command", _complete),
                mock.patch("kwhatif.cli.command_line.typer_command", _made),
            ):
                ran = run(*command, env={"KWHATIF_DEBUG": "1"})
            failure, code = _misbehaved(ran, case), ran.code
        except TooLong:
            failure = f"no end after {SECONDS} s of work, or {WAITED} s of waiting"
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            own = [one for one in traceback.extract_tb(error.__traceback__) if "/kwhatif/" in one.filename][-1:]
            at = " < ".join(f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in (frame, *own))
            failure = f"{type(error).__name__}: {str(error)[:100]} ({at})"
        seconds, memory = time.process_time() - began, _peak() - before
        if memory > MEMORY:
            failure = failure or f"{memory >> 20} MB"
        name = " ".join(_name(case.command))
        return Outcome(str(case), name, seconds, memory, failure, code, files=1 if case.second is None else 2)


def _name(command: str) -> list[str]:
    words = command.split()
    return words[: 2 if words[0] in ("snapshot", "policy") or words[:2] == ["autoscale", "groups"] else 1]


def _misbehaved(ran: Ran, case: Case) -> str:
    """What is wrong with how a command ended."""
    if ran.code not in (0, 1, 2):
        return f"exit code {ran.code}"
    if ran.code != 2:
        return ""
    last = ran.err.splitlines()[-1] if ran.err else ""
    if ran.out:
        return "an error, and something on standard output"
    if not last.startswith("kwhatif: ") or not last.isprintable():
        return f"no error of one line: {last!r}"
    if last.startswith("kwhatif: $") or (": expected " in last and case.sort != "page" and ".json" not in last):
        return f"an error that names no file: {last[:150]}"
    return ""


@contextlib.contextmanager
def _answering(case: Case) -> Iterator[None]:
    if case.sort != "page":
        yield
        return
    told = {"/version": b'{"gitVersion": "v1.36.1"}'}
    for line in case.bad.splitlines():
        path, _, answer = line.partition(" ")
        told[path] = answer.encode()
    with (
        mock.patch.object(_Served, "answers", told, create=True),
        mock.patch("kwhatif.snapshot.live.dump.LiveCluster", _Served),
    ):
        yield


@contextlib.contextmanager
def _within() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = {number: signal.signal(number, ring) for number, _, _ in _TIMERS}
    try:
        for _, timer, seconds in _TIMERS:
            signal.setitimer(timer, seconds)
        yield
    finally:
        for number, timer, _ in _TIMERS:
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def bound_memory() -> None:
    """From here on this process gets no more than so much memory beyond what it has: MemoryError."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _forget_peak() -> None:
    """Linux forgets the most memory that the process had; elsewhere it is that of its whole life."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", "ascii")


def _peak() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
