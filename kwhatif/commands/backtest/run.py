"""Questions about a recording, or about the pods of a snapshot that were bound last, which are taken off and scheduled
again; and counts of their agreement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import msgspec
from msgspec.structs import replace

from kwhatif.api.core import Pod
from kwhatif.api.times import format_time, parse_time
from kwhatif.commands.backtest import decisions as judge
from kwhatif.commands.backtest.bindings import count_bindings
from kwhatif.commands.backtest.decisions import Decision, decisions, read_pod_versions
from kwhatif.commands.backtest.kueue_decisions import RepeatedKueueDecision, repeat_kueue_decisions
from kwhatif.commands.backtest.options import AgreementOptions
from kwhatif.commands.backtest.pod_lives import note_missing
from kwhatif.commands.backtest.recorded_cluster import RecordedCluster
from kwhatif.commands.backtest.result import (
    Agreement,
    AgreementMoment,
    BacktestResult,
    BindingChoices,
    Disagreement,
    RecordedBindings,
)
from kwhatif.commands.backtest.states import NEAR, SEARCH, RepeatedDecision, Replay, SearchTracker, ask_again
from kwhatif.progress import track
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Fidelity
from kwhatif.scheduling.attempt import Attempt
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.inputs import Inputs, Notes, SchedulerOptions
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.queueing.configuration_file import read_configuration
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.snapshot.load import load_snapshot


class AgreementCounts(msgspec.Struct):
    """Counts of agreements by sort of decision; for each disagreement a row."""

    counts: dict[str, Counter[str]] = msgspec.field(
        default_factory=lambda: {what: Counter() for what in ("bound", "refused", "preempted")}
    )
    left_out: Counter[str] = msgspec.field(default_factory=Counter)
    differing: list[Disagreement] = []
    texts: dict[str, bool] = {}
    states: int = 0
    times: list[tuple[float, bool]] = []
    choices: Counter[str] = msgspec.field(default_factory=Counter)
    chance: float = 0.0

    def add(
        self, decision: Decision, repeated: RepeatedDecision, verdict: Callable[[Attempt], tuple[str, str]]
    ) -> None:
        """Count a decision; the ``verdict`` on the best guess is computed if nothing agrees."""
        self.states += repeated.states
        if repeated.guess is None:
            self.left_out[repeated.why] += 1
            return
        self.counts[decision.what][repeated.agreement] += 1
        self.times.append((decision.at, bool(repeated.agreement)))
        passing = len(repeated.guess.sampled)
        if decision.node and passing > 1:
            self.choices.update(decisions=1, agreeing=int(bool(repeated.agreement)))
            # Any of the best nodes would have been taken for agreement.
            self.chance += len(repeated.guess.best) / passing
        if decision.text:
            self.texts[decision.text] = self.texts.get(decision.text, True) and repeated.text
        if repeated.agreement:
            return
        why, evidence = verdict(repeated.guess)
        self.differing.append(
            Disagreement(
                pod=decision.key,
                what=decision.what,
                version=decision.before,
                recorded=judge.describe_decision(decision),
                answer=repeated.answer,
                verdict=why,
                evidence=evidence,
                states=repeated.states,
            )
        )

    def add_kueue(self, repeated: RepeatedKueueDecision) -> None:
        """Count a decision of Kueue's."""
        self.counts.setdefault(repeated.what, Counter())[repeated.agreement] += 1
        self.times.append((repeated.change.at, bool(repeated.agreement)))
        if not repeated.agreement:
            self.differing.append(repeated.disagreement())

    def result(
        self, searches: SearchTracker, need: float, bindings: RecordedBindings | None, fidelity: Fidelity
    ) -> BacktestResult:
        return BacktestResult(
            agreement=tuple(
                Agreement(
                    what=what,
                    total=count.total(),
                    same=count[judge.SAME] + count[judge.FORETOLD],
                    foretold=count[judge.FORETOLD],
                    tied=count[judge.TIE],
                    searched=count[SEARCH],
                    near=count[NEAR],
                )
                for what, count in self.counts.items()
            ),
            choices=BindingChoices(
                decisions=self.choices["decisions"], agreeing=self.choices["agreeing"], chance=round(self.chance, 3)
            ),
            texts=len(self.texts),
            texts_agreeing=sum(self.texts.values()),
            disagreements=tuple(self.differing),
            left_out=dict(sorted(self.left_out.items())),
            states=self.states,
            reach=sum(searches.reach) / len(searches.reach) if searches.reach else None,
            need=need,
            over_time=tuple(_agreement_by_time(self.times)),
            bindings=bindings,
            fidelity=fidelity,
        )


MOST_SPANS = 48


def _agreement_by_time(times: Sequence[tuple[float, bool]]) -> Iterator[AgreementMoment]:
    """At most ``most`` spans, of at least a second; times are in seconds since 1970."""
    if not times:
        return
    begin, end = (choose(at for at, _ in times) for choose in (min, max))
    length = max((end - begin) / MOST_SPANS, 1.0)
    spans = [[0, 0] for _ in range(min(int((end - begin) / length) + 1, MOST_SPANS))]
    for at, agrees in times:
        span = spans[min(int((at - begin) / length), len(spans) - 1)]
        span[0] += 1
        span[1] += agrees
    for place, (number, agreeing) in enumerate(spans):
        yield AgreementMoment(at=format_time(begin + place * length), decisions=number, agreeing=agreeing)


