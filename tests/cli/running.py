"""The command line as its users meet it: words in, exit code and both outputs out. Paths are relative to tests/."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from kwhatif.cli.main import main

TESTS = Path(__file__).parent.parent
CLUSTER = "data/cluster.json"


@dataclass(frozen=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def notes(self) -> list[str]:
        """Lines on standard error, without the age of the snapshot."""
        return [line for line in self.err.splitlines() if not line.startswith("note: the snapshot is ")]


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def run(
    *words: str,
    stdin: bytes | str = b"",
    columns: int = 80,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    terminal: bool = False,
) -> Ran:
    """Run ``kwhatif`` in this process, in tests/ or another folder; standard output may be a terminal that shows
    colours.
    """
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out = (_Terminal if terminal else io.TextIOWrapper)(io.BytesIO(), "utf-8", newline="")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    env = {"TERM": "xterm", "NO_COLOR": "", **(env or {})} if terminal else env
    hook = sys.excepthook
    with (
        contextlib.chdir(folder or TESTS),
        mock.patch.dict(os.environ, {"COLUMNS": str(columns), **(env or {})}),
        mock.patch.object(sys, "argv", ["kwhatif", *words]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8")),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        finally:
            sys.excepthook = hook
    return Ran(code, _content(out), _content(err))


def _content(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def refused(*words: str, stdin: bytes | str = b"") -> str:
    """The one line that a command ends with, which does nothing else; without the program's name."""
    ran = run(*words, stdin=stdin)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert line.startswith("kwhatif: ")
    assert line.isprintable()
    assert "Traceback" not in line
    assert "internal error" not in line
    return line.removeprefix("kwhatif: ")


def process(
    *words: str, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run ``python -m kwhatif`` for real, in tests/."""
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(TESTS.parent), **(env or {})}
    return subprocess.run(
        [sys.executable, "-m", "kwhatif", *words],
        input=stdin,
        capture_output=True,
        cwd=TESTS,
        env=environment,
        check=False,
    )


def python_script(text: str) -> str:
    """A program for this Python, whose path may have a blank in it: its first lines are one command for sh, and for
    Python a string; so pip begins scripts.
    """
    return f"""#!/bin/sh\n'''exec' {shlex.quote(sys.executable)} "$0" "$@"\n' '''\n{text}\n"""
