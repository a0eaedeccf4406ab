"""Results as values: Python numbers and strings only, so that any renderer can print them.

Every result knows its exit code, and turns into plain data with ``msgspec.to_builtins``.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "API_VERSION",
    "Blocker",
    "ChangeRecord",
    "Comparison",
    "ConformanceResult",
    "Difference",
    "EventRecord",
    "Eviction",
    "ExpandResult",
    "ExpandedPod",
    "ExplainResult",
    "FailedCreate",
    "Fidelity",
    "FileAgreement",
    "Fix",
    "Gap",
    "NodeReport",
    "PlaceResult",
    "Placement",
    "PodReport",
    "Refusal",
    "RefusedField",
    "RolloutPlan",
    "RolloutStep",
    "Score",
    "TimelineEntry",
    "Victim",
]

API_VERSION = "kwhatif.dev/v1"


class Value(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A part of a result."""


class Gap(Value, frozen=True, kw_only=True):
    """Something the answer stands on that is missing or not modelled, and the pods it touches."""

    what: str
    effect: str
    pods: tuple[str, ...] = ()


class Fidelity(Value, frozen=True, kw_only=True):
    """What an answer stands on.

    ``rules`` is the Kubernetes minor whose rules were used, ``cluster`` the snapshot's own version, ``taken_at``
    when it was taken; either may be unknown.
    """

    rules: str
    cluster: str | None = None
    taken_at: str | None = None
    source: str = ""
    gaps: tuple[Gap, ...] = ()

    @property
    def touching(self) -> tuple[Gap, ...]:
        """The gaps that touch one of the pods that were asked about."""
        return tuple(gap for gap in self.gaps if gap.pods)


class Victim(Value, frozen=True, kw_only=True):
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


class Score(Value, frozen=True, kw_only=True):
    """One plugin's score of one node: raw, brought to 0..100, and times its weight."""

    plugin: str
    weight: int
    raw: int
    normalized: int
    weighted: int


class Placement(Value, frozen=True, kw_only=True):
    """What became of one pod.

    ``outcome`` is ``placed``, ``unschedulable``, ``gated``, ``waiting``, ``skipped``, or ``preempted`` if the pod had
    to leave its node again; ``message`` the event's text or the reason. ``feasible`` of ``evaluated`` nodes passed;
    ``ties`` of them shared the top ``score``.
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
    scores: tuple[Score, ...] = ()
    message: str = ""
    victims: tuple[Victim, ...] = ()
    criterion: str = ""
    origin: str = ""
    defaults: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return self.outcome in ("placed", "skipped")


class TimelineEntry(Value, frozen=True, kw_only=True):
    """At ``time`` simulated seconds this happened to a pod, and why."""

    time: float
    pod: str
    what: str
    why: str = ""
    node: str = ""


class EventRecord(Value, frozen=True, kw_only=True):
    """An event as the cluster would show it, at simulated time."""

    time: float
    pod: str
    type: str
    reason: str
    message: str


class RefusedField(Value, frozen=True, kw_only=True):
    """A field that is wrong, by its path."""

    field: str
    message: str


class Refusal(Value, frozen=True, kw_only=True):
    """An object that the API server would not take: HTTP ``code``, ``reason`` and ``message`` as it has them."""

    object: str
    origin: str
    code: int
    reason: str
    message: str
    causes: tuple[RefusedField, ...] = ()


class FailedCreate(Value, frozen=True, kw_only=True):
    """A controller's failure to make ``pods`` pods, in the words of its event."""

    owner: str
    message: str
    pods: int
    origin: str = ""


class RolloutStep(Value, frozen=True, kw_only=True):
    """What is there when the controllers have come to rest, and what they did: pods of the old and new revision."""

    live_old: int
    live_new: int
    terminating_old: int
    terminating_new: int
    creates: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()


class RolloutPlan(Value, frozen=True, kw_only=True):
    """The update of one workload. ``unfinished`` says what it got stuck on, and is empty if it went through."""

    object: str
    origin: str
    creates: int
    keeps: int
    removes: int
    unfinished: str = ""
    steps: tuple[RolloutStep, ...] = ()


