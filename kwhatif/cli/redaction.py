"""Redacting with a translation in a file: what ``snapshot redact`` and ``snapshot dump --redact`` share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

from kwhatif.cli.options import option
from kwhatif.errors import InputError, UsageError
from kwhatif.whatif.stages.notes import Notes

if TYPE_CHECKING:
    from kwhatif.redaction import Translation
    from kwhatif.snapshot.format.model import Snapshot

T = TypeVar("T")

TranslationFile = Annotated[
    str,
    option(
        "--translation",
        metavar="FILE",
        help="Which pseudonym stands for what; made if it is not there, added to if it is. Not to be shared.",
    ),
]


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
    from kwhatif.snapshot.format.drafts import alone

    with ExitStack() as stack:
        try:
            stack.enter_context(alone(path))
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
            notes.warn(f"{path}: could be read by others than you; now it cannot")
        made, translation = how(before)
        write_translation(translation, path)
    if not there:
        notes.note(f"{path} says which pseudonym stands for what: keep it, and do not share it")
    return made
