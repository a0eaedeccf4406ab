"""Results of ``queue``. Amounts are written as Kueue writes them."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.results.base import Gap, ResultStruct
from kwhatif.results.outcome import OutcomeResult
from kwhatif.results.place import Refusal


class AssignedPods(ResultStruct, frozen=True, kw_only=True):
    """So many pods of a pod set, the flavor by resource, and where the topology puts them: ``rack-1/node-3: 2``."""

    pod_set: str
    count: int
    flavors: dict[str, str]
    usage: dict[str, str]
    topology: tuple[str, ...] = ()


class PreemptedWorkload(ResultStruct, frozen=True, kw_only=True):
    """A workload that loses its quota: to whom, for what reason, and Kueue's message on it."""

    workload: str
    cluster_queue: str
    priority: int
    taken_by: str
    reason: str
    message: str = ""


class QuotaHolder(ResultStruct, frozen=True, kw_only=True):
    """Who has how much of a quota."""

    workload: str
    cluster_queue: str
    priority: int
    amount: str


class MissingQuota(ResultStruct, frozen=True, kw_only=True):
    """What a workload lacks of a resource in a flavor. ``missing`` is what it ``asks`` beyond what is ``free``.

    ``limit`` is what ends the room: ``ClusterQueue team-a``, ``cohort research``, or the borrowing limit of either.
    ``held_by`` has quota below it, the easiest to lose first; ``never``: all of them together would not be enough.
    """

    flavor: str
    resource: str
    asks: str
    free: str
    missing: str
    limit: str
    never: bool = False
    holders: int = 0
    held_by: tuple[QuotaHolder, ...] = ()


class FreeingWorkload(ResultStruct, frozen=True, kw_only=True):
    """A workload that has run ``since`` a moment, and whose end frees quota; its time limit (seconds), if any."""

    workload: str
    cluster_queue: str
    since: str
    ends_within: int | None = None


class QueueFix(ResultStruct, frozen=True, kw_only=True):
    """A change after which a run of Kueue gave the workload quota: so many ``pods``, in which ClusterQueue, and who is
    preempted then and was not before.
    """

    change: str
    cluster_queue: str
    pods: int
    preempts: tuple[str, ...] = ()


class QueuedWorkload(ResultStruct, frozen=True, kw_only=True):
    """What became of a workload in the end, once no cycle of Kueue would change anything.

    ``status`` is ``admitted``, ``quotaReserved`` (it waits for ``checks``), ``pending``, ``finished``, ``refused`` by
    Kueue's webhook, ``unmanaged``, if Kueue has no say, or ``unknown``, if its kind is not modelled. ``place`` counts
    from 1 among those that wait in its ClusterQueue, ``behind`` are the first of those before it. ``aside``: it is only
    tried again once something changes.
    ``message`` is Kueue's. ``borrows`` tells whether quota of others is used. ``preempted`` are those that had to go
    for it; ``is_new``: it was asked about, or admitted in the course of the answer. Of one that was asked about and
    waits, ``freed_by`` are those that run and whose end lets it start, in this order, and ``fixes`` changes that do.
    """

    workload: str
    job: str = ""
    cluster_queue: str = ""
    local_queue: str = ""
    priority: int = 0
    status: str
    is_new: bool = False
    place: int = 0
    aside: bool = False
    behind: tuple[str, ...] = ()
    message: str = ""
    pod_sets: tuple[AssignedPods, ...] = ()
    borrows: bool = False
    preempted: tuple[PreemptedWorkload, ...] = ()
    checks: tuple[str, ...] = ()
    lacks: tuple[MissingQuota, ...] = ()
    freed_by: tuple[FreeingWorkload, ...] = ()
    fixes: tuple[QueueFix, ...] = ()


class FlavorUse(ResultStruct, frozen=True, kw_only=True):
    """A quota: its ``nominal`` amount, of a cohort that of its whole subtree, what is ``used`` and ``borrowed`` of
    others, and what is ``free`` to be used here, borrowed included.
    """

    flavor: str
    resource: str
    nominal: str
    used: str
    borrowed: str = "0"
    free: str


class ClusterQueueState(ResultStruct, frozen=True, kw_only=True):
    """A ClusterQueue. ``share`` is its weighted share in thousandths, where fair sharing is on."""

    cluster_queue: str
    cohort: str = ""
    strategy: str
    active: bool
    message: str
    pending: int
    aside: int
    reserving: int
    admitted: int
    share: int | None = None
    flavors: tuple[FlavorUse, ...] = ()


class CohortState(ResultStruct, frozen=True, kw_only=True):
    """A Cohort with all that is below it."""

    cohort: str
    parent: str = ""
    share: int | None = None
    flavors: tuple[FlavorUse, ...] = ()


class QueueResult(OutcomeResult, frozen=True, kw_only=True):
    """What Kueue does with the workloads of manifests, or without manifests with those of the cluster.

    ``workloads`` are those asked about; without manifests all that wait, and those that were admitted on the way.
    ``waiting`` counts all that wait in the end, ``evicted`` who lost quota on the way, to whomever. ``cycles`` is how
    often Kueue's scheduler had to look; ``restless`` that it would never come to rest.
    """

    rows: ClassVar[str] = "workloads"
    schema: ClassVar[str] = "queue-result"
    about: ClassVar[str] = "What Kueue admits, and who waits for which quota, by kwhatif queue"
    view: ClassVar[str] = "queue.text:VIEW"

    kind: str = "Queue"
    version: str
    taken_at: str | None = None
    asked: bool
    cycles: int
    restless: bool = False
    workloads: tuple[QueuedWorkload, ...] = ()
    waiting: int = 0
    evicted: tuple[PreemptedWorkload, ...] = ()
    cluster_queues: tuple[ClusterQueueState, ...] = ()
    cohorts: tuple[CohortState, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    edits: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = msgspec.field(default_factory=tuple)
