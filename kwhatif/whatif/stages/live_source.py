"""A live cluster as what a question is asked of: it is read when its turn comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.live.listing import Progress
    from kwhatif.snapshot.live.live_cluster import Connection
    from kwhatif.whatif.stages.notes import Notes


@dataclass(frozen=True)
class LiveSource:
    """A cluster and who asks it. What is known of it may be ``max_age`` seconds old.

    ``progress`` and ``tell`` hear how far reading it has come, and what is worth a word meanwhile.
    """

    connection: Connection
    max_age: float
    progress: Progress = lambda kind, count, total: None
    tell: Callable[[str], None] = lambda text: None

    def __call__(self, notes: Notes) -> Snapshot:
        """Read the cluster, unless it was a moment ago. Raises ClusterError and InputError."""
        from kwhatif.snapshot.kept import live_snapshot

        snapshot, told = live_snapshot(self.connection, self.max_age, progress=self.progress, tell=self.tell)
        for text in told:
            notes.note(text)
        return snapshot
