"""What happened over time, a line a happening, and the events a cluster would show."""

from __future__ import annotations

from kwhatif.report.blocks import NONE, Block, Grouping, Heading, Table, titled
from kwhatif.results.place import PlaceResult


def timeline_blocks(result: PlaceResult, *, wide: bool = False) -> list[Block]:
    """Nothing if time was not simulated. A ``wide`` report has the events, too."""
    rows = [(moment(e.time), e.pod or NONE, e.what, e.node or NONE, e.why or NONE) for e in result.timeline]
    blocks = titled("TIMELINE", ("time", "pod", "what", "node", "why"), rows, None, Grouping("line"), (3,))
    if rows and wide:
        told = tuple((moment(e.time), e.type, e.reason, f"pod/{e.pod}", e.message) for e in result.events)
        blocks += [
            Heading("EVENTS"),
            Table(("time", "type", "reason", "object", "message"), told, None, Grouping("event")),
        ]
    return blocks


def moment(seconds: float) -> str:
    """Seconds since the start: ``0s``, ``30s``, ``0.5s``."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"
