"""Runs other programs that render manifests, found on the ``PATH``, with as few permissions as possible.

They run without a shell, with an empty home directory, no environment but ``PATH``, nothing on standard input, a time
limit and a limit on their output. Network access is cut off: proxies point to nowhere, and git may use no protocol, so
a URL that was overlooked in a file is not fetched.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from threading import Timer

from kwhatif import bounds
from kwhatif.errors import InputError

SECONDS = 60
"""For how long a program may run."""

_TOLD = 64 * 1024
_NOWHERE = "http://127.0.0.1:1"
_SHOWN = 250
_NOISE = re.compile(
    r"^# Warning:.*$|^[EIWF]\d{4} \S+ +\d+ [^\]]*\] (?:\"command failed\" err=)?|[^\s'\"]*?/kwhatif-\w+/", re.MULTILINE
)
"""What is another thing each time, or no word on the problem: warnings, times of logs, directories of ours."""


class ProgramFailureError(InputError):
    """A program that could not do what it was asked to; the problem is in its own words."""


def run_program(words: Sequence[str], home: str, source: str) -> bytes:
    """Run a program in the directory ``home``, which is also its home directory, and return what it prints.

    ``source`` names its input in messages. Raises ProgramFailureError if it fails, takes too long or prints too much.
    """
    name = os.path.basename(words[0])
    environment = {
        "PATH": os.environ.get("PATH", ""),
        **dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), home),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"), _NOWHERE),
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "KUBECONFIG": os.devnull,
        "LC_ALL": "C",
    }
    overdue: list[bool] = []
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd=home, env=environment
        ) as process,
    ):

        def stop() -> None:
            overdue.append(True)
            process.kill()

        timer = Timer(SECONDS, stop)
        timer.start()
        try:
            assert process.stdout is not None
            printed = process.stdout.read(bounds.MANIFEST_BYTES + 1)
            if len(printed) > bounds.MANIFEST_BYTES:
                process.kill()
                problem = f"{name} prints more than the limit of {bounds.MANIFEST_BYTES:,} bytes"
                raise ProgramFailureError(problem, source=source)
            code = process.wait()
        finally:
            timer.cancel()
            process.kill()
        if overdue:
            raise ProgramFailureError(f"{name} took longer than {SECONDS} seconds", source=source)
        if code:
            errors.seek(0)
            told = " ".join(_NOISE.sub("", errors.read(_TOLD).decode("utf-8", "replace")).split())
            raise ProgramFailureError(f"{name} cannot render this: {_shorten(told)}", source=source)
    return printed


def _shorten(text: str) -> str:
    """The beginning and the end of a long text: the first error, and what it comes from."""
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} ... {text[-_SHOWN:]}"
