"""``chances`` as a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import ClassVar

from kwhatif.errors import UsageError
from kwhatif.fleet.backs.back import Back
from kwhatif.fleet.backs.here import Here
from kwhatif.fleet.course import run
from kwhatif.fleet.rows_file import RowsFile
from kwhatif.fleet.study import Failed, Study
from kwhatif.results.amounts import counted
from kwhatif.results.chances import ChancesResult
from kwhatif.results.parts import Fidelity
from kwhatif.whatif.chances.counting import Counts
from kwhatif.whatif.chances.trials import ChancesGround, Outcome, Trial, throw
from kwhatif.whatif.fidelity.assess import Basis
from kwhatif.whatif.info.pools import zone_of
from kwhatif.whatif.session import Session
from kwhatif.whatif.stages.ground import Ground
from kwhatif.whatif.stages.notes import Notes
from kwhatif.whatif.stages.question import Answer, Case, Question

ZONE = "topology.kubernetes.io/zone"
_LOOK_EVERY = 50
"""After so many trials the intervals are looked at."""


@dataclass(frozen=True)
class Chances(Question[ChancesResult]):
    """How likely is it that these pods go where they may go? Up to ``trials`` are made, by a ``seed``; fewer if all
    intervals are narrow enough: no more than ``precision`` to either side.

    More than ``max_skew`` pods of difference over ``topology_key`` count as skewed. The ``back`` has the workers;
    ``rows`` keeps outcomes as they come.
    """

    several_runs: ClassVar[bool] = True

    trials: int = 1000
    seed: int = 0
    precision: float | None = None
    max_skew: int = 1
    topology_key: str = ZONE
    back: Back = field(default_factory=Here)
    rows: RowsFile | None = None

    def check(self, case: Case) -> None:
        if self.trials < 1:
            raise UsageError(f"--trials {self.trials}: expected a number of at least 1")
        if self.precision is not None and not 0 < self.precision < 1:
            raise UsageError(f"--precision {self.precision}: expected a number between 0 and 1, such as 0.02")

    def answer(self, cases: Sequence[Case], notes: Notes) -> Answer[ChancesResult]:
        (case,) = cases
        ground = Ground.of(case)
        case.session = session = ground.session
        common = ChancesGround(ground, case.expanded.rollouts, self.topology_key)
        trials = [Trial(number, self.seed) for number in range(self.trials)]
        of = f"{ground.digest} {self.topology_key}" if self.rows is not None else ""
        study = Study("Trying", common, trials, throw, Outcome, of)
        counts, errors = Counts({node.name: zone_of(node) for node in session.cluster.columns.nodes}, self.max_skew), []
        outcomes = run(study, self._back(common), self.rows)
        with closing(outcomes):
            for number, outcome in enumerate(outcomes, 1):
                if isinstance(outcome, Failed):
                    errors.append(outcome.error)
                else:
                    counts.add(outcome)
                if self.precision and number % _LOOK_EVERY == 0 and counts.precise(self.precision):
                    break
        for name in {item.pod.spec.scheduler_name for item in case.asked} or {None}:
            # Workers had schedulers of their own: this one is asked what it would have read.
            session.driver.scheduler(name)

        def result(fidelity: Fidelity) -> ChancesResult:
            return ChancesResult(
                trials=counts.trials,
                wanted=self.trials,
                seed=self.seed,
                precision=self.precision,
                max_skew=self.max_skew,
                topology_key=self.topology_key,
                workloads=tuple(counts.workloads()),
                pods=tuple(counts.pods()),
                chance=tuple(_left_to_chance(session)),
                errors=tuple(dict.fromkeys(errors)),
                fidelity=fidelity,
                **case.refused,
            )

        basis = Basis(session, case.asked, (), case.others, case.expanded.rollouts)
        return Answer([basis], result)

    def _back(self, ground: ChancesGround) -> Back:
        """Who makes the trials. Raises UsageError where they cannot be made elsewhere."""
        if ground.travels:
            return self.back
        if not isinstance(self.back, Here):
            raise UsageError("--on: updates of workloads that run already are tried in this process only")
        return Here(1)


def _left_to_chance(session: Session) -> Iterator[str]:
    yield "which of several best nodes is taken: each as likely as any other"
    yield "the order in which pods come: any, but for those of a StatefulSet; the queue sorts by priority first"
    if any(scheduler.samples for scheduler in session.driver.in_use):
        workers = counted(session.setup.configuration.parallelism, "worker")
        yield f"above 100 nodes, where the first search begins: at any node; and which nodes {workers} of a search find"
