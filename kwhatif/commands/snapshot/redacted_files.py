"""Redacting with a translation in a file: what ``snapshot redact``, ``dump --redact`` and ``record --redact`` share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from kwhatif.errors import InputError, UsageError
from kwhatif.simulation.inputs import Notes

if TYPE_CHECKING:
    from kwhatif.redaction import Translation
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.read.files import Lines
    from kwhatif.snapshot.recording_lines import Treat

T = TypeVar("T")


def check_apart(translation: str, output: str) -> None:
    """Raises UsageError if names and pseudonyms would be written to one file."""
    if os.path.realpath(translation) == os.path.realpath(output):
        raise UsageError("--translation and -o name the same file: one is private, the other is to be shared")


def redacted_snapshot(snapshot: Snapshot, path: str, notes: Notes) -> Snapshot:
    """The snapshot under pseudonyms; the translation in ``path`` has them all before this returns.

    Raises InputError, also if the snapshot is redacted already.
    """
    from kwhatif.redaction import redact

    if snapshot.redacted:
        raise InputError("is redacted already: there are no names left to replace", source=snapshot.source)
    return with_translation(path, notes, lambda translation: redact(snapshot, translation, warn=notes.warn))


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """A run that read the translation before another one wrote it would give its pseudonyms a second time."""
    from kwhatif.snapshot.format.atomic_files import lock_directory

    with ExitStack() as stack:
        try:
            stack.enter_context(lock_directory(path))
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}", source=path) from None
        yield


def with_translation(path: str, notes: Notes, how: Callable[[Translation | None], tuple[T, Translation]]) -> T:
    """What ``how`` makes with the translation in a file, once that has what was added to it."""
    from kwhatif.redaction import read_translation, readable_by_others, write_translation

    if path == "-":
        raise UsageError("--translation: expected a file, found '-'")
    with _alone(path):
        there = os.path.exists(path)
        before = read_translation(path) if there else None
        if there and readable_by_others(path):
            notes.warn(f"{path}: was readable by others; now it is not")
        made, translation = how(before)
        write_translation(translation, path)
    if not there:
        notes.note(f"{path} says which pseudonym stands for what: keep it, and do not share it")
    return made


def with_redacted_lines(path: str, notes: Notes, write: Callable[[Treat], T]) -> T:
    """What ``write`` makes that has lines of a recording redacted.

    The translation in ``path`` always has the pseudonyms of a line before that is written.
    """
    from kwhatif.redaction import write_translation
    from kwhatif.redaction.redact import LineRedactor

    def keep(translation: Translation) -> None:
        try:
            write_translation(translation, path)
        except InputError as error:
            raise OSError(0, f"{path}: {error.problem}") from error

    def how(before: Translation | None) -> tuple[T, Translation]:
        redactor = LineRedactor(before, keep)
        made = write(redactor.lines)
        for key in sorted(redactor.compared_late):
            notes.warn(
                f"values of the label {key} are compared as numbers since some moment of the recording: before that, "
                "numbers of more than three digits do not count"
            )
        return made, redactor.translation

    return with_translation(path, notes, how)


def copy_lines(lines: Lines, output: str, treat: Treat) -> None:
    """Write lines of a recording as they are treated to a new file. Raises InputError."""
    from kwhatif.snapshot.recording_lines import Line, RecordingWriter, decode_lines

    try:
        file = RecordingWriter(output, treat)
    except FileExistsError:
        raise InputError("already exists; a recording does not overwrite a file", source=output) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", source=output) from None
    try:
        for _, text, line in decode_lines(lines, Line[msgspec.Raw]):
            if line.cluster is not None and line.cluster.redacted:
                raise InputError("is redacted already: there are no names left to replace", source=lines.name)
            file.add(partial(bytes, text))
    except BaseException:
        file.remove()
        raise
    file.close()
    if file.failed:
        file.remove()
        raise InputError(f"cannot be written: {file.failed.strerror or file.failed}", source=output)
