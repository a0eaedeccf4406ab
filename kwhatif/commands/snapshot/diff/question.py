"""The task of ``snapshot diff``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from kwhatif.commands.snapshot.diff.result import DiffResult
from kwhatif.simulation.command import FILES, Task
from kwhatif.simulation.flag import Argument
from kwhatif.simulation.inputs import Notes


@dataclass(frozen=True, kw_only=True)
class Diff(Task[DiffResult]):
    """Show what changed between two snapshots, as far as scheduling can see it."""

    prints = FILES
    exit_1_when = "something changed"
    examples = ("samples/gpu/cluster.json samples/gate/snapshot.json --exit-zero",)

    before: Annotated[str, Argument(metavar="A", file="in", help="The snapshot before.")]
    after: Annotated[str, Argument(metavar="B", file="in", help="The snapshot after.")]

    def answer(self, options: Any, notes: Notes) -> DiffResult:
        from kwhatif.commands.snapshot.diff.diff import diff
        from kwhatif.snapshot.load import load_snapshot

        old, new = load_snapshot([self.before]), load_snapshot([self.after])
        if old.source == new.source and self.before != self.after:
            # A snapshot that a question wrote keeps the source of the one it was asked about.
            old.source, new.source = self.before, self.after
        return diff(old, new)
