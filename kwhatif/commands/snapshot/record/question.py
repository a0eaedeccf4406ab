"""The task of ``snapshot record``: what happens in a live cluster, written down as it happens."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import TIMEOUT_MAX, current_thread, main_thread
from typing import TYPE_CHECKING, Annotated, Any

from kwhatif.commands.connection_options import LiveOptions
from kwhatif.errors import UsageError
from kwhatif.progress import watch_reading
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Flag, OutputFile
from kwhatif.simulation.inputs import Notes

if TYPE_CHECKING:
    from kwhatif.snapshot.live.recorder import Counts, Recorder, RecordingSummary
    from kwhatif.snapshot.recording_lines import Treat


@dataclass(frozen=True, kw_only=True)
class Record(LiveOptions, Task[Printed]):
    """Write down a live cluster's objects, then every change, until stopped (Ctrl-C, SIGTERM) or --for is over.

    'kwhatif backtest' asks again for all that was scheduled; any moment of it is a snapshot (FILE@2026-03-01T14:00:00Z,
    FILE@+2h, FILE@end). What is written can be read at any time, also after a crash.

    Exit codes: 0 good (what is missing is said in the file and here), 2 nothing, or not all, could be written.
    """

    prints = DOCUMENT
    examples = ("-o day.jsonl.zst --for 8h",)

    output: Annotated[
        str, OutputFile("--output", "Where to write: a new file, .jsonl, .jsonl.gz or .jsonl.zst, by name.", short="-o")
    ]
    seconds: Annotated[
        float | None,
        Flag("--for", metavar="DURATION", duration=True, help="How long, such as 8h. Default: until it is stopped."),
    ] = None

    def answer(self, options: Any, notes: Notes) -> Printed:
        from kwhatif.commands.snapshot.redacted_files import with_redacted_lines
        from kwhatif.snapshot.live.recorder import Recorder

        self.check_redaction(self.output)
        with watch_reading() as watching:
            recorder = Recorder(
                self.connection(),
                self.build_settings(),
                seconds=TIMEOUT_MAX if self.seconds is None else self.seconds,
                progress=watching.progress,
                tell=watching.tell,
                shown=lambda counts: watching.show(f"recording: {_describe_counts(counts)}"),
            )
            if self.translation is None:
                recorded = _until_stopped(recorder, self.output)
            else:
                recorded = with_redacted_lines(
                    self.translation, notes, lambda lines: _until_stopped(recorder, self.output, lines)
                )
        _summarize(recorded, self.output, notes)
        if recorded.failed:
            notes.warn(
                f"{self.output}: cannot be written any more: {recorded.failed}: {recorded.lost:,} lines are lost"
            )
        return Printed(code=2 if recorded.failed else 0)


def _until_stopped(recorder: Recorder, output: str, treat: Treat | None = None) -> RecordingSummary:
    """What was recorded. Raises UsageError if the file cannot be made."""
    if output == "-":
        raise UsageError("-o: expected a file, found '-': a recording is written piece by piece")
    with _on_signals(recorder.stop.set):
        try:
            return recorder.record(output, treat)
        except FileExistsError:
            raise UsageError(f"{output}: already exists; a recording does not overwrite a file") from None
        except OSError as error:
            raise UsageError(f"{output}: cannot be written: {error.strerror or error}") from None


@contextmanager
def _on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the recording, not the program."""

    def handle_signal(*_: Any) -> None:
        stop()

    # Only the main thread may handle signals.
    numbers = (signal.SIGINT, signal.SIGTERM) if current_thread() is main_thread() else ()
    before = {number: signal.signal(number, handle_signal) for number in numbers}
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
