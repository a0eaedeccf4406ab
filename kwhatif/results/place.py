"""Placements of pods, victims, the timeline, refusals, rollouts, and the nodes that autoscalers add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import msgspec

from kwhatif.results.amounts import format_amount
from kwhatif.results.base import Fidelity, ResultStruct
from kwhatif.results.group_outcome import GroupOutcome, SiblingWait
from kwhatif.results.outcome import Concluded

HOURS_A_MONTH = 730

HOMELESS = ", and finds no other node"
"""What is said besides of a pod that had to leave its node, where none made in its place has one."""


class Chance(ResultStruct, frozen=True, kw_only=True):
    """What depends on the order in which nodes and pods are listed: ``orders`` is the number of other orders tried,
    ``plans`` the other plans they lead to, and ``pods`` are helped in one order and not in another.
    """

    orders: int
    plans: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()


class AddedNode(ResultStruct, frozen=True, kw_only=True):
    """A node that comes, under a name made up for it: of a node group, or for a NodeClaim of a NodePool (``group``).

    It is there after ``time`` simulated seconds, and of the pods asked about these ``pods`` run there in the end. For a
    NodeClaim ``types`` are those left to choose from, the cheapest first: it is taken to be of the cheapest.
    ``price`` is that by the hour, ``cost`` a month, where it is known. ``only_jobs``: it goes when pods of Jobs end.
    """

    node: str
    autoscaler: str
    group: str
    time: float
    pods: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    price: float | None = None
    cost: float | None = None
    only_jobs: bool = False


class GrownGroup(ResultStruct, frozen=True, kw_only=True):
    """A node group or NodePool that grows: from ``size`` nodes to ``to``, of at most ``max``, where that is known.

    ``limits`` say how much of a NodePool's are in use then (``cpu 60 of 64``). ``full``: it has no room for another
    node. ``cost`` is what the new nodes cost a month.
    """

    autoscaler: str
    group: str
    size: int
    to: int
    max: int | None = None
    limits: str = ""
    full: bool = False
    cost: float | None = None


class GroupRefusal(ResultStruct, frozen=True, kw_only=True):
    """Why a group or NodePool has no node for a pod, in the autoscaler's words; without a ``group`` it is about all."""

    autoscaler: str
    group: str = ""
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        """``general: Insufficient cpu``."""
        return f"{self.group or self.autoscaler}: {', '.join(self.reasons)}"


class Unhelped(ResultStruct, frozen=True, kw_only=True):
    """A pod that finds no node and that no node comes for."""

    pod: str
    refusals: tuple[GroupRefusal, ...]


class ScaleUp(ResultStruct, frozen=True, kw_only=True):
    """What the ``autoscalers`` that were asked add, in turns with the scheduler until no pod is helped any more.

    ``cost`` is what all of it costs a month, if every price is known and no node goes before. ``chance`` is about the
    first plan of cluster-autoscaler. ``unknown`` is what is unknown about the machines and may decide which come.
    """

    autoscalers: tuple[str, ...]
    nodes: tuple[AddedNode, ...] = ()
    groups: tuple[GrownGroup, ...] = ()
    cost: float | None = None
    unhelped: tuple[Unhelped, ...] = ()
    chance: Chance | None = None
    unknown: tuple[str, ...] = ()


class Victim(ResultStruct, frozen=True, kw_only=True):
    """A pod that has to leave. ``budgets`` are those its eviction counts against, ``violates`` if one breaks.

    Its controller makes ``replacement``, which ``lands_on`` a node, or on none: it stays pending.
    """

    pod: str
    node: str
    priority: int
    owner: str = ""
    budgets: tuple[str, ...] = ()
    violates: bool = False
    terminating: bool = False
    replacement: str = ""
    lands_on: str = ""


class AllocatedDevice(ResultStruct, frozen=True, kw_only=True):
    """One device for one ``request`` of a claim; ``consumes`` is what it takes of a shared one, by capacity."""

    request: str
    driver: str
    pool: str
    device: str
    admin: bool = False
    consumes: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def name(self) -> str:
        """``driver/pool/device``."""
        return f"{self.driver}/{self.pool}/{self.device}"


class ClaimDevices(ResultStruct, frozen=True, kw_only=True):
    """The devices of one claim of a pod; ``shared_with`` are the other pods that use the claim.

    ``extended``: the scheduler made it for extended resources.
    """

    claim: str
    devices: tuple[AllocatedDevice, ...]
    shared_with: tuple[str, ...] = ()
    extended: bool = False


class Score(ResultStruct, frozen=True, kw_only=True):
    """One plugin's score of one node: raw, brought to 0..100, and times its weight.

    ``detail`` is the arithmetic behind the raw one, where a plugin tells it and a pod is explained.
    """

    plugin: str
    weight: int
    raw: int
    normalized: int
    weighted: int
    detail: str | msgspec.UnsetType = msgspec.UNSET


