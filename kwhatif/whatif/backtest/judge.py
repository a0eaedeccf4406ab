"""Whether an answer is what was recorded, and if no answer is, why that may be."""

from __future__ import annotations

from collections.abc import Sequence

from kwhatif.cluster.shapes import NEVER_STARTED, PodInfo
from kwhatif.scheduling.attempt import Attempt
from kwhatif.scheduling.candidate_nodes import FIRST_BY_NAME
from kwhatif.scheduling.preemption import Preemption
from kwhatif.scheduling.setup import Setup
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
    same = attempt.nominated == decision.nominated and _are_victims(decision, attempt.evicted)
    return SAME if same else ""


def chance_may_tell(decision: Decision, attempt: Attempt) -> bool:
    """Whether it preempts, with the recorded text: then it may be just the order in which nodes and pods were looked at
    that led elsewhere.
    """
    return bool(decision.victims and attempt.nominated) and attempt.message == decision.text


def is_equally_good(decision: Decision, attempt: Attempt) -> bool:
    """Whether the recorded node and victims are a candidate that no measure puts behind the answer."""
    if attempt.diagnosis is None:
        return False
    for place, candidate in enumerate(Preemption().ranked(attempt.pod, attempt.diagnosis)):
        unstarted = all(pod.start == NEVER_STARTED for pod in candidate.victims)
        if place and candidate.behind != FIRST_BY_NAME and not unstarted:
            return False
        if candidate.node == decision.nominated:
            return _are_victims(decision, candidate.victims)
    return False


def _are_victims(decision: Decision, victims: Sequence[PodInfo]) -> bool:
    """Whether these are the victims told of, and such as no Event would tell of.

    There is none about a pod that is on its way out already, and a second one about the same pod names the first
    preemptor only. Upstream: prepareCandidateAsync of pkg/scheduler/framework/preemption/executor.go, recordToSink of
    client-go/tools/events/event_broadcaster.go.
    """
    told = {pod.key for pod in victims if not (pod.shape.terminating or pod.key in decision.perhaps)}
    return told <= set(decision.victims) <= {pod.key for pod in victims}


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


def strangers(setup: Setup) -> list[str]:
    """What has a say in the recorded decisions and is not modelled here."""
    plugins = [f"plugin {name}" for name in sorted(setup.skipped)]
    called = setup.extenders is not None
    return plugins + [f"extender {each.url_prefix}" for each in setup.configuration.extenders if not called]


def verdict(
    decision: Decision, attempt: Attempt, *, nodes: int, between: Sequence[Change], strangers: Sequence[str]
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
