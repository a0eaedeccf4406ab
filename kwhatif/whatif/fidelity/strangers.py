"""Workloads that a snapshot lacks although it has their pods: without the object there is nothing to update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import FINISHED
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.fidelity.ownership import Owners


def strangers(snapshot: Snapshot, workloads: Collection[str]) -> dict[str, int]:
    """Of these workloads (``Deployment shop/web``) those that are not in the snapshot -> how many of their pods are."""
    known = {
        f"{kind} {obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
        for kind in {name.partition(" ")[0] for name in workloads}
        for obj in snapshot.whole.get(kind, ())
    }
    unknown = {name for name in workloads if name} - known
    if not unknown:
        return {}
    owners, namespaces = Owners(snapshot), {name.partition(" ")[2].partition("/")[0] for name in unknown}
    pods = (pod for pod in snapshot.objects.of(Pod) if pod.namespace in namespaces and pod.controller is not None)
    counts = Counter(str(owners.workload_of(pod)) for pod in pods if (pod.status.phase or "") not in FINISHED)
    return {name: counts[name] for name in sorted(unknown) if counts[name]}
