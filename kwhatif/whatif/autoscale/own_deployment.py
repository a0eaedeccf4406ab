"""The autoscaler's own Deployment, where a snapshot has it."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.snapshot.format.autoscaler_command import flags_in
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.objects import name_of, namespace_of, section


def own_deployment(snapshot: Snapshot) -> tuple[str, Sequence[tuple[str, str]]]:
    """What it is called and its flags; "" if there is none."""
    for deployment in snapshot.whole.get("Deployment", ()):
        for container in section(deployment, "spec", "template", "spec").get("containers") or ():
            flags = flags_in(container)
            if flags is not None:
                return f"Deployment {namespace_of(deployment)}/{name_of(deployment)}", flags
    return "", ()


def autoscaler_of(snapshot: Snapshot) -> str:
    """What the cluster's autoscaler is called; "" if none is known."""
    info = snapshot.autoscaler
    return own_deployment(snapshot)[0] or (info.groups_source if info and info.groups_source else "")
