"""The question of ``chances``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec
from msgspec import structs
from msgspec.structs import replace

from kwhatif.commands.chances.result import ChancesResult, Probability, WorkloadChances
from kwhatif.commands.common_options import CLUSTER, MANIFESTS, FleetOptions, ManifestFiles
from kwhatif.errors import UsageError
from kwhatif.results.amounts import format_count
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import FITS, Outcome
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions

if TYPE_CHECKING:
    from kwhatif.commands.chances.trials import Counts
    from kwhatif.simulation.placement.run import Run
    from kwhatif.simulation.session import Session

ZONE = "topology.kubernetes.io/zone"

_MOST_TRIALS = 1000
_LOOK_EVERY = 50
"""The number of trials after which the intervals are checked."""


@dataclass(frozen=True, kw_only=True)
class Chances(FleetOptions, Question[ChancesResult]):
    """Place pods many times, each time leaving to chance what kube-scheduler leaves to it, and count what happens.

    That is which of several best nodes is taken, in what order the pods of several workloads arrive, and, above 100
    nodes, where a search for nodes begins and which of them its workers find.
    """

    takes = AutoscaledOptions
    exit_1_when = "in a trial a pod finds no node"
    examples = (
        f"{MANIFESTS}/web.yaml {CLUSTER} --trials 200",
        f"{MANIFESTS}/web.yaml {CLUSTER} --precision 0.05 --skew 2",
    )

    manifests: ManifestFiles = ()
    trials: Annotated[
        int | None,
        Flag(
            "--trials",
            metavar="N",
            least=1,
            help="Number of trials. Default: until the answer no longer changes, but at most 1,000.",
        ),
    ] = None
    precision: Annotated[
        float | None,
        Flag(
            "--precision",
            metavar="P",
            help="Stop once every interval is within P to either side, such as 0.02.",
        ),
    ] = None
    seed: Annotated[
        int, Flag("--seed", metavar="N", shows_default=True, help="The same seed gives the same answer.")
    ] = 0
    max_skew: Annotated[
        int,
        Flag(
            "--skew",
            metavar="K",
            least=0,
            shows_default=True,
            help="Call a spread skewed if the fullest and the emptiest domain differ by more than K pods.",
        ),
    ] = 1
    topology_key: Annotated[
        str,
        Flag(
            "--topology-key",
            metavar="LABEL",
            shows_default=True,
            help="The node label that defines domains.",
        ),
    ] = ZONE

    several_runs: ClassVar[bool] = True

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return not scenario.edited.has_moved_pods

    def check_edited(self, scenario: LoadedScenario) -> None:
        if not scenario.inputs.manifests and self.needs_pods(scenario):
            raise UsageError("name the files with the pods to place, or edits that leave pods without a node")

    def check(self, scenario: Scenario) -> None:
        if self.trials is not None and self.trials < 1:
            raise UsageError(f"--trials {self.trials}: expected a number of at least 1")
        if self.precision is not None and not 0 < self.precision < 1:
            raise UsageError(f"--precision {self.precision}: expected a number between 0 and 1, such as 0.02")

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[ChancesResult]:
        from kwhatif.commands.chances.trials import ChancesBase, Counts, Trial, TrialOutcome, run_trial
        from kwhatif.fleet.dispatch import run
        from kwhatif.fleet.study import FailedTask, Study
        from kwhatif.simulation.fidelity.assess import assess
        from kwhatif.simulation.node_pools import zone_of
        from kwhatif.simulation.placement.run import Run
        from kwhatif.simulation.placement.runs import place_pods
        from kwhatif.simulation.study import StudyBase

        (scenario,) = scenarios
        ground = StudyBase.from_scenario(scenario)
        session = ground.session
        shown = place_pods(
            ground.fork(),
            scenario.pods_to_schedule,
            rollouts=scenario.new_rollouts(),
            unknown_kinds=scenario.unknown_kinds,
            scaler=scenario.scaler,
        )
        updates = bool(scenario.expanded.rollouts)
        autoscalers = None if scenario.autoscalers is None else scenario.autoscalers.without_orders()
        common = ChancesBase(ground, scenario.new_rollouts, self.topology_key, updates, autoscalers)
        trials = [Trial(number, self.seed) for number in range(self._most_trials)]
        machines = "" if autoscalers is None else autoscalers.digest
        of = f"{ground.digest} {self.topology_key} {machines}" if self.rows is not None else ""
        study = Study("Trying", common, trials, run_trial, TrialOutcome, of, stationary=not common.is_picklable)
        counts, errors = Counts({node.name: zone_of(node) for node in session.cluster.columns.nodes}, self.max_skew), []
        outcomes = run(study, self.executor, self.rows)
        with closing(outcomes):
            for number, outcome in enumerate(outcomes, 1):
                if isinstance(outcome, FailedTask):
                    errors.append(outcome.error)
                else:
                    counts.add(outcome)
                if number % _LOOK_EVERY == 0 and self._suffices(counts):
                    break
        for name in {item.pod.spec.scheduler_name for item in scenario.pods_to_schedule} or {None}:
            # Workers had schedulers of their own: this one tells the kinds that they read.
            session.driver.scheduler(name)

        basis = Run(
            session,
            scenario.pods_to_schedule,
            (),
            scenario.unknown_kinds,
            scenario.expanded.rollouts,
            by_group=bool(shown.groups),
            autoscaled=autoscalers is not None,
            created=shown.created,
        )
        workloads, fidelity = tuple(counts.workloads()), assess(basis)
        result = ChancesResult(
            outcome=self._outcome(scenario, shown, counts, workloads, errors, fidelity),
            trials=counts.trials,
            wanted=self._most_trials,
            seed=self.seed,
            precision=self.precision,
            max_skew=self.max_skew,
            topology_key=self.topology_key,
            workloads=workloads,
            pods=tuple(counts.pods()),
            groups=tuple(counts.groups()) or msgspec.UNSET,
            growth=msgspec.UNSET if autoscalers is None else tuple(counts.growth()),
            chance=tuple(_left_to_chance(session, has_groups=bool(shown.groups))),
            errors=tuple(dict.fromkeys(errors)),
            fidelity=fidelity,
        )
        return Answer(result, [basis])

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
        from kwhatif.commands.chances.trials import words_of_chances
        from kwhatif.simulation.placement.conclusion import conclude_in_words

        pending = counts.pending + bool(shown.pending)
        beside_trials = structs.replace(shown, **scenario.refusal_fields)
        verdict = [words_of_chances(workloads, counts)]
        if counts.trials + len(errors) < self._most_trials:
            why = f"all intervals are within {self.precision}" if self.precision else "the answer no longer changes"
            verdict[0] += f"; stopped early: {why}"
        if shown.pending and not counts.pending:
            waiting = format_count(len(shown.pending), "pod stays", "pods stay")
            verdict.append(f"{waiting} pending in the run that place shows")
        if counts.missing and (counts.missing < counts.trials or not beside_trials.not_created):
            verdict.append(
                f"pods are not created in {Probability.from_counts(counts.missing, counts.trials)} of trials"
            )
        verdict += [f"{format_count(len(errors), 'trial')} failed"] if errors else []
        outcome = conclude_in_words(
            beside_trials,
            fidelity,
            verdict,
            bad=bool(pending or errors or counts.missing),
            lead=FITS,
        )
        return replace(outcome, chance_of_pending=round(pending / (counts.trials + 1), 6))

    @property
    def _most_trials(self) -> int:
        return _MOST_TRIALS if self.trials is None else self.trials

    def _suffices(self, counts: Counts) -> bool:
        """Whether more trials would not tell more of what is asked for."""
        if self.precision is not None:
            return counts.is_precise(self.precision)
        return self.trials is None and counts.is_settled()


def _left_to_chance(session: Session, *, has_groups: bool) -> Iterator[str]:
    workers = format_count(session.setup.configuration.parallelism, "worker")
    if session.setup.features.best_node_is_top_of_a_heap:
        yield f"which of several best nodes is taken: by the order in which {workers} of a search find nodes"
        yield "the order in which the scheduler lists the nodes: any, since it heard of them in any when it started"
    else:
        yield "which of several best nodes is taken: each as likely as any other"
    yield "the order in which pods come: any, but for those of a StatefulSet; the queue sorts by priority first"
    if has_groups:
        yield "the order in which members of a group and its domains are tried; which of equal domains is taken"
    if any(scheduler.samples for scheduler in session.driver.in_use):
        yield f"above 100 nodes, where the first search begins: at any node; and which nodes {workers} of a search find"