class PlaceResult(Value, frozen=True, kw_only=True):
    """Where pods would go, in the order in which the scheduler takes them up.

    ``replacements`` are pods that controllers made for victims while time was simulated; ``timeline`` and
    ``events`` tell that story.
    """

    api_version: str = API_VERSION
    kind: str = "PlaceResult"
    nodes: int
    placements: tuple[Placement, ...]
    fidelity: Fidelity
    warnings: tuple[str, ...] = ()
    replacements: tuple[Placement, ...] = ()
    timeline: tuple[TimelineEntry, ...] = ()
    events: tuple[EventRecord, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    rollouts: tuple[RolloutPlan, ...] = ()

    @property
    def exit_code(self) -> int:
        bad = self.refusals or self.failed or any(rollout.unfinished for rollout in self.rollouts)
        return 1 if bad or not all(placement.good for placement in self.placements) else 0


class Blocker(Value, frozen=True, kw_only=True):
    """One reason why a node is out. ``reported`` marks those that upstream's message counts."""

    plugin: str
    reason: str
    detail: str = ""
    reported: bool = False
    resolvable: bool = True


class NodeReport(Value, frozen=True, kw_only=True):
    """One node's verdict on one pod: all blockers, or all scores with their total and rank (1 is best)."""

    node: str
    feasible: bool
    blockers: tuple[Blocker, ...] = ()
    scores: tuple[Score, ...] = ()
    total: int | None = None
    rank: int | None = None
    chosen: bool = False


class Fix(Value, frozen=True, kw_only=True):
    """A single change that was tried and lets the pod run, on ``node``."""

    change: str
    node: str


class Eviction(Value, frozen=True, kw_only=True):
    """A node where evictions would make room, with what the choice between such nodes looks at.

    ``earliest_start`` is that of the victims with the ``top_priority``; empty if it has not started.
    """

    node: str
    victims: tuple[Victim, ...]
    violations: int
    top_priority: int
    sum_of_priorities: int
    earliest_start: str = ""
    chosen: bool = False


class Comparison(Value, frozen=True, kw_only=True):
    """Two nodes side by side: what decides between them."""

    left: NodeReport
    right: NodeReport
    verdict: str


class PodReport(Value, frozen=True, kw_only=True):
    """Why a pod goes where it goes, or why it goes nowhere."""

    pod: str
    placement: Placement
    refusal: str = ""
    nodes: tuple[NodeReport, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    fixes: tuple[Fix, ...] = ()
    tried: int = 0
    comparison: Comparison | None = None

    @property
    def good(self) -> bool:
        """Whether the pod gets a node, if need be in others' place."""
        return self.placement.good or bool(self.placement.victims)


class ExplainResult(Value, frozen=True, kw_only=True):
    """The explanation of each pod asked about."""

    api_version: str = API_VERSION
    kind: str = "ExplainResult"
    nodes: int
    pods: tuple[PodReport, ...]
    fidelity: Fidelity
    warnings: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()

    @property
    def exit_code(self) -> int:
        return 0 if all(report.good for report in self.pods) and not (self.refusals or self.failed) else 1


class ChangeRecord(Value, frozen=True, kw_only=True):
    """What one step of admission filled in or altered."""

    step: str
    path: str
    text: str


class ExpandedPod(Value, frozen=True, kw_only=True):
    """A pod as it would be stored, who made it, where that stands, and the trail of what was done to it."""

    pod: str
    owner: str
    origin: str
    changes: tuple[ChangeRecord, ...]
    object: dict[str, Any]


class ExpandResult(Value, frozen=True, kw_only=True):
    """What manifests become. ``unknown`` counts kinds that nobody here knows; ``not_modelled`` says what was left out.

    The pods of an update are those of a rollout in which every new pod becomes ready.
    """

    api_version: str = API_VERSION
    kind: str = "ExpandResult"
    pods: tuple[ExpandedPod, ...]
    claims: tuple[dict[str, Any], ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failed: tuple[FailedCreate, ...] = ()
    rollouts: tuple[RolloutPlan, ...] = ()
    unknown: dict[str, int] = {}
    not_modelled: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return 1 if self.refusals or self.failed or any(rollout.unfinished for rollout in self.rollouts) else 0


class Difference(Value, frozen=True, kw_only=True):
    """A field of one pod's attempts (or of the scenario, then ``pod`` is empty) that was recorded otherwise."""

    scenario: str
    pod: str
    field: str
    text: str


class FileAgreement(Value, frozen=True, kw_only=True):
    """How far a file of recorded scenarios agrees.

    Of ``scenarios``, those with an expectation were ``compared``; ``agreeing`` ones agree in everything.
    ``differing`` counts pods by field (and scenarios, for ``nodeOrder``); only some ``differences`` are kept.
    """

    file: str
    scenarios: int
    compared: int
    agreeing: int
    pods: int
    differing: dict[str, int]
    differences: tuple[Difference, ...] = ()


class ConformanceResult(Value, frozen=True, kw_only=True):
    """How far recorded decisions agree with kwhatif's."""

    api_version: str = API_VERSION
    kind: str = "ConformanceResult"
    files: tuple[FileAgreement, ...]

    @property
    def exit_code(self) -> int:
        return 0 if all(file.agreeing == file.compared for file in self.files) else 1
