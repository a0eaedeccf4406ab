"""The question of ``snapshot trim``: the smallest snapshot that gives the same decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from kwhatif.commands.common_options import CLUSTER
from kwhatif.commands.snapshot.trim.result import TrimResult
from kwhatif.commands.snapshot.trim.trim import build_trim_result, check_and_write, trim, unbind_pods
from kwhatif.errors import InputError, UsageError
from kwhatif.simulation.command import WITHOUT_PAGE, Output
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.flag import Flag
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.pod_selection import PodQuestion
from kwhatif.simulation.question import Answer
from kwhatif.simulation.scenario import PreparedScenario, Scenario
from kwhatif.simulation.session import PodToSchedule


@dataclass(frozen=True, kw_only=True)
class Trim(PodQuestion[TrimResult]):
    """Keep only what the decision on a pod depends on: a small snapshot that reproduces it.

    A pod that runs is taken off its node first; in the new snapshot it waits. Several pods are placed one after the
    other, as the scheduler would. What is left is decided again before it is written.

    Exit codes: 0 written, 2 usage or input error.
    """

    lacks = frozenset({"verb", "at", "recursive"})
    prints = Output(formats=(), reports=WITHOUT_PAGE)
    examples = (f"reindex-3-2f9gk {CLUSTER} -o reproducer.json",)
    several_runs: ClassVar[bool] = True

    output: Annotated[
        str,
        Flag(
            "--output",
            short="-o",
            metavar="OUT",
            file="out",
            help="The file to write; packed if it ends in .gz or .zst.",
        ),
    ]
    nodes_too: Annotated[
        bool,
        Flag("--nodes-too", help="Keep one node for each verdict; numbers of nodes in messages may change then."),
    ] = False
    steps: Annotated[
        int | None,
        Flag(
            "--steps",
            metavar="N",
            least=1,
            help="Decide again at most N times. Default: 2000 times, and less often on large snapshots.",
        ),
    ] = None

    @classmethod
    def has_gaps(cls) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if not self.pods and not self.files:
            raise self.nothing
        if self.output == "-":
            raise UsageError("'-' is no file to write to: standard output is for the report")
        if scenario.scheduler_options.call_extenders:
            raise UsageError("--call-extenders: trim decides again and again, too often to ask extenders each time")

    @property
    def nothing(self) -> UsageError:
        return UsageError("name the pods to trim for: manifests, or pods of the snapshot")

    def select(
        self, scenario: PreparedScenario, names: Sequence[str], choice: Sequence[PodToSchedule]
    ) -> PreparedScenario:
        # Updates are not rolled out: all new pods are there at once.
        own = list(scenario.expanded.all_pods())
        given = {item.pod.key for item in own}
        named = self.find_named(scenario, names, choice)
        return replace(scenario, pods_to_schedule=[*own, *(item for item in named if item.pod.key not in given)])

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[TrimResult]:
        (scenario,) = scenarios
        for item in scenario.pods_to_schedule:
            name = item.pod.spec.scheduler_name
            if scenario.setup.configuration.profile_for(name or "default-scheduler") is None:
                problem = f"pod {item.pod.key}: schedulerName {name} is none of the configuration's profiles"
                raise InputError(problem, source=item.origin, place="$.spec.schedulerName")
        if scenario.edited.queues.words:
            notes.warn("Kueue's decision is written into the pods: its queues are not kept, and are not asked again")
        whole = scenario.snapshot
        before, waiting = unbind_pods(whole, scenario.pods_to_schedule)
        session = scenario.with_snapshot(before).new_session()
        run = place_pods(session, waiting)
        for gap in assess(run).touching:
            notes.warn(f"the decision may be another: {gap.what}: {gap.effect}")
        trimmed = trim(session, waiting, nodes_too=self.nodes_too, most_steps=self.steps)
        decision = check_and_write(trimmed, session, waiting, self.output, loosely=self.nodes_too)
        return Answer(build_trim_result(whole, trimmed, decision, self.output, scenario.scheduler_options), [run])
