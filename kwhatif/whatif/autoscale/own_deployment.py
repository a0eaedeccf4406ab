"""The autoscaler's own Deployment, where a snapshot has it."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.snapshot.format.model import Snapshot
from kwhatif.workloads.objects import name_of, namespace_of, section


def own_deployment(snapshot: Snapshot) -> tuple[str, Sequence[str]]:
    """What it is called and the words of its flags; "" if there is none."""
    for deployment in snapshot.whole.get("Deployment", ()):
        for container in section(deployment, "spec", "template", "spec").get("containers") or ():
            words = [str(word) for word in (*(container.get("command") or ()), *(container.get("args") or ()))]
            if words and words[0].rpartition("/")[2] == "cluster-autoscaler":
                return f"Deployment {namespace_of(deployment)}/{name_of(deployment)}", words[1:]
    return "", ()


def autoscaler_of(snapshot: Snapshot) -> str:
    """What the cluster's autoscaler is called; "" if none is known."""
    return own_deployment(snapshot)[0]
