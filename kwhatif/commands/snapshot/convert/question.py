"""The task of ``snapshot convert``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kwhatif.commands.common_options import SNAPSHOT_OUTPUT
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Argument, Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.scenario_options import NAMESPACE, EditedClusterOptions

if TYPE_CHECKING:
    from kwhatif.snapshot.format.model import Snapshot


@dataclass(frozen=True, kw_only=True)
class Convert(Task[Printed]):
    """Bring whatever describes a cluster into one file: other tools' dumps, lists of kubectl, snapshots.

    What scheduling does not read is left out. What-if edits are made before it is written.

    Exit codes: 0 good, 2 usage or input error.
    """

    takes = EditedClusterOptions
    lacks = frozenset({"snapshot", "now"})
    prints = DOCUMENT
    examples = ("samples/cluster -o cluster.json.zst",)

    files: Annotated[
        Sequence[str],
        Argument(
            metavar="FILE",
            file="in",
            repeats=True,
            required=True,
            help="Snapshots, what kubectl prints, others' dumps: files, directories, or '-' for stdin.",
        ),
    ] = ()
    output: Annotated[str, SNAPSHOT_OUTPUT]
    to: Annotated[
        str,
        Flag(
            "--format",
            choices=("kwhatif", "list"),
            shows_default=True,
            help="What to write: a snapshot, or a List as 'kubectl get -o json' prints it.",
        ),
    ] = "kwhatif"
    namespace: Annotated[str, NAMESPACE] = "default"

    def answer(self, options: EditedClusterOptions, notes: Notes) -> Printed:
        from kwhatif.simulation.cluster_files import with_edits
        from kwhatif.snapshot.format.model import list_losses, write_list, write_snapshot
        from kwhatif.snapshot.load import load_snapshot

        snapshot = with_edits(load_snapshot(self.files, self.namespace), options.edits, notes).snapshot
        if self.to == "list":
            write_list(snapshot, self.output)
            if lost := list_losses(snapshot):
                notes.note(f"a List has no place for {', '.join(lost)}")
        else:
            write_snapshot(snapshot, self.output)
        _summarize(snapshot, notes)
        return Printed()


def _summarize(snapshot: Snapshot, notes: Notes) -> None:
    """Note what was found, and what not."""
    from kwhatif.api.core import Node
    from kwhatif.results.amounts import format_counts

    notes.note(f"{snapshot.source}: {format_counts(+Counter(snapshot.counts())) or 'no objects'}")
    if snapshot.ignored:
        notes.note(f"left out: {format_counts(Counter(snapshot.ignored))}")
    for kind, why in sorted(snapshot.unreadable.items()):
        notes.warn(f"{kind} is not there in full: {why}")
    if not snapshot.objects.list_all(Node):
        notes.warn("there are no nodes")
