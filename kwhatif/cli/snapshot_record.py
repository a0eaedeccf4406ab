"""``kwhatif snapshot record``: what happens in a live cluster, written down as it happens."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kwhatif.cli.cluster_options import DumpFlags
from kwhatif.cli.option_groups import Excluding, expand_groups
from kwhatif.cli.options import Redact, RedactedBy, option, seconds
from kwhatif.cli.output import say
from kwhatif.cli.progress_line import ReadProgress
from kwhatif.cli.redaction import check_apart, check_together, with_redacted_lines
from kwhatif.errors import UsageError
from kwhatif.simulation.inputs import Notes

if TYPE_CHECKING:
    from kwhatif.snapshot.live.recorder import Counts, Recorder, RecordingSummary
    from kwhatif.snapshot.recording_lines import Treat

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def record(
    output: Annotated[
        str,
        option(
            "-o",
            "--output",
            metavar="FILE",
            help="Where to write: a new file, .jsonl, .jsonl.gz or .jsonl.zst, by name.",
        ),
    ],
    *,
    cluster: Annotated[DumpFlags, Excluding("timeout")],
    length: Annotated[
        str | None, option("--for", metavar="TIME", help="How long, such as 8h. Default: until it is stopped.")
    ] = None,
    redact: Redact = False,
    translation: RedactedBy = None,
) -> None:
    """Write down a live cluster's objects, then every change, until stopped (Ctrl-C, SIGTERM) or --for is over.

    'kwhatif backtest' asks again for all that was scheduled; any moment of it is a snapshot (FILE@2026-03-01T14:00:00Z,
    FILE@+2h, FILE@end). What is written can be read at any time, also after a crash.

    Exit codes: 0 good (what is missing is said in the file and here), 2 nothing, or not all, could be written.
    """
    from kwhatif.snapshot.live.recorder import Recorder

    check_together(redact=redact, translation=translation)
    limit = None if length is None else seconds(length, "--for")
    watching = ReadProgress()
    recorder = Recorder(
        cluster.connection(),
        cluster.build_settings(),
        seconds=TIMEOUT_MAX if limit is None else limit,
        progress=watching.progress,
        tell=watching.tell,
        shown=lambda counts: watching.show(f"recording: {_describe_counts(counts)}"),
    )
    notes = Notes()
    try:
        if translation is None:
            recorded = _until_stopped(recorder, output)
        else:
            check_apart(translation, output)
            recorded = with_redacted_lines(translation, notes, lambda lines: _until_stopped(recorder, output, lines))
    finally:
        watching.end()
    _summarize(recorded, output, notes)
    say(notes)
    if recorded.failed:
        raise UsageError(f"{output}: cannot be written any more: {recorded.failed}: {recorded.lost:,} lines are lost")


def _until_stopped(recorder: Recorder, output: str, treat: Treat | None = None) -> RecordingSummary:
    """What was recorded. Raises UsageError if the file cannot be made."""
    if output == "-":
        raise UsageError("-o: expected a file, found '-': a recording is written piece by piece")
    with _on_signals(recorder.stop.set):
        try:
            return recorder.record(output, treat)
        except FileExistsError:
            raise UsageError(f"{output}: is there already; a recording is not written over another file") from None
        except OSError as error:
            raise UsageError(f"{output}: cannot be written: {error.strerror or error}") from None


@contextmanager
def _on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the recording, not the program."""

    def handle_signal(*_: Any) -> None:
        stop()

    before = {number: signal.signal(number, handle_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _summarize(recorded: RecordingSummary, output: str, notes: Notes) -> None:
    """Note what is in the file, and what is not."""
    from kwhatif.results.amounts import format_age

    for text in recorded.notes:
        notes.note(text)
    for kind, why in recorded.refused.items():
        notes.warn(f"{kind} cannot be read, and is not in the recording: {why}")
    for kind, why in recorded.gaps.items():
        notes.warn(f"{kind}: some changes are missing: {why}")
    for kind, why in recorded.broken.items():
        notes.warn(f"{kind}: was not followed at the end: {why}")
    notes.note(
        f"{recorded.source} to {output}: {format_age(int(recorded.seconds))}, {_describe_counts(recorded.counts)}"
    )


def _describe_counts(counts: Counts) -> str:
    from kwhatif.results.amounts import format_size

    pods = "pod" if counts.bound == 1 else "pods"
    return f"{counts.events:,} events, {counts.bound:,} {pods} bound, {format_size(counts.size)}"
