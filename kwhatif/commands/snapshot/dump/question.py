"""The task of ``snapshot dump``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from kwhatif import bounds
from kwhatif.commands.common_options import SNAPSHOT_OUTPUT
from kwhatif.commands.connection_options import LiveOptions, Timeout
from kwhatif.errors import ClusterError, UsageError
from kwhatif.progress import watch_reading
from kwhatif.results.printed import Printed
from kwhatif.simulation.command import DOCUMENT, Task
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes

if TYPE_CHECKING:
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.live.dump import DumpResult


@dataclass(frozen=True, kw_only=True)
class Dump(LiveOptions, Task[Printed]):
    """Read a live cluster into a snapshot: what scheduling reads, and no secrets.

    Exit codes: 0 good (kinds that may not be read are named in the file and here), 2 nothing could be written.
    """

    prints = DOCUMENT
    examples = ("-o cluster.json.zst", "--redact --translation names.json -o shared.json.zst")

    output: Annotated[str, SNAPSHOT_OUTPUT]
    timeout: Timeout = bounds.DUMP_SECONDS
    retries: Annotated[
        int,
        Flag(
            "--retries",
            metavar="N",
            least=0,
            shows_default=True,
            help="How often to reread lists that are inconsistent at the end.",
        ),
    ] = 1
    strict: Annotated[
        bool, Flag("--strict", help="Write nothing if a kind may not be read or lists do not fit together.")
    ] = False
    usage: Annotated[bool, Flag("--usage", help="Also read what pods use at the moment, as metrics.k8s.io says.")] = (
        False
    )

    def answer(self, options: Any, notes: Notes) -> Printed:
        from kwhatif.commands.snapshot.redacted_files import redacted_snapshot
        from kwhatif.snapshot.format.model import write_snapshot
        from kwhatif.snapshot.live.dump import dump

        self.check_redaction(self.output)
        connection, wanted = self.connection(self.timeout), self.build_settings(self.retries, usage=self.usage)
        _check_writable(self.output)
        if self.translation is not None:
            _check_writable(self.translation)
        with watch_reading() as watching:
            dumped = dump(connection, wanted, progress=watching.progress, tell=watching.tell)
        if self.strict:
            _require_complete(dumped)
        snapshot = dumped.snapshot
        if self.translation is not None:
            snapshot = redacted_snapshot(snapshot, self.translation, notes)
        write_snapshot(snapshot, self.output)
        _judge_scheduler(dumped.snapshot, notes)
        _summarize(dumped, self.output, notes)
        return Printed()


def _check_writable(output: str) -> None:
    """Raises UsageError for a place that cannot be written, before a large cluster is read for nothing."""
    directory = os.path.dirname(os.path.realpath(output))
    if output == "-":
        return
    if os.path.isdir(output):
        raise UsageError(f"{output}: cannot be written: it is a directory")
    if not os.path.isdir(directory) or not os.access(directory, os.W_OK):
        why = "no permission" if os.path.isdir(directory) else "there is no such directory"
        raise UsageError(f"{output}: cannot be written: {why}")


def _require_complete(dumped: DumpResult) -> None:
    """Raises ClusterError if something is missing that is there."""
    for kind in dumped.refused:
        raise ClusterError(f"--strict: {kind} cannot be read: {dumped.snapshot.unreadable[kind]}")
    for text in dumped.snapshot.inconsistencies:
        raise ClusterError(f"--strict: the lists do not fit together: {text}")


def _judge_scheduler(snapshot: Snapshot, notes: Notes) -> None:
    """Note if the cluster's own configuration is one that every later answer would have to refuse."""
    scheduler = snapshot.scheduler
    if scheduler is None or scheduler.configuration is None:
        return
    from kwhatif.policy.configuration_file import examine
    from kwhatif.simulation.scheduler_setup import choose_minor

    features = choose_minor(None, None, notes, otherwise=snapshot.kubernetes_version, recorded=scheduler.feature_gates)
    outcome = examine(scheduler.configuration, source=scheduler.source or "", features=features)
    if outcome.configuration is None:
        notes.warn(f"{scheduler.source}: kube-scheduler would refuse this configuration: {outcome.error}")


def _summarize(dumped: DumpResult, output: str, notes: Notes) -> None:
    """Note what was read, and what was not."""
    from kwhatif.results.amounts import format_size

    snapshot = dumped.snapshot
    held = ", ".join(f"{number:,} {kind}" for kind, number in snapshot.counts().items() if number)
    for text in dumped.notes:
        notes.note(text)
    for kind in dumped.refused:
        notes.warn(f"{kind} cannot be read: {snapshot.unreadable[kind]}")
    missing = sorted(snapshot.unreadable.keys() - set(dumped.refused))
    if missing:
        notes.note(f"the cluster does not serve {', '.join(missing)}")
    for text in snapshot.inconsistencies:
        notes.warn(f"the lists do not fit together: {text}")
    if snapshot.dropped:
        notes.note(f"left out of pod templates: {', '.join(snapshot.dropped)}; --keep-templates keeps them")
    where = "standard output" if output == "-" else f"{output} ({format_size(os.path.getsize(output))})"
    notes.note(f"{snapshot.source} to {where}: {held}")
