"""Results of ``rightsize``."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.outcome import OutcomeResult


class SizedContainer(ResultStruct, frozen=True, kw_only=True):
    """One resource of one container of a workload (``Kind/namespace/name``), as Kubernetes writes quantities.

    ``percentile`` is the use that the advice follows from and ``peak`` the highest; both are null where only a
    VerticalPodAutoscaler knows, whose target is ``advised`` then. ``request``, ``limit`` and ``newLimit`` are null
    where there is none. ``pods`` have it; ``resize`` says what takes the change to them: ``in-place``, ``restart`` of
    the container in its pod, or ``recreate`` where the cluster cannot resize.
    """

    workload: str
    container: str
    resource: str
    request: str | None
    advised: str
    percentile: str | None
    peak: str | None
    limit: str | None = None
    new_limit: str | None = None
    pods: int = 0
    resize: str = ""


class LargestSlot(ResultStruct, frozen=True, kw_only=True):
    """The node with the most left for one more pod, and what it has left."""

    node: str
    cpu: str
    memory: str
    pods: int


class Side(ResultStruct, frozen=True, kw_only=True):
    """The cluster at rest: every pod that can has a node, and the nodes that autoscalers remove are gone.

    ``pods`` are there, of which ``pending`` wait for a node. ``nodesInUse`` have pods beside those of DaemonSets;
    ``nodesRemovable`` are those that autoscalers took away and ``nodesAdded`` those that they added, null where none
    was asked. ``cost`` a month is that of the ``nodes`` that are there then, null if no price is known.
    """

    pods: int
    pending: int
    nodes: int
    nodes_in_use: int
    nodes_removable: int | None
    nodes_added: int | None
    cost: float | None
    requested: dict[str, str]
    largest_slot: LargestSlot | None = None
    removed: tuple[str, ...] = ()
    pending_pods: tuple[str, ...] = ()


class Today(ResultStruct, frozen=True, kw_only=True):
    """The nodes that are there today, and what they cost a month, null if no price is known."""

    nodes: int
    cost: float | None


class Binding(ResultStruct, frozen=True, kw_only=True):
    """What binds in a pool afterwards: this share of what its nodes have is taken, before it was another.

    ``nodes_freed`` more nodes would go if the pool had no end of it, as scheduler and autoscalers answer when they are
    asked again; 0 where that is so of none of the shortest resources, and null where nobody was asked: without
    autoscalers, and in large clusters. ``shares`` has all resources.
    """

    pool: str
    resource: str
    share: float
    before: float | None
    shares: dict[str, float]
    nodes_freed: int | None = None


class Risk(ResultStruct, frozen=True, kw_only=True):
    """What may go wrong. ``kind``:

    ``peak``: pods used more, at their own peak, than they would ask for; ``oom``: a memory peak is above the limit;
    ``node``: pods of a node used more, 99% of the time, than it has; ``quota``: a quota would be full.
    ``amount`` is what was used or is wanted, ``bound`` what there is for it.
    """

    kind: str
    subject: str
    resource: str
    amount: str
    bound: str
    pods: int = 0
    container: str = ""


class Step(ResultStruct, frozen=True, kw_only=True):
    """One of the few workloads that bring most, in order, after those before it: what it alone adds.

    ``workload`` is empty for all others together, at the end. The sum of all steps is the whole difference.
    """

    workload: str
    workloads: int = 1
    nodes: int
    cost: float | None
    pending: int
    cpu: str
    memory: str


class Rescaled(ResultStruct, frozen=True, kw_only=True):
    """A HorizontalPodAutoscaler that reads usage as a share of a request that changes, and the replicas it then wants:
    as many as before where that is within its tolerance or bounds.

    ``use`` is what all pods use on average, ``target`` percent of a pod's request; ``unchangedWould`` is what the same
    samples say with today's request. ``bounded`` names the bound that ended it.
    """

    autoscaler: str
    workload: str
    resource: str
    target: float
    use: str
    request: str
    advised: str
    replicas: int
    then: int
    unchanged_would: int
    bounded: str = ""


class UsageRead(ResultStruct, frozen=True, kw_only=True):
    """What is known of usage, and by what. ``until`` and ``since`` are of the samples that have a time.

    ``strangers`` are pods with usage that the cluster does not know. Percentiles are exact to ``exact``.
    """

    sorts: tuple[str, ...]
    samples: int
    series: int
    pods: int
    strangers: int
    since: str | None = None
    until: str | None = None
    exact: dict[str, str] = msgspec.field(default_factory=lambda: {"cpu": "1m", "memory": "1Mi"})
    left_out: tuple[str, ...] = ()


class RightsizeResult(OutcomeResult, frozen=True, kw_only=True):
    """Requests by usage, and what comes of them. ``policy`` is how they follow, in words.

    ``unchanged`` counts workloads that stay as they are, by the reason: ``noUsage``, ``excluded``, ``static`` or
    ``switchedOff`` by a VerticalPodAutoscaler. Nodes that are ``unpriced`` are in no cost. It is good if no more pods
    would be without a node than today.
    """

    rows: ClassVar[str] = "workloads"
    schema: ClassVar[str] = "rightsize-result"
    about: ClassVar[str] = "What requests derived from usage change"
    view: ClassVar[str] = "rightsize.text:VIEW"

    kind: str = "Rightsize"
    policy: str
    usage: UsageRead
    workloads: tuple[SizedContainer, ...]
    unchanged: dict[str, int]
    today: Today
    before: Side
    after: Side
    binds: tuple[Binding, ...]
    unpriced: tuple[str, ...] = ()
    rescaled: tuple[Rescaled, ...] = ()
    risks: tuple[Risk, ...] = ()
    steps: tuple[Step, ...] = ()
    fidelity: Fidelity
