"""What a snapshot shows of autoscalers that a question did not go by."""

from __future__ import annotations

from kwhatif.api.node_pools import NodePool
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.autoscale.own_deployment import autoscaler_of
from kwhatif.whatif.stages.notes import Notes


def note_autoscalers(snapshot: Snapshot, notes: Notes) -> None:
    """Say which autoscalers a cluster has that might help pods which find no node."""
    called = autoscaler_of(snapshot)
    if called:
        notes.note(f"{called} is an autoscaler: --autoscale FILE, with its node groups, tells for whom nodes come")
    if snapshot.objects.of(NodePool):
        notes.note("the cluster has Karpenter: --autoscale FILE, with a catalogue, tells for whom nodes come")