@dataclass(frozen=True, kw_only=True)
class RecordedDecisions(AgreementOptions, Question[BacktestResult]):
    """Does what was recorded come out again? The cluster of the scenario is what the recording begins with."""

    def build_scenarios(self, options: SchedulerOptions) -> Sequence[Scenario]:
        return [Scenario(Inputs(self.recording_and_start[1]), options)]

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[BacktestResult]:
        (scenario,) = scenarios
        (recording, start), session = self.recording_and_start, scenario.session
        note_missing(recording, notes)
        there = {pod.identity: bool(pod.spec.node_name) for pod in session.snapshot.objects.list_all(Pod)}
        pods = list(read_pod_versions(recording))
        later = [change for change in recording.changes if change.kind.struct and change.version > recording.begins]
        replay = Replay(RecordedCluster(session), later)
        searches, account = SearchTracker(replay.cluster), AgreementCounts()
        judged = partial(judge.verdict, nodes=len(session.cluster), unmodelled=judge.find_unmodelled(session.setup))
        for decision in track(decisions(recording, pods), "Asking again for", "decisions"):
            repeated = ask_again(replay, searches, decision)
            account.add(decision, repeated, partial(judged, decision, between=replay.between(decision)))
        path = scenario.scheduler_options.kueue_config
        for repeat_kueue_decision in repeat_kueue_decisions(start, recording, read_configuration(path) if path else {}):
            account.add_kueue(repeat_kueue_decision)
        bindings = count_bindings(recording, pods, there, session.setup.configuration)
        run = Run(session)
        return Answer(account.result(searches, self.need, bindings, assess(run)), [run])


@dataclass(frozen=True, kw_only=True)
class LastBound(AgreementOptions, Question[BacktestResult]):
    """Would the pods that were bound last (``last`` of them) get their nodes again? The newest are asked about first,
    and then stay off the cluster. When a pod was bound, its condition PodScheduled tells, by the second.
    """

    def build_scenarios(self, options: SchedulerOptions) -> Sequence[Scenario]:
        return [Scenario(Inputs(load_snapshot([self.recording])), options)]

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[BacktestResult]:
        (scenario,) = scenarios
        session = scenario.session
        bound = [pod for pod in session.snapshot.objects.list_all(Pod) if pod.spec.node_name and not pod.is_finished]
        dated = sorted(
            ((at, pod) for pod in bound if (at := _bound_at(pod))), key=lambda dated_pod: dated_pod[0], reverse=True
        )
        account, cluster = AgreementCounts(), RecordedCluster(session)
        searches = SearchTracker(cluster)
        if undated := len(bound) - len(dated):
            account.left_out["the snapshot does not tell when the pod was bound, or it is a static pod"] = undated
        judged = partial(_verdict, nodes=len(session.cluster), unmodelled=judge.find_unmodelled(session.setup))
        for at, group in groupby(
            track(dated[: self.last], "Asking again for", "pods"), key=lambda dated_pod: dated_pod[0]
        ):
            pods = [pod for _, pod in group]
            if len(pods) > 1:
                account.left_out[_SAME_SECOND] += len(pods)
            else:
                when, node = parse_time(at).timestamp(), pods[0].spec.node_name or ""
                decision = Decision(pods[0].metadata.uid or pods[0].key, pods[0].key, when, 0, 0, 0, node=node)
                account.add(decision, _replay_decision(cluster, searches, decision, pods[0]), partial(judged, at))
            _take_off(cluster, pods)
        notes.note(
            f"asked about {min(len(dated), self.last)} of {format_count(len(dated), 'pod')}, those bound last; what "
            "has changed since (pods that have gone, nodes, volumes, labels) a snapshot does not tell"
        )
        run = Run(session)
        return Answer(account.result(searches, self.need, None, assess(run)), [run])


_SAME_SECOND = "others were bound in the same second, and in which order is not known"


def _replay_decision(
    cluster: RecordedCluster, searches: SearchTracker, decision: Decision, pod: Pod
) -> RepeatedDecision:
    """The decision about the pod where all that were bound later are off."""
    repeated = RepeatedDecision(why="the pod belongs to a scheduler that none of the profiles is")
    if not cluster.decides_about(pod):
        return repeated
    _take_off(cluster, [pod])
    attempt = cluster.ask(_unbound(pod))
    agreement = judge.agreement(decision, attempt, cluster.names)
    if not agreement and searches.reproduce(decision, attempt):
        agreement = SEARCH
    cluster.apply("Pod", (pod.namespace, pod.name), pod)
    repeated.guess, repeated.answer, repeated.states = attempt, judge.describe_answer(attempt, cluster.names), 1
    repeated.agreement = agreement
    return repeated


def _take_off(cluster: RecordedCluster, pods: Sequence[Pod]) -> None:
    """Unbind the pods."""
    for pod in pods:
        cluster.apply("Pod", (pod.namespace, pod.name), _unbound(pod))


def _unbound(pod: Pod) -> Pod:
    return replace(pod, spec=replace(pod.spec, node_name=None), status=replace(pod.status, nominated_node_name=None))


def _bound_at(pod: Pod) -> str:
    """When the scheduler bound a pod, as text that sorts; nothing for one that the snapshot does not tell it of."""
    if pod.is_mirror:
        return ""
    scheduled = (one for one in pod.status.conditions or () if one.type == "PodScheduled" and one.status == "True")
    return next((one.last_transition_time or "" for one in scheduled), "")


def _verdict(at: str, attempt: Attempt, *, nodes: int, unmodelled: Sequence[str]) -> tuple[str, str]:
    if unmodelled:
        return judge.NOT_MODELLED, ", ".join(unmodelled)
    if attempt.is_placed and attempt.evaluated < nodes:
        return judge.SAMPLED, f"{attempt.evaluated} of {nodes} nodes were looked at, and which ones is not known"
    return judge.MOVED, f"what has gone or changed since {at} is not in the snapshot"
