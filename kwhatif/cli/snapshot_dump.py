"""``kwhatif snapshot dump``: read a live cluster, once, into a file."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Annotated

import typer

from kwhatif.cli.cluster_options import DumpFlags
from kwhatif.cli.option_groups import expand_groups
from kwhatif.cli.options import Redact, RedactedBy, SnapshotOutput
from kwhatif.cli.output import say
from kwhatif.cli.progress_line import ReadProgress
from kwhatif.cli.redaction import check_apart, check_together, redacted_snapshot
from kwhatif.errors import ClusterError, UsageError
from kwhatif.simulation.inputs import Notes

if TYPE_CHECKING:
    from kwhatif.snapshot.format.model import Snapshot
    from kwhatif.snapshot.live.dump import DumpResult

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
@expand_groups
def dump(
    output: SnapshotOutput,
    *,
    cluster: DumpFlags,
    retries: Annotated[
        int,
        typer.Option(
            "--retries", metavar="N", min=0, help="How often to reread lists that are inconsistent at the end."
        ),
    ] = 1,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if a kind may not be read or lists do not fit together.")
    ] = False,
    usage: Annotated[
        bool, typer.Option("--usage", help="Also read what pods use at the moment, as metrics.k8s.io says.")
    ] = False,
    redact: Redact = False,
    translation: RedactedBy = None,
) -> None:
    """Read a live cluster into a snapshot: what scheduling reads, and no secrets.

    Exit codes: 0 good (kinds that may not be read are named in the file and here), 2 nothing could be written.
    """
    check_together(redact=redact, translation=translation)
    connection, wanted = cluster.connection(), dataclasses.replace(cluster.build_settings(retries), usage=usage)
    _check_writable(output)
    if translation is not None:
        _check_writable(translation)
        check_apart(translation, output)

    from kwhatif.snapshot.format.model import write_snapshot
    from kwhatif.snapshot.live.dump import dump as read

    watching = ReadProgress()
    try:
        dumped = read(connection, wanted, progress=watching.progress, tell=watching.tell)
    finally:
        watching.end()
    if strict:
        _require_complete(dumped)
    notes = Notes()
    snapshot = dumped.snapshot
    if translation is not None:
        snapshot = redacted_snapshot(snapshot, translation, notes)
    write_snapshot(snapshot, output)
    _judge_scheduler(dumped.snapshot, notes)
    _summarize(dumped, output, notes)
    say(notes)


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
    from kwhatif.simulation.version_options import choose_minor

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
