"""A decision that a trimmed snapshot has to reproduce: the pods' outcomes, and each node's verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from kwhatif.api.core import Pod
from kwhatif.cluster.shape_table import ShapeTable
from kwhatif.cluster.shapes import PodInfo
from kwhatif.framework.status import Verdicts
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.schedule_one import Observer, Scheduler
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot
from kwhatif.versions import Features

Verdict = tuple[object, ...]
"""``("feasible",)``, or the code, the plugin and the reasons of the rejection."""

_COUNTS = re.compile(r"(?<![\w.-])\d+(?=[ /])|(?<=0/)\d+")

_PARTS = re.compile(r"[,:.] ?")


class Cycle(msgspec.Struct, frozen=True):
    """One attempt for one pod.

    ``verdicts`` are over all nodes (none if PreFilter refused the pod); ``scores`` only of the nodes compared, by
    plugin. ``victims`` are names of pods, ``tied`` the names of the nodes that share the top score.
    """

    outcome: str
    node: str
    score: int | None
    message: str
    nominated: str
    victims: tuple[str, ...]
    criterion: str
    tied: frozenset[str]
    verdicts: Mapping[str, Verdict]
    scores: Mapping[str, tuple[tuple[str, int], ...]]

    def same_outcome(self, other: Cycle, *, loosely: bool) -> bool:
        """Whether the pod has the same outcome. ``loosely``: numbers of nodes may differ."""
        mine, others = (
            (c.outcome, c.node, c.score, c.nominated, c.victims, *_message_key(c, loosely)) for c in (self, other)
        )
        return mine == others

    def disagreeing(self, other: Cycle) -> set[str]:
        """The nodes that both know and that differ in their verdict or their scores."""
        different = {node for node, verdict in other.verdicts.items() if self.verdicts.get(node, verdict) != verdict}
        return different | {node for node, scores in other.scores.items() if self.scores.get(node, scores) != scores}


def _message_key(cycle: Cycle, loosely: bool) -> tuple[object, ...]:
    if loosely:
        # The reasons are in the order of their spelling, which begins with the number.
        reasons = sorted(_PARTS.split(_COUNTS.sub("N", cycle.message)))
        return reasons, len(cycle.tied) > 1
    return cycle.message, cycle.tied, cycle.criterion


class Decision(msgspec.Struct, frozen=True):
    """The decision about some pods: the attempts for each, in the scheduler's order."""

    pods: tuple[tuple[str, tuple[Cycle, ...]], ...]

    def against(self, other: Decision, *, loosely: bool) -> tuple[bool, set[str]]:
        """Whether another decision is the same; the nodes where it is not."""
        same, nodes = [key for key, _ in self.pods] == [key for key, _ in other.pods], set[str]()
        for (_, mine), (_, others) in zip(self.pods, other.pods, strict=False):
            same = same and len(mine) == len(others)
            for left, right in zip(mine, others, strict=False):
                same = same and left.same_outcome(right, loosely=loosely)
                nodes |= left.disagreeing(right)
        return same and not nodes, nodes

    @property
    def cycles(self) -> list[Cycle]:
        return [cycle for _, cycles in self.pods for cycle in cycles]


class ReusedShapes(ShapeTable):
    """Shapes that are reused from one cluster to the next, for pods that are in both."""

    def __init__(self, features: Features) -> None:
        super().__init__(features)
        self._known: dict[int, tuple[Pod, PodInfo]] = {}

    def info(self, pod: Pod, *, bound: bool = False) -> PodInfo:
        if not bound:
            return super().info(pod)
        pod_and_info = self._known.get(id(pod))
        if pod_and_info is None:
            # The pod is kept, so that no other one gets its id.
            pod_and_info = self._known[id(pod)] = (pod, super().info(pod, bound=True))
        return pod_and_info[1]


