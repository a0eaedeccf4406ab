"""The cluster as an answer leaves it, written as a snapshot to ask further (``--write-snapshot``)."""

from __future__ import annotations

from kwhatif.api.core import Pod
from kwhatif.results.amounts import format_count
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.afterwards import snapshot_after_run
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.scenario import PreparedScenario
from kwhatif.snapshot.format.model import write_snapshot


def write_afterwards(path: str, scenario: PreparedScenario, run: Run, what: str, notes: Notes) -> None:
    """Write the cluster after a run, in which ``what`` was done goes to its edits."""
    snapshot = run.session.snapshot
    after = snapshot_after_run(snapshot, scenario.edited.covered, scenario.expanded, run, what)
    after.source = f"{path}, made from {snapshot.source}" if snapshot.source else path
    write_snapshot(after, path)
    pods = len(after.objects.list_all(Pod))
    notes.note(f"{path}: the cluster afterwards, with {format_count(pods, 'pod')}")
