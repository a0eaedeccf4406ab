"""``backtest`` of a snapshot alone: the pods that were bound last are taken off again, and asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.cluster.cluster import FINISHED
from kwhatif.progress import tracked
from kwhatif.results.amounts import counted
from kwhatif.results.backtest import BacktestResult
from kwhatif.scheduling.attempt import Attempt
from kwhatif.whatif.backtest import judge
from kwhatif.whatif.backtest.account import Account
from kwhatif.whatif.backtest.ask_again import NEAR, SEARCH, Asked
from kwhatif.whatif.backtest.decisions import Decision
from kwhatif.whatif.backtest.recorded_cluster import RecordedCluster
from kwhatif.whatif.backtest.searches import Searches
from kwhatif.whatif.fidelity.assess import Basis
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question


@dataclass(frozen=True)
class LastBound(Question[BacktestResult]):
    """Would the ``last`` pods that were bound, so many of them, get their nodes again? The newest are asked about
    first, and then stay off the cluster. When a pod was bound, its condition PodScheduled tells, by the second.
    """

    last: int
    need: float = 0

    def needs_pods(self, case: Case) -> bool:
        return False

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[BacktestResult]:
        (case,) = cases
        session = case.session
        bound = [pod for pod in session.snapshot.objects.of(Pod) if pod.spec.node_name and not _is_over(pod)]
        dated = sorted(((at, pod) for pod in bound if (at := _bound_at(pod))), key=lambda each: each[0], reverse=True)
        account, cluster = Account(), RecordedCluster(session)
        searches = Searches(cluster)
        if undated := len(bound) - len(dated):
            account.left_out["the snapshot does not tell when the pod was bound, or it is a static pod"] = undated
        judged = partial(_verdict, nodes=len(session.cluster), strangers=judge.strangers(session.setup))
        for at, group in groupby(tracked(dated[: self.last], "Asking again for", "pods"), key=lambda each: each[0]):
            pods = [pod for _, pod in group]
            for pod in pods:
                decision = Decision(pod.metadata.uid or pod.key, pod.key, 0, 0, 0, 0, node=pod.spec.node_name or "")
                account.add(decision, _asked(cluster, searches, decision, pod, pods), partial(judged, at))
            _take_off(cluster, pods)
        notes.note(
            f"{min(len(dated), self.last)} of {counted(len(dated), 'pod')} are asked about; what else has changed "
            "since they were bound (pods that have gone, nodes, volumes, labels) a snapshot does not tell"
        )
        return Answer([Basis(session)], partial(account.result, searches, self.need))


def _asked(
    cluster: RecordedCluster, searches: Searches, decision: Decision, pod: Pod, same_second: Sequence[Pod]
) -> Asked:
    """The pod as the last one that was bound in its second; if that leads elsewhere, as the first one."""
    asked = Asked(why="the pod belongs to a scheduler that none of the profiles is")
    if not cluster.decides_about(pod):
        return asked
    for agreement, off in ((judge.SAME, [pod]), (NEAR, same_second)):
        _take_off(cluster, off)
        attempt = cluster.ask(_unbound(pod))
        asked.states += 1
        found = judge.agreement(decision, attempt, cluster.names)
        if not found and searches.lead_to(decision, attempt):
            found = SEARCH
        for each in off:
            cluster.apply("Pod", (each.namespace, each.name), each)
        if asked.guess is None:
            asked.guess, asked.answer = attempt, judge.answer_in_words(attempt, cluster.names)
        if found or len(same_second) == 1:
            asked.agreement = found and (NEAR if agreement is NEAR else found)
            break
    return asked


def _take_off(cluster: RecordedCluster, pods: Sequence[Pod]) -> None:
    """The pods are no longer bound."""
    for pod in pods:
        cluster.apply("Pod", (pod.namespace, pod.name), _unbound(pod))


def _unbound(pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=None), status=replace(pod.status, nominated_node_name=None))


def _is_over(pod: Pod) -> bool:
    return (pod.status.phase or "") in FINISHED


def _bound_at(pod: Pod) -> str:
    """When the scheduler bound a pod, as text that sorts; nothing for one that the snapshot does not tell it of."""
    if pod.is_mirror:
        return ""
    scheduled = (one for one in pod.status.conditions or () if one.type == "PodScheduled" and one.status == "True")
    return next((one.last_transition_time or "" for one in scheduled), "")


def _verdict(at: str, attempt: Attempt, *, nodes: int, strangers: Sequence[str]) -> tuple[str, str]:
    if strangers:
        return judge.NOT_MODELLED, ", ".join(strangers)
    if attempt.placed and attempt.evaluated < nodes:
        return judge.SAMPLED, f"{attempt.evaluated} of {nodes} nodes were looked at, and which ones is not known"
    return judge.MOVED, f"what has gone or changed since {at} is not in the snapshot"
