"""Results of ``snapshot trim``."""

from __future__ import annotations

from typing import ClassVar

from kwhatif.results.base import Result, ResultStruct


class TrimmedPod(ResultStruct, frozen=True, kw_only=True):
    """What becomes of a pod, before and after: its node and score, or the message of its last failure."""

    pod: str
    outcome: str
    node: str = ""
    score: int | None = None
    message: str = ""
    victims: tuple[str, ...] = ()


class KindCount(ResultStruct, frozen=True, kw_only=True):
    """Objects of one kind, before and after."""

    kind: str
    before: int
    after: int


class TrimResult(Result, frozen=True, kw_only=True):
    """How far a snapshot was cut down. ``steps`` decisions were recreated; ``complete`` unless they ran out.
    ``shown_by`` is the command that shows the decision again.
    """

    schema: ClassVar[str] = "snapshot-trim"
    about: ClassVar[str] = "How far a snapshot was cut down, by kwhatif snapshot trim"
    view: ClassVar[str] = "snapshot.trim.text:VIEW"

    kind: str = "SnapshotTrim"
    source: str
    file: str
    shown_by: str
    pods: tuple[TrimmedPod, ...]
    kinds: tuple[KindCount, ...]
    bytes_before: int
    bytes_after: int
    steps: int
    complete: bool
    others_pending: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return 0
