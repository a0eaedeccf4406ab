"""Whether an answer is what was recorded, and if no answer is, why that may be."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.cluster.shapes import PodInfo
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.preemption import FIRST_BY_NAME, Preemption
from kwhatif.snapshot.foreign.recording import Change
from kwhatif.whatif.backtest.decisions import Decision

SAME, TIE = "same", "tie"

MOVED = "the cluster moved"
SAMPLED = "a part of the nodes"
NOT_MODELLED = "not modelled"
UNEXPLAINED = "unexplained"


def agreement(decision: Decision, attempt: Attempt, names: Sequence[str]) -> str:
    """``SAME``, ``TIE`` if chance decided between what was recorded and the answer, or nothing."""
    if decision.node:
        best = [names[row] for row in attempt.best]
        if decision.node not in best:
            return ""
        return SAME if len(best) == 1 else TIE
    if attempt.placed or attempt.message != decision.text:
        return ""
    if not decision.victims:
        # Who is evicted without an Event, or was on the way out already, is not told of.
        return SAME
    if attempt.nominated == decision.nominated and _keys(attempt.evicted) == decision.victims:
        return SAME
    return TIE if attempt.nominated and _is_equal_candidate(decision, attempt) else ""


def _is_equal_candidate(decision: Decision, attempt: Attempt) -> bool:
    """Whether nothing but the order in which nodes, or a node's pods, were looked at speaks against the recorded."""
    assert attempt.diagnosis is not None
    for place, candidate in enumerate(Preemption().ranked(attempt.pod, attempt.diagnosis)):
        if place and candidate.behind != FIRST_BY_NAME:
            return False
        if candidate.node == decision.nominated:
            row = attempt.diagnosis.cluster.columns.row(candidate.node)
            there = {} if row is None else {pod.key: pod for pod in attempt.diagnosis.cluster.pods_on[row]}
            recorded = [there[key] for key in decision.victims if key in there]
            return _importance(recorded) == _importance(candidate.victims)
    return False


def _importance(pods: Sequence[PodInfo]) -> list[tuple[int, int]]:
    """What decides whom preemption tries to spare first; among pods alike in this, the order it came across them."""
    return sorted((pod.priority, pod.start) for pod in pods)


def _keys(pods: Sequence[PodInfo]) -> tuple[str, ...]:
    return tuple(sorted(pod.key for pod in pods))


def in_words(decision: Decision) -> str:
    """What was recorded."""
    if decision.node:
        return f"bound to {decision.node}"
    evicting = f", evicting {', '.join(decision.victims)} from {decision.nominated}" if decision.victims else ""
    return f"refused: {decision.text}{evicting}"


def answer_in_words(attempt: Attempt, names: Sequence[str]) -> str:
    """The answer in the same words."""
    if attempt.placed:
        return f"bound to {' or '.join(sorted(names[row] for row in attempt.best))}"
    victims = ", ".join(_keys(attempt.evicted))
    evicting = f", evicting {victims} from {attempt.nominated}" if victims else ""
    return f"refused: {attempt.message or (attempt.gated.message if attempt.gated else '')}{evicting}"


def verdict(
    decision: Decision, attempt: Attempt, nodes: int, between: Sequence[Change], strangers: Sequence[str]
) -> tuple[str, str]:
    """Why no answer agrees, and what shows it.

    ``between`` are the changes made while it can have been decided, ``strangers`` what has a say and is not modelled.
    """
    if strangers:
        return NOT_MODELLED, ", ".join(strangers)
    if decision.node and attempt.placed and attempt.evaluated < nodes:
        return SAMPLED, f"{attempt.evaluated} of {nodes} nodes were looked at, and which ones is not recorded"
    others = [change for change in between if change.key != decision.name]
    if others:
        last = others[-1]
        did = "deleted" if last.deleted else "changed"
        what = "/".join(filter(None, last.key))
        many = f"{len(others)} changes" if len(others) > 1 else "a change"
        return MOVED, (
            f"{many} between versions {decision.after} and {decision.before}, the last of them "
            f"{last.kind.name} {what} {did} at {last.version}"
        )
    return UNEXPLAINED, f"nothing changed between versions {decision.after} and {decision.before}"