class QuotaShortage(ResultStruct, frozen=True, kw_only=True):
    """Why quotas that a scheduler keeps (ElasticQuota) have no room for a pod: cpu in millicores, all else in bytes or
    pieces.

    It ``asks`` for so much of a ``resource`` where ``used`` is of at most ``limit``: by its ``bound`` the ``max`` of
    the ``quota`` (``namespace/name``), or the sum of every quota's ``min``, which all may use together (``quota`` is
    empty).
    """

    quota: str
    bound: str
    resource: str
    asks: int
    used: int
    limit: int

    @property
    def text(self) -> str:
        """``ElasticQuota team-a/quota: cpu: asks 3, used 6 of max 8``."""
        whose = f"ElasticQuota {self.quota}" if self.quota else "all ElasticQuotas together"
        asks, used, limit = (format_amount(self.resource, ask) for ask in (self.asks, self.used, self.limit))
        return f"{whose}: {self.resource}: asks {asks}, used {used} of {self.bound} {limit}"


class Placement(ResultStruct, frozen=True, kw_only=True):
    """What became of one pod.

    ``outcome`` is ``placed``, ``unschedulable``, ``gated``, ``uncreated`` if its controller has not made it, since one
    before it has no node, ``waiting`` if it had a node and waited for siblings that
    did not come (``waits``), or for another permit, ``skipped`` where there is nothing to do,
    ``unclaimed`` if its schedulerName is that of no profile, ``preempted`` if the pod had to leave its node again, or
    ``autoscaled`` if it finds its ``node`` once autoscalers have added some; ``message`` is the event's text or the
    reason. ``feasible`` of ``evaluated`` nodes passed; ``ties`` of them shared the top ``score``. ``choice`` is what
    decided between those: ``heap`` if it follows from the order in which nodes were found, ``draw`` if it is chance,
    ``wish`` if the question prefers a node; ``hint`` where the node was the next one for the pod before, which looked
    alike, and the others were not looked at. ``devices`` are those of its claims. ``quota`` is the one without room.
    """

    pod: str
    outcome: str
    priority: int = 0
    scheduler: str = ""
    node: str = ""
    score: int | None = None
    feasible: int = 0
    evaluated: int = 0
    ties: int = 0
    tied: tuple[str, ...] = ()
    choice: str = ""
    scores: tuple[Score, ...] = ()
    message: str = ""
    victims: tuple[Victim, ...] = ()
    criterion: str = ""
    origin: str = ""
    defaults: tuple[str, ...] = ()
    devices: tuple[ClaimDevices, ...] = ()
    waits: SiblingWait | msgspec.UnsetType = msgspec.UNSET
    quota: QuotaShortage | msgspec.UnsetType = msgspec.UNSET

    @property
    def good(self) -> bool:
        return self.outcome in ("placed", "skipped", "autoscaled")

    def lose_node(self, preemptor: str, *, homeless: bool) -> Placement:
        """The same once the pod had to leave its node for the ``preemptor`` (``namespace/name``).

        What is said of a node a pod has goes with it; how it was found stays.
        """
        message = f"lost {self.node} to {preemptor}{HOMELESS if homeless else ''}"
        return msgspec.structs.replace(
            self,
            outcome="preempted",
            node="",
            score=None,
            ties=0,
            tied=(),
            choice="",
            scores=(),
            message=message,
            devices=(),
        )

    @property
    def reason(self) -> str:
        """Why no scheduler has found it a node, such as ``unclaimed: ...``; nothing if one has."""
        match self.outcome:
            case "placed":
                return ""
            case "waiting":
                return self.waits.text if isinstance(self.waits, SiblingWait) else "waits for a permit"
            case "unschedulable" | "preempted" | "autoscaled":
                return self.message
        return ": ".join(filter(None, (self.outcome, self.message)))


def homeless_victims(placements: Sequence[Placement]) -> tuple[Victim, ...]:
    """The victims of these placements that find no other node when they are recreated."""
    victims = (victim for placement in placements for victim in placement.victims)
    return tuple(victim for victim in victims if victim.replacement and not victim.lands_on)


class TimelineEntry(ResultStruct, frozen=True, kw_only=True):
    """At ``time`` simulated seconds this happened to a pod, and why; without a ``pod``, to a node."""

    time: float
    pod: str
    what: str
    why: str = ""
    node: str = ""


class EventRecord(ResultStruct, frozen=True, kw_only=True):
    """An event as the cluster would show it, at simulated time."""

    time: float
    pod: str
    type: str
    reason: str
    message: str


class RefusedField(ResultStruct, frozen=True, kw_only=True):
    """A field that is wrong, by its path."""

    field: str
    message: str


class Refusal(ResultStruct, frozen=True, kw_only=True):
    """An object that the API server would not take: HTTP ``code``, ``reason`` and ``message`` as it has them.

    ``hint`` is what would help, if that is known.
    """

    object: str
    origin: str
    code: int
    reason: str
    message: str
    causes: tuple[RefusedField, ...] = ()
    hint: str = ""


