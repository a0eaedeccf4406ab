"""The result of what-if edits. It is a module of its own, so that most commands need not import the edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kwhatif.admission.response import Doubts, Object
from kwhatif.results.place import FailedCreate
from kwhatif.simulation.queueing.queued_pods import NO_QUEUES, QueuedPods
from kwhatif.simulation.session import PodToSchedule
from kwhatif.snapshot.format.model import Snapshot


class EditedSnapshot(msgspec.Struct, frozen=True):
    """A snapshot after edits. ``waiting_pods`` are the pods of it that wait for a node because of them.

    ``covered`` are the kinds that the snapshot covered before. ``notes`` say what controllers did about the edits,
    ``failed`` what they could not do, ``doubts`` what the API server may have done about them. ``has_moved_pods``: pods
    were removed or made, or might have been. ``replicas`` are the new sizes of workloads of the manifests, by kind,
    namespace and name. ``queues`` is what Kueue has decided, ``first_moments`` what of it autoscalers of pods will not
    leave as it is, and ``ties`` are pods of which a controller deletes one by chance.
    """

    snapshot: Snapshot
    covered: frozenset[str]
    waiting_pods: tuple[PodToSchedule, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    notes: tuple[str, ...] = ()
    has_moved_pods: bool = False
    doubts: Sequence[Doubts] = ()
    replicas: Mapping[tuple[str, str, str], int] = {}
    queues: QueuedPods = NO_QUEUES
    first_moments: Sequence[str] = ()
    ties: Sequence[tuple[Object, Object]] = ()
