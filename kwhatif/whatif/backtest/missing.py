"""What a recording lacks, told to whoever asks anything of it."""

from __future__ import annotations

from kwhatif.snapshot.foreign.recorded_moment import rfc3339
from kwhatif.snapshot.foreign.recording import Recording
from kwhatif.whatif.stages.notes import Notes


def note_missing(recording: Recording, notes: Notes) -> None:
    """Warn of a last line that is cut, and of changes that were not seen."""
    if recording.cut:
        notes.warn(f"{recording.source}: the last line is not whole, and left out")
    for path, gap in [*recording.about.missing, *recording.about.open.items()]:
        until = f"to {rfc3339(gap.until)}" if gap.until is not None else "on"
        notes.warn(f"{recording.source}: changes of {path} are missing from {rfc3339(gap.since)} {until}: {gap.why}")