class RequestWarning(ResultStruct, frozen=True, kw_only=True):
    """What the API server warns of about an object: ``text`` is its Warning header, as kubectl prints it."""

    object: str
    origin: str
    text: str


class FailedCreate(ResultStruct, frozen=True, kw_only=True):
    """A controller's failure to make ``pods`` pods, in the words of its event."""

    owner: str
    message: str
    pods: int
    origin: str = ""


def failures_left(failed: Iterable[FailedCreate], created: Mapping[FailedCreate, int]) -> tuple[FailedCreate, ...]:
    """The failures that remain, less the pods of each that were ``created`` later."""
    done, failures = Counter(created), []
    for failed_create in failed:
        less = min(failed_create.pods, done[failed_create])
        done[failed_create] -= less
        if failed_create.pods > less or not less:
            failures.append(msgspec.structs.replace(failed_create, pods=failed_create.pods - less))
    return tuple(failures)


class RolloutStep(ResultStruct, frozen=True, kw_only=True):
    """What is there when the controllers have come to rest, and what they did: pods of the old and new revision."""

    live_old: int
    live_new: int
    terminating_old: int
    terminating_new: int
    creates: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()


class RolloutPlan(ResultStruct, frozen=True, kw_only=True):
    """The update of one workload. ``unfinished`` says what it got stuck on, and is empty if it went through.

    Of the pods ``available_before`` it (ready, and not terminating), and of those that come, never fewer are than
    ``least_available``, provided that every pod with a node becomes ready; None if pods of it were evicted besides.
    """

    object: str
    origin: str
    creates: int
    keeps: int
    removes: int
    unfinished: str = ""
    available_before: int = 0
    least_available: int | None = None
    steps: tuple[RolloutStep, ...] = ()

    @property
    def outcome(self) -> str:
        """``goes through; at least 8 of 10 stay available``, or what it got stuck on."""
        stay = f"; at least {self.available} stay available" if self.available else ""
        return f"{self.unfinished or 'goes through'}{stay}"

    @property
    def available(self) -> str:
        """How many pods stay available at least, ``8 of 10``; empty if that is unknown or none was."""
        least, before = self.least_available, self.available_before
        return f"{least} of {before}" if least is not None and before else ""


class UnplacedCause(ResultStruct, frozen=True, kw_only=True):
    """A cause for which pods have no node, with their number: what plugins say of nodes, regardless of how many, or
    another reason.
    """

    reason: str
    pods: int


class Allocation(ResultStruct, frozen=True, kw_only=True):
    """What nodes have to give and what pods on them ask for: cpu in millicores, all else in bytes or pieces."""

    resource: str
    allocatable: int
    requested: int


class PoolAllocation(ResultStruct, frozen=True, kw_only=True):
    """The nodes of one pool (empty: of none that is known) with all that runs there."""

    pool: str
    nodes: int
    pods: int
    resources: tuple[Allocation, ...]


class Totals(ResultStruct, frozen=True, kw_only=True):
    """Placements in numbers: all ``pods``, and of these the ``placed``, the ``autoscaled``, the ``skipped`` (nothing to
    do) and the ``unplaced`` with their ``causes``, the most frequent first. ``pools`` say what is allocated afterwards,
    in which victims that are recreated have a part.
    """

    pods: int = 0
    placed: int = 0
    autoscaled: int = 0
    skipped: int = 0
    unplaced: int = 0
    causes: tuple[UnplacedCause, ...] = ()
    pools: tuple[PoolAllocation, ...] = ()


class PlaceResult(Concluded, frozen=True, kw_only=True):
    """Where pods would go, in the order in which the scheduler takes them up.

    ``replacements`` are pods that controllers made for victims while time was simulated; ``timeline`` and
    ``events`` tell that story. ``totals`` count both. ``scale_up`` is what autoscalers add, if they were asked.
    ``groups`` are those of the pods, where pods that name a group are scheduled together.
    """

    rows: ClassVar[str] = "placements"
    schema: ClassVar[str] = "place-result"
    about: ClassVar[str] = "Where kwhatif place puts pods"
    view: ClassVar[str] = "place.text:VIEW"

    kind: str = "PlaceResult"
    nodes: int
    totals: Totals = Totals()
    placements: tuple[Placement, ...]
    fidelity: Fidelity
    warnings: tuple[str, ...] = ()
    replacements: tuple[Placement, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    events: tuple[EventRecord, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    rollouts: tuple[RolloutPlan, ...] = ()
    scale_up: ScaleUp | None = None
    groups: tuple[GroupOutcome, ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def lacks_nodes(self) -> bool:
        return any(placement.outcome == "unschedulable" for placement in (*self.placements, *self.replacements))

    @property
    def homeless(self) -> tuple[Victim, ...]:
        """Victims that stay pending when they are recreated."""
        return homeless_victims(self.placements)
