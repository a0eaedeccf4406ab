"""Where answers go: standard output, and files that appear complete or not at all. Notes go to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn

import typer

from kwhatif.errors import UsageError
from kwhatif.report.escape import clean

__all__ = ["finish", "new_file", "note", "warn", "write"]


def write(text: str) -> None:
    """Print an answer as UTF-8, whatever the locale. A reader that went away (``| head``) is no error."""
    try:
        raw = getattr(sys.stdout, "buffer", None)
        if raw is None:
            sys.stdout.write(text)
        else:
            raw.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish(text: str, exit_code: int) -> NoReturn:
    """Print an answer and end with its exit code."""
    write(text)
    raise typer.Exit(exit_code)


def note(text: str) -> None:
    """Something worth knowing that is no part of the answer."""
    print(f"note: {clean(text)}", file=sys.stderr)


def warn(text: str) -> None:
    """Something that may make the answer other than meant."""
    print(f"warning: {clean(text)}", file=sys.stderr)


@contextlib.contextmanager
def new_file(path: str) -> Iterator[IO[bytes]]:
    """A file to be written; it takes its name when all is written, and leaves nothing behind if that fails.

    Raises UsageError if it cannot be written. What is no regular file (``/dev/null``) is written directly.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with draft.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
