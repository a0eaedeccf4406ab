"""The question of ``chances``, and its Python function."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import ClassVar, Unpack

import msgspec
from msgspec.structs import replace

from kwhatif.commands.api_options import ClusterSource, Manifests, ScenarioKeywords, ask, build_scenario, python_names
from kwhatif.commands.chances.options import ChancesOptions
from kwhatif.commands.chances.result import ChancesResult, WorkloadChances
from kwhatif.commands.chances.trials import ChancesBase, Counts, Trial, run_trial, words_of_chances
from kwhatif.commands.chances.trials import Outcome as TrialOutcome
from kwhatif.errors import UsageError
from kwhatif.fleet.dispatch import run
from kwhatif.fleet.executors import Executor, LocalExecutor
from kwhatif.fleet.rows_file import RowsFile
from kwhatif.fleet.study import FailedTask, Study
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import Outcome
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.node_pools import zone_of
from kwhatif.simulation.placement.conclusion import conclude_in_words
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.scenario import PreparedScenario, Scenario
from kwhatif.simulation.session import Session
from kwhatif.simulation.study import StudyBase

_LOOK_EVERY = 50
"""The number of trials after which the intervals are checked."""


@dataclass(frozen=True)
class Chances(ChancesOptions, Question[ChancesResult]):
    """How likely is it that these pods go where they may go? Up to ``trials`` are made, by a ``seed``; fewer if all
    intervals are narrow enough: no more than ``precision`` to either side.

    More than ``max_skew`` pods of difference over ``topology_key`` count as skewed. The ``back`` has the workers;
    ``rows`` keeps outcomes as they come.
    """

    several_runs: ClassVar[bool] = True

    executor: Executor = field(default_factory=LocalExecutor)
    rows: RowsFile | None = None

    def check(self, scenario: Scenario) -> None:
        if self.trials < 1:
            raise UsageError(f"--trials {self.trials}: expected a number of at least 1")
        if self.precision is not None and not 0 < self.precision < 1:
            raise UsageError(f"--precision {self.precision}: expected a number between 0 and 1, such as 0.02")

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[ChancesResult]:
        (scenario,) = scenarios
        ground = StudyBase.from_scenario(scenario)
        session = ground.session
        shown = place_pods(
            ground.fork(), scenario.pods_to_schedule, rollouts=scenario.new_rollouts(), others=scenario.unknown_kinds
        )
        common = ChancesBase(ground, scenario.new_rollouts, self.topology_key, updates=bool(scenario.expanded.rollouts))
        trials = [Trial(number, self.seed) for number in range(self.trials)]
        of = f"{ground.digest} {self.topology_key}" if self.rows is not None else ""
        study = Study("Trying", common, trials, run_trial, TrialOutcome, of)
        counts, errors = Counts({node.name: zone_of(node) for node in session.cluster.columns.nodes}, self.max_skew), []
        outcomes = run(study, self._executor_for(common), self.rows)
        with closing(outcomes):
            for number, outcome in enumerate(outcomes, 1):
                if isinstance(outcome, FailedTask):
                    errors.append(outcome.error)
                else:
                    counts.add(outcome)
                if self.precision and number % _LOOK_EVERY == 0 and counts.is_precise(self.precision):
                    break
        for name in {item.pod.spec.scheduler_name for item in scenario.pods_to_schedule} or {None}:
            # Workers had schedulers of their own: this one tells the kinds that they read.
            session.driver.scheduler(name)

        def result(fidelity: Fidelity) -> ChancesResult:
            workloads = tuple(counts.workloads())
            return ChancesResult(
                outcome=self._outcome(scenario, shown, counts, workloads, errors, fidelity),
                trials=counts.trials,
                wanted=self.trials,
                seed=self.seed,
                precision=self.precision,
                max_skew=self.max_skew,
                topology_key=self.topology_key,
                workloads=workloads,
                pods=tuple(counts.pods()),
                groups=tuple(counts.groups()) or msgspec.UNSET,
                chance=tuple(_left_to_chance(session, has_groups=bool(shown.groups))),
                errors=tuple(dict.fromkeys(errors)),
                fidelity=fidelity,
            )

        basis = Run(
            session,
            scenario.pods_to_schedule,
            (),
            scenario.unknown_kinds,
            scenario.expanded.rollouts,
            by_group=bool(shown.groups),
        )
        return PendingResult([basis], result)

    def _outcome(
        self,
        scenario: PreparedScenario,
        shown: Run,
        counts: Counts,
        workloads: Sequence[WorkloadChances],
        errors: Sequence[str],
        fidelity: Fidelity,
    ) -> Outcome:
        """The outcome of the run that ``place`` shows, which is one more trial beside the others."""
        pending = counts.pending + bool(shown.pending)
        stopped = self.precision if counts.trials < self.trials else None
        told = [words_of_chances(workloads, counts, stopped)]
        if shown.pending and not counts.pending:
            waiting = format_count(len(shown.pending), "pod stays", "pods stay")
            told.append(f"{waiting} pending in the run that place shows")
        told += [f"{format_count(len(errors), 'trial')} came to none"] if errors else []
        found = conclude_in_words(
            dataclasses.replace(shown, **scenario.refusal_fields), fidelity, told, bad=bool(pending or errors)
        )
        return replace(found, chance_of_pending=round(pending / (counts.trials + 1), 6))

    def _executor_for(self, ground: ChancesBase) -> Executor:
        """Who makes the trials. Raises UsageError where they cannot be made elsewhere."""
        if ground.is_picklable:
            return self.executor
        if not isinstance(self.executor, LocalExecutor):
            raise UsageError("--on: updates of workloads that run already are tried in this process only")
        return LocalExecutor(1)


def _left_to_chance(session: Session, *, has_groups: bool) -> Iterator[str]:
    workers = format_count(session.setup.configuration.parallelism, "worker")
    if session.setup.features.best_node_is_top_of_a_heap:
        yield f"which of several best nodes is taken: by the order in which {workers} of a search find nodes"
    else:
        yield "which of several best nodes is taken: each as likely as any other"
    yield "the order in which pods come: any, but for those of a StatefulSet; the queue sorts by priority first"
    if has_groups:
        yield "the order in which members of a group and its domains are tried; which of equal domains is taken"
    if any(scheduler.samples for scheduler in session.driver.in_use):
        yield f"above 100 nodes, where the first search begins: at any node; and which nodes {workers} of a search find"


@python_names(ChancesOptions)
def chances(
    manifests: Manifests,
    *,
    snapshot: ClusterSource,
    trials: int = 1000,
    precision: float | None = None,
    seed: int = 0,
    max_skew: int = 1,
    topology_key: str = "topology.kubernetes.io/zone",
    workers: int | None = None,
    on: str | None = None,
    **options: Unpack[ScenarioKeywords],
) -> ChancesResult:
    """How likely is it that these pods go where they may go?

    Up to ``trials`` are made by a ``seed``; fewer if no interval reaches further than ``precision`` to either side.
    More than ``max_skew`` pods of difference over ``topology_key`` count as skewed. ``workers`` processes are asked, or
    those of a cluster of machines (``on``).
    """
    from kwhatif.fleet.executor_selection import executor_of

    question = Chances(
        trials=trials,
        seed=seed,
        precision=precision,
        max_skew=max_skew,
        topology_key=topology_key,
        executor=executor_of(on, workers),
    )
    return ask(question, build_scenario(manifests, snapshot, options))
