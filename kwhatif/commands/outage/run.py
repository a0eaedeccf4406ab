"""The question of ``outage``, and its Python function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Unpack

import msgspec

from kwhatif.api.core import Node
from kwhatif.commands.api_options import ClusterSource, Manifests, ScenarioKeywords, ask, build_scenario, python_names
from kwhatif.commands.outage.effects import FailureEffects
from kwhatif.commands.outage.failures import EACH, PAIR, NodeFailure, find_failures
from kwhatif.commands.outage.options import FailureOptions, OutageOptions
from kwhatif.commands.outage.verdict import outcome_of_outage
from kwhatif.errors import UsageError
from kwhatif.fleet.dispatch import run
from kwhatif.fleet.executors import Executor, LocalExecutor
from kwhatif.fleet.rows_file import RowsFile
from kwhatif.fleet.study import FailedTask, Study
from kwhatif.results.base import Fidelity
from kwhatif.results.disruption import FailedWorld, Failure, OutageResult, Requirement, Scope
from kwhatif.results.outcome import Outcome
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import merge_placed, place_scenario
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.simulation.study import StudyBase

KINDS = {"node": "nodes", "zone": "zones", "pool": "pools"}
"""Kinds of failures that can be asked about by these words, one and all of them."""

REQUIREMENTS: tuple[Requirement, ...] = ("back", "replicas", "quorum", "budgets")


@dataclass(frozen=True)
class OutageBase:
    """The base of all failures."""

    base: StudyBase
    unreachable: bool

    @cached_property
    def effects(self) -> FailureEffects:
        return FailureEffects(self.base.fork(), self.unreachable)

    def __reduce__(self) -> tuple[type[OutageBase], tuple[StudyBase, bool]]:
        return OutageBase, (self.base, self.unreachable)


def simulate_failure(ground: OutageBase, node_failure: NodeFailure) -> Failure:
    """The effects of one failure."""
    return ground.effects.failure_of(node_failure)


@dataclass(frozen=True, kw_only=True)
class Outage(OutageOptions, Question[OutageResult]):
    """What happens when nodes, zones or pools are gone? Where nothing says which: each node, zone and pool.

    Kinds of failures in ``survive`` must be survived, which takes what is in ``require``. With ``unreachable`` nodes
    they stay in the cluster, and pods of StatefulSets are not made again. Pods of manifests, and those that edits left
    without a node, are placed before. The ``executor`` has the workers; ``rows`` keeps failures as they come.
    """

    several_runs: ClassVar[bool] = True

    executor: Executor = field(default_factory=LocalExecutor)
    rows: RowsFile | None = None

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        for each in self.failures:
            if each not in EACH:
                raise UsageError(f"--each {each}: expected nodes, zones or pools")
        for need in self.require:
            if need not in REQUIREMENTS:
                raise UsageError(f"--require {need}: expected back, replicas, quorum or budgets")
        asked = self._asked_kinds()
        for kind in self.survive:
            if kind not in (*KINDS, PAIR, *self.by):
                raise UsageError(f"--survive {kind}: expected node, zone, pool, pair, or a label that --by names")
            if kind not in asked:
                how = f"--each {KINDS[kind]} does" if kind in KINDS else "--pairs does"
                raise UsageError(f"--survive {kind}: no such failure is asked about; {how}")

    def _asked_kinds(self) -> set[str]:
        wanted = self._select_failures()
        named = {"node": wanted.nodes, "zone": wanted.zones, "pool": wanted.pools}
        found = {kind for kind, word in KINDS.items() if named[kind] or word in wanted.failures}
        return {*found, *wanted.by, *([PAIR] if wanted.pairs else [])}

    def _select_failures(self) -> FailureOptions:
        """What is asked about: of kinds that must be survived all, unless some are chosen."""
        if not self.is_empty:
            return self
        return replace(self, failures=tuple(KINDS[kind] for kind in self.survive if kind in KINDS) or EACH)

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[OutageResult]:
        (scenario,) = scenarios
        wanted = self._select_failures()
        scenario, before = place_scenario(scenario)
        ground = StudyBase.from_scenario(scenario)
        session = ground.session
        gone, there = find_failures(wanted, session.snapshot.objects.list_all(Node))
        of = f"{ground.digest} {self.unreachable}" if self.rows is not None else ""
        study = Study("Failing", OutageBase(ground, self.unreachable), gone, simulate_failure, Failure, of)
        rows = run(study, self.executor, self.rows)
        failures, errors = [], []
        for world, found in zip(gone, rows, strict=True):
            if isinstance(found, FailedTask):
                errors.append(FailedWorld(kind=world.kind, name=world.name, error=found.error))
            else:
                failures.append(found)
        failures.sort(key=lambda each: (*(-bad for bad in each.badness), each.kind, each.name))

        def result(fidelity: Fidelity) -> OutageResult:
            found = OutageResult(
                outcome=Outcome(good=True, verdict=""),
                nodes=len(session.cluster),
                scopes=tuple(self._scopes(failures, there)),
                failures=tuple(failures),
                survive=tuple(self.survive),
                require=tuple(self.require),
                errors=tuple(errors),
                assumed=tuple(self._list_assumptions(wanted, there)),
                fidelity=fidelity,
                **scenario.refusal_fields,
            )
            return msgspec.structs.replace(found, outcome=outcome_of_outage(found, record))

        examples = list(_examples(session, failures))
        for each in examples:
            # Workers had schedulers of their own: this one tells the kinds that they read.
            session.driver.scheduler(each.pod.spec.scheduler_name)
        by_group = not any(each.evicted for each in failures)
        record = Run(session, examples, by_group=by_group, **scenario.refusal_fields)
        return merge_placed(before, PendingResult([record], result))

    def _scopes(self, failures: Iterable[Failure], there: dict[str, int]) -> Iterator[Scope]:
        asked: Counter[str] = Counter()
        survived: Counter[str] = Counter()
        for each in failures:
            asked[each.kind] += 1
            survived[each.kind] += not each.breaks(self.require)
        for kind, count in there.items():
            yield Scope(
                kind=kind,
                asked=asked[kind],
                there_are=count,
                survived=survived[kind],
                required=kind in self.survive,
            )

    def _list_assumptions(self, wanted: FailureOptions, there: dict[str, int]) -> Iterator[str]:
        if self.unreachable:
            yield (
                "the nodes stop answering and stay in the cluster: their pods are deleted once they no longer tolerate "
                "that, but pods of StatefulSets are not made again before somebody deletes the node or the pod by force"
            )
        else:
            yield (
                "the nodes are deleted, so that all their pods are made again, those of StatefulSets included "
                "(--unreachable: they stay in the cluster and do not answer)"
            )
        yield "pods that wait for a node already are not tried again, and no autoscaler adds nodes"
        if wanted.pairs and there[PAIR] > wanted.most_pairs:
            sample = f"a sample of {wanted.most_pairs} is asked about (--seed {wanted.seed})"
            yield f"of {there[PAIR]} pairs of nodes {sample}"


def _examples(session: Session, failures: Sequence[Failure]) -> Iterator[PodToSchedule]:
    """One replacement of each shape, for the fidelity of the answer."""
    wanted = {pod.pod for each in failures for pod in each.lost_pods if pod.replacement}
    seen = set()
    for info, _ in session.cluster.pods():
        if info.key in wanted and info.shape.template not in seen:
            seen.add(info.shape.template)
            yield PodToSchedule(info.pod, session.snapshot.source, ran_before=True)


@python_names(OutageOptions)
def outage(
    failures: Sequence[str] = (),
    *,
    snapshot: ClusterSource,
    nodes: Sequence[str] = (),
    zones: Sequence[str] = (),
    pools: Sequence[str] = (),
    by: Sequence[str] = (),
    pairs: bool = False,
    most_pairs: int = 1000,
    seed: int = 0,
    unreachable: bool = False,
    survive: Sequence[str] = (),
    require: Sequence[Requirement] = ("back",),
    manifests: Manifests = (),
    workers: int | None = None,
    on: str | None = None,
    **options: Unpack[ScenarioKeywords],
) -> OutageResult:
    """What happens when nodes, zones or pools are gone? ``failures`` are words for each: ``nodes``, ``zones``...

    Without words each of the three is asked about, unless ``nodes`` (names or selectors), ``zones``, ``pools``, the
    values of labels (``by``) or ``pairs`` of nodes are named. Kinds in ``survive`` must be survived, which takes what
    is in ``require``. ``workers`` processes are asked, or those of a cluster of machines (``on``). Pods of
    ``manifests``, and those that edits leave without a node, are placed before.
    """
    from kwhatif.fleet.executor_selection import executor_of

    question = Outage(
        failures=failures,
        nodes=nodes,
        zones=zones,
        pools=pools,
        by=by,
        pairs=pairs,
        most_pairs=most_pairs,
        seed=seed,
        unreachable=unreachable,
        survive=survive,
        require=require,
        executor=executor_of(on, workers),
    )
    return ask(question, build_scenario(manifests, snapshot, options))
