"""What a snapshot, and the rules file of a repository, show of autoscalers that a question did not go by."""

from __future__ import annotations

import contextlib
import os

from kwhatif.errors import KwhatifError
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.autoscale.own_deployment import autoscaler_of
from kwhatif.whatif.stages.notes import Notes


def note_autoscalers(snapshot: Snapshot, notes: Notes) -> None:
    """Say which autoscalers there are that might help pods which find no node."""
    called = autoscaler_of(snapshot)
    if called:
        notes.note(f"{called} is an autoscaler: --autoscale FILE, with its node groups, tells for whom nodes come")
    if any(map(snapshot.objects.called, ("NodePool", "NodeClaim"))):
        notes.note("the cluster has Karpenter: --autoscale FILE, with a catalogue, tells for whom nodes come")
    # A rules file that is wrong is no matter of an answer that does not go by it.
    with contextlib.suppress(KwhatifError):
        from kwhatif.whatif.gate.gate_policy import find_policy, read_policy

        path = find_policy(os.curdir)
        told = read_policy(path).policy.autoscale if path else None
        for document in told or ():
            notes.note(f"{path} names an autoscaler: --autoscale {document} tells for whom nodes come")
