"""Kinds of Kueue's that a snapshot does not hold, although the answer depends on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kwhatif.api import kueue as api
from kwhatif.api.kinds import Objects, kind_named
from kwhatif.api.meta import Resource
from kwhatif.kueue.kueue_objects import KueueObjects
from kwhatif.results.base import Gap


class _NeededKind(NamedTuple):
    """A kind, what is assumed without it, and whether anything refers to it."""

    struct: type[Resource]
    name: str
    effect: str
    is_needed: Callable[[KueueObjects], bool] = lambda _: True


_KINDS = (
    _NeededKind(api.LocalQueue, "LocalQueue", "the queue that a job names counts as missing"),
    _NeededKind(api.ResourceFlavor, "ResourceFlavor", "a ClusterQueue that names one counts as inactive"),
    _NeededKind(api.KueueWorkload, "Workload", "no quota counts as used, and nobody waits"),
    _NeededKind(
        api.Cohort,
        "Cohort",
        "cohorts have no quota and no parent of their own",
        lambda kueue: any(cluster_queue.spec.parent for cluster_queue in kueue.cluster_queues),
    ),
    _NeededKind(
        api.Topology,
        "Topology",
        "a ClusterQueue whose flavors name one counts as inactive",
        lambda kueue: any(flavor.spec.topology_name for flavor in kueue.flavors),
    ),
    _NeededKind(
        api.AdmissionCheck,
        "AdmissionCheck",
        "a ClusterQueue that names one counts as inactive",
        lambda kueue: any(cluster_queue.spec.checks for cluster_queue in kueue.cluster_queues),
    ),
)


def missing_kinds(snapshot: Objects, kueue_objects: KueueObjects) -> Iterator[Gap]:
    """A gap for each kind of which a snapshot with ClusterQueues has no list. ``found`` is what counts in the end."""
    known = snapshot.known_kinds()
    if api.ClusterQueue.__name__ not in known:
        return
    for kind in _KINDS:
        if kind.struct.__name__ not in known and kind.is_needed(kueue_objects):
            row = kind_named(kind.struct.__name__)
            # Unlike that of `kubectl get KIND`, a list that is empty still says of what.
            closed_by = f"kubectl get --raw {row.path(row.versions[0])}"
            yield Gap(what=f"the snapshot has no {kind.name} of Kueue", effect=kind.effect, closed_by=(closed_by,))
