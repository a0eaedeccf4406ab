"""Workloads that a snapshot lacks although it has their pods: without the object there is nothing to update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import FINISHED
from kwhatif.results.amounts import counted
from kwhatif.results.parts import Gap
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.whatif.fidelity.closing import closed_by
from kwhatif.whatif.fidelity.ownership import Owners
from kwhatif.whatif.session import Asked


def stranger_gaps(snapshot: Snapshot, asked: Sequence[Asked], *, more: bool = False) -> Iterator[Gap]:
    """Workloads that are taken to be new although their pods run; no pod is touched that is one ``more`` of them."""
    new = {item.owner for item in asked if item.origin != snapshot.source and not item.edited}
    for name, number in strangers(snapshot, new).items():
        there = f"{counted(number, 'pod')} of it {'is' if number == 1 else 'are'}"
        yield Gap(
            what=f"{name} is not in the snapshot, though {there}",
            effect="it is taken to be new, and they to stay beside its new pods",
            pods=() if more else tuple(item.pod.key for item in asked if item.owner == name),
            closed_by=closed_by(snapshot, name.partition(" ")[0]),
        )


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