def decide(
    session: Session, snapshot: Snapshot, pods: Sequence[PodToSchedule], shapes: ShapeTable | None = None
) -> Decision:
    """Have the scheduler of a session place the pods on a snapshot as ``place`` does, and keep each node's verdict.

    Every pod's ``schedulerName`` must be one of the configuration's profiles. Raises what loading and plugins raise.
    """
    verdicts = _Verdicts()
    session = session.with_snapshot(snapshot, detailed=True, shapes=shapes, observer=verdicts)
    tried = []
    for info in session.driver.in_order(map(session.info, pods), lambda info: info):
        verdicts.of_attempts = []
        tried.append((info.key, session.driver.schedule_with_preemption(info), verdicts.of_attempts))
        session.driver.settle()
    session.driver.wait()
    names = session.cluster.columns.names
    return Decision(
        tuple(
            (key, tuple(_cycle(names, *of_node) for of_node in zip(attempts, of_nodes, strict=True)))
            for key, attempts, of_nodes in tried
        )
    )


class _Verdicts(Observer):
    """Notes every node's verdict before an attempt."""

    def __init__(self) -> None:
        self.of_attempts: list[dict[str, Verdict]] = []

    def before_cycle(self, scheduler: Scheduler, pod: PodInfo) -> None:
        self.of_attempts.append(_verdicts(scheduler, pod))


def _cycle(names: Sequence[str], attempt: Attempt, verdicts: Mapping[str, Verdict]) -> Cycle:
    outcome = "placed" if attempt.is_placed else "gated" if attempt.gated else "unschedulable"
    if attempt.lost and isinstance(attempt.permit, Mapping):
        outcome = "waiting"
    return Cycle(
        outcome=outcome,
        node="" if attempt.row is None else names[attempt.row],
        score=attempt.score,
        message=attempt.gated.message if attempt.gated else attempt.message,
        nominated=attempt.nominated,
        victims=tuple(victim.key for victim in attempt.victims),
        criterion=attempt.criterion,
        tied=frozenset(names[row] for row in attempt.best) if attempt.score is not None else frozenset(),
        verdicts=verdicts,
        scores=_scores(attempt, names) if len(attempt.sampled) > 1 else {},
    )


def _scores(attempt: Attempt, names: Sequence[str]) -> dict[str, tuple[tuple[str, int], ...]]:
    """What each plugin adds to a node's total; to add nothing is the same as to skip the pod."""
    columns = [(scores.plugin, scores.weighted_score.tolist()) for scores in attempt.scores]
    return {
        names[row]: tuple((plugin, values[place]) for plugin, values in columns if values[place])
        for place, row in enumerate(attempt.sampled)
    }


def _verdicts(scheduler: Scheduler, info: PodInfo) -> dict[str, Verdict]:
    evaluation = scheduler.evaluate_all_nodes(info)
    if evaluation is None:
        return {}
    names = scheduler.cluster.columns.names
    verdicts = _by_node(names, evaluation.verdicts(info))
    if evaluation.narrowed is not None:
        inside = set(evaluation.narrowed.tolist())
        outside: Verdict = ("narrowed", *sorted(evaluation.narrowed_by))
        verdicts |= {name: outside for row, name in enumerate(names) if row not in inside}
    return verdicts


def _by_node(names: Sequence[str], verdicts: Verdicts) -> dict[str, Verdict]:
    """Nodes that the same reasons reject share their verdict, so it is worked out once for each set of reasons."""
    marks = [verdicts.unresolvable.tolist(), *(blocker.counted.tolist() for blocker in verdicts.blockers)]
    decided: dict[str, Verdict] = {}
    spelt: dict[tuple[bool, ...], Verdict] = {}
    for row, reasons in enumerate(zip(*marks, strict=True)):
        if reasons not in spelt:
            status = verdicts.status(row)
            words = ("feasible",) if status is None else (str(status.code), status.plugin, *sorted(status.reasons))
            spelt[reasons] = words
        decided[names[row]] = spelt[reasons]
    return decided
