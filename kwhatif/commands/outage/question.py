"""The question of ``outage``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from kwhatif.commands.common_options import CLUSTER, FleetOptions, ManifestsBefore
from kwhatif.commands.outage.options import FailureOptions
from kwhatif.errors import UsageError
from kwhatif.progress import track
from kwhatif.results.disruption import Cure, FailedWorld, Failure, OutageResult, Requirement, Scope
from kwhatif.results.outcome import Outcome
from kwhatif.simulation.flag import Flag, split_words
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions

if TYPE_CHECKING:
    from kwhatif.commands.outage.failures import NodeFailure
    from kwhatif.simulation.session import PodToSchedule, Session
    from kwhatif.simulation.study import StudyBase

KINDS = {"node": "nodes", "zone": "zones", "pool": "pools"}
"""Kinds of failures that can be asked about by these words, one and all of them."""

MANY_PODS = 1_000
"""A failure that takes away more pods than this takes a second and more to simulate."""

REQUIREMENTS: tuple[Requirement, ...] = ("back", "replicas", "quorum", "budgets")


@dataclass(frozen=True, kw_only=True)
class Outage(FailureOptions, FleetOptions, Question[OutageResult]):
    """Remove nodes, zones or pools, one after the other, and show what becomes of their pods.

    Nodes fail at once: they are not drained, and disruption budgets do not apply. Controllers recreate the pods, which
    look for other nodes and may evict others.
    """

    takes = AutoscaledOptions
    exit_1_when = "a failure is not survived"
    examples = (
        f"{CLUSTER}",
        f"{CLUSTER} --each nodes,zones --survive node",
    )

    manifests: ManifestsBefore = ()
    unreachable: Annotated[
        bool,
        Flag(
            "--unreachable",
            help="The nodes stop answering and stay in the cluster, so that pods of StatefulSets are not recreated.",
        ),
    ] = False
    survive: Annotated[
        Sequence[str],
        Flag(
            "--survive",
            parse=split_words,
            metavar="node,zone,...",
            help="Failures that must be survived for the answer to be good: node, zone, pool, pair, or a --by label. "
            "Default: all.",
        ),
    ] = ()
    require: Annotated[
        Sequence[Requirement],
        Flag(
            "--require",
            parse=split_words,
            metavar="back,replicas,...",
            help="What surviving takes: all pods come back (back; the default), no workload loses all replicas even "
            "for a while (replicas), no StatefulSet or gang its quorum (quorum), no budget too many pods (budgets).",
        ),
    ] = ("back",)

    several_runs: ClassVar[bool] = True

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        from kwhatif.commands.outage.failures import EACH, PAIR

        for failure in self.failures:
            if failure not in EACH:
                raise UsageError(f"--each {failure}: expected nodes, zones or pools")
        for need in self.require:
            if need not in REQUIREMENTS:
                raise UsageError(f"--require {need}: expected back, replicas, quorum or budgets")
        asked = self._asked_kinds()
        for kind in self.survive:
            if kind not in (*KINDS, PAIR, *self.by):
                raise UsageError(f"--survive {kind}: expected node, zone, pool, pair, or a label that --by names")
            if kind not in asked:
                how = f"--each {KINDS[kind]} does" if kind in KINDS else "--pairs does"
                raise UsageError(f"--survive {kind}: no such failure is tried; {how}")

    def _asked_kinds(self) -> set[str]:
        from kwhatif.commands.outage.failures import PAIR

        wanted = self._select_failures()
        named = {"node": wanted.nodes, "zone": wanted.zones, "pool": wanted.pools}
        kinds = {kind for kind, word in KINDS.items() if named[kind] or word in wanted.failures}
        return {*kinds, *wanted.by, *([PAIR] if wanted.pairs else [])}

    def _select_failures(self) -> FailureOptions:
        """What is asked about: of kinds that must be survived all, unless some are chosen."""
        from kwhatif.commands.outage.failures import EACH

        if not self.is_empty:
            return self
        return replace(self, failures=tuple(KINDS[kind] for kind in self.survive if kind in KINDS) or EACH)

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[OutageResult]:
        from kwhatif.api.core import Node
        from kwhatif.commands.outage.effects import OutageBase, simulate_failure
        from kwhatif.commands.outage.failures import find_failures
        from kwhatif.commands.outage.verdict import outcome_of_outage
        from kwhatif.fleet.dispatch import run
        from kwhatif.fleet.study import FailedTask, Study
        from kwhatif.simulation.autoscaler_selection import find_autoscalers
        from kwhatif.simulation.fidelity.assess import assess
        from kwhatif.simulation.placement.run import Run
        from kwhatif.simulation.placement.runs import place_scenario
        from kwhatif.simulation.study import StudyBase

        (scenario,) = scenarios
        wanted = self._select_failures()
        autoscalers = scenario.autoscalers
        scenario, before = place_scenario(scenario, scenario.scaler)
        if autoscalers is not None and before is not None:
            autoscalers = find_autoscalers(scenario, notes)
        ground = StudyBase.from_scenario(scenario)
        session = ground.session
        gone, there = find_failures(wanted, session.snapshot.objects.list_all(Node))
        of = f"{ground.digest} {self.unreachable} {autoscalers and autoscalers.digest}" if self.rows is not None else ""
        base = OutageBase(ground, self.unreachable, None if autoscalers is None else autoscalers.without_orders())
        share = max((len(failure.nodes) for failure in gone), default=0) / max(len(session.cluster), 1)
        study = Study(
            "Failing",
            base,
            gone,
            simulate_failure,
            Failure,
            of,
            stationary=not ground.is_picklable,
            heavy=share * int(session.cluster.pod_count.sum()) > MANY_PODS,
        )
        rows = run(study, self.executor, self.rows)
        failures, errors = [], []
        for world, loss in zip(gone, rows, strict=True):
            if isinstance(loss, FailedTask):
                errors.append(FailedWorld(kind=world.kind, name=world.name, error=loss.error))
            else:
                failures.append(loss)
        failures.sort(key=lambda failure: (*(-bad for bad in failure.badness), failure.kind, failure.name))

        examples = list(_examples(session, failures))
        for example in examples:
            # Workers had schedulers of their own: this one tells the kinds that they read.
            session.driver.scheduler(example.pod.spec.scheduler_name)
        by_group = not any(failure.evicted for failure in failures)
        created = {} if before is None else before.created
        record = Run(session, examples, by_group=by_group, created=created, **scenario.refusal_fields)
        result = OutageResult(
            outcome=Outcome(good=True, verdict=""),
            nodes=len(session.cluster),
            scopes=tuple(self._scopes(failures, there)),
            failures=tuple(failures),
            survive=tuple(self.survive),
            require=tuple(self.require),
            errors=tuple(errors),
            assumed=tuple(self._list_assumptions(wanted, there, autoscaled=autoscalers is not None)),
            before=() if before is None else tuple(before.placements),
            rollouts=() if before is None else before.rollouts,
            fidelity=assess(record, before),
            **scenario.refusal_fields,
        )
        if autoscalers is None:
            result = msgspec.structs.replace(result, cures=tuple(self._cures(result, ground, gone)))
        return Answer(msgspec.structs.replace(result, outcome=outcome_of_outage(result, record)), [record])

    def _cures(self, result: OutageResult, ground: StudyBase, failures: Iterable[NodeFailure]) -> Iterator[Cure]:
        from kwhatif.commands.outage.cures import MOST_FAILURES, CureSearch

        search = CureSearch(ground, self.unreachable, self.require)
        fails = {(loss.kind, loss.name): loss for loss in failures}
        for failure in track(result.unsurvived_failures[:MOST_FAILURES], "Adding nodes", "failures"):
            if (cure := search.cure_of(failure, fails[failure.kind, failure.name])) is not None:
                yield cure

    def _scopes(self, failures: Iterable[Failure], there: dict[str, int]) -> Iterator[Scope]:
        counts: Counter[str] = Counter()
        survived: Counter[str] = Counter()
        for failure in failures:
            counts[failure.kind] += 1
            survived[failure.kind] += not failure.breaks(self.require)
        for kind, count in there.items():
            yield Scope(
                kind=kind,
                asked=counts[kind],
                there_are=count,
                survived=survived[kind],
                required=kind in self.survive,
            )

    def _list_assumptions(self, options: FailureOptions, there: dict[str, int], *, autoscaled: bool) -> Iterator[str]:
        from kwhatif.commands.outage.failures import PAIR

        if self.unreachable:
            yield (
                "the nodes stop answering and stay in the cluster: their pods are deleted once they no longer tolerate "
                "that, but pods of StatefulSets are not recreated before somebody deletes the node or the pod by force"
            )
        else:
            yield (
                "the nodes are deleted, so that all their pods are recreated, those of StatefulSets included "
                "(--unreachable: they stay in the cluster and do not answer)"
            )
        waiting = "pods that wait for a node already are not tried again"
        if autoscaled:
            yield f"{waiting}; autoscalers add nodes for the others, but none in a zone that fails"
        else:
            yield f"{waiting}, and no autoscaler adds nodes (--autoscale)"
        if options.pairs and there[PAIR] > options.most_pairs:
            sample = f"a sample of {options.most_pairs} is tried (--seed {options.seed})"
            yield f"of {there[PAIR]} pairs of nodes {sample}"


def _examples(session: Session, failures: Sequence[Failure]) -> Iterator[PodToSchedule]:
    """One replacement of each shape, for the fidelity of the answer."""
    from kwhatif.simulation.session import PodToSchedule

    wanted = {pod.pod for failure in failures for pod in failure.lost_pods if pod.replacement}
    seen = set()
    for info, _ in session.cluster.pods():
        if info.key in wanted and info.shape.template not in seen:
            seen.add(info.shape.template)
            yield PodToSchedule(info.pod, session.snapshot.source, ran_before=True)
