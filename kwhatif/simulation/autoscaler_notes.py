"""Notes about autoscalers of the cluster that the question was not asked with, by the snapshot and the rules file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from kwhatif.api.objects import section
from kwhatif.errors import KwhatifError
from kwhatif.simulation.inputs import Notes
from kwhatif.snapshot.format.autoscaler_info import flags_in
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.objects import name_of, namespace_of


def own_deployment(snapshot: Snapshot) -> tuple[str, Sequence[tuple[str, str]]]:
    """Name and flags of the autoscaler's own Deployment; "" if there is none."""
    for deployment in snapshot.whole.get("Deployment", ()):
        for container in section(deployment, "spec", "template", "spec").get("containers") or ():
            flags = flags_in(container)
            if flags is not None:
                return f"Deployment {namespace_of(deployment)}/{name_of(deployment)}", flags
    return "", ()


def autoscaler_of(snapshot: Snapshot) -> str:
    """The name of the cluster's autoscaler; "" if none is known."""
    info = snapshot.autoscaler
    return own_deployment(snapshot)[0] or (info.groups_source if info and info.groups_source else "")


def note_autoscalers(snapshot: Snapshot, notes: Notes) -> None:
    """Note the autoscalers that might help pods without a node."""
    called = autoscaler_of(snapshot)
    if called:
        notes.note(
            f"{called} is an autoscaler: --autoscale FILE, with its node groups, says for which pods nodes are added"
        )
    if any(map(snapshot.objects.list_kind, ("NodePool", "NodeClaim"))):
        notes.note("the cluster has Karpenter: --autoscale FILE, with a catalogue, says for which pods nodes are added")
    # A rules file that is wrong is no matter of an answer that does not go by it.
    with contextlib.suppress(KwhatifError):
        from kwhatif.simulation.repository_policy import find_policy, read_policy

        path = find_policy(os.curdir)
        autoscale = read_policy(path).policy.autoscale if path else None
        for document in autoscale or ():
            notes.note(f"{path} names an autoscaler: --autoscale {document} says for which pods nodes are added")
