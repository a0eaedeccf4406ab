"""The question of ``explain --deschedule``: why does the descheduler evict a pod, or not?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kwhatif.api.core import Pod
from kwhatif.api.workloads_and_storage import PodDisruptionBudget
from kwhatif.commands.common_options import EXPLANATION
from kwhatif.commands.deschedule.cycles import Cycles, Moves
from kwhatif.commands.deschedule.options import ExplainDeschedulingOptions
from kwhatif.commands.deschedule.policy_document import require_descheduler_policy
from kwhatif.commands.deschedule.question import moment_of
from kwhatif.commands.deschedule.result import DescheduleExplained, PodDescheduled
from kwhatif.commands.deschedule.usage_files import read_usage
from kwhatif.descheduling.descheduler import Descheduler
from kwhatif.errors import UsageError
from kwhatif.scheduling.eviction_budgets import EvictionBudgets
from kwhatif.simulation.command import Output
from kwhatif.simulation.edits.selection import chosen_pods
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.flag import Argument
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario


@dataclass(frozen=True, kw_only=True)
class ExplainDescheduling(ExplainDeschedulingOptions, Question[DescheduleExplained]):
    """Why does a descheduler evict these pods, or leave them? ``words`` are names of pods or label selectors."""

    several_runs: ClassVar[bool] = True

    prints: ClassVar[Output] = EXPLANATION

    words: Annotated[
        Sequence[str], Argument(metavar="POD", completion="pod", help="Pods that run, by names or label selectors.")
    ] = ()

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if not self.words:
            raise UsageError("name the pods to explain: pods of the snapshot")

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[DescheduleExplained]:
        (scenario,) = scenarios
        snapshot = scenario.snapshot
        policy, source = require_descheduler_policy(self.deschedule, snapshot)
        session = scenario.new_session()
        moves = Moves(session, EvictionBudgets(snapshot.objects.list_all(PodDisruptionBudget)))
        world = Cycles(
            policy, moves, moment_of(snapshot, scenario.inputs.now, notes), 0.0, read_usage(self.metrics)
        ).world()
        descheduler = Descheduler(policy, world)
        skipped = descheduler.cycle(with_protected=False).skipped
        chosen = {pod.key: pod for word in self.words for pod in chosen_pods(word, snapshot.objects.list_all(Pod))}
        pods = tuple(_explain(descheduler, pod, skipped=skipped) for pod in chosen.values())
        run = Run(session)
        return Answer(DescheduleExplained(policy=source, pods=pods, fidelity=assess(run)), [run])


def _explain(descheduler: Descheduler, pod: Pod, *, skipped: bool) -> PodDescheduled:
    outside = ""
    if skipped:
        outside = "the cycle is skipped: it needs two ready nodes"
    elif not pod.spec.node_name:
        outside = "it has no node"
    elif not descheduler.takes_part(pod):
        outside = f"{pod.spec.node_name} is not ready, or not among the nodes of the policy's nodeSelector"
    verdicts = () if outside else tuple(descheduler.verdicts_on(pod))
    return PodDescheduled(
        pod=pod.key,
        node=pod.spec.node_name or "",
        evicted=any(verdict.verdict == "evicts" for verdict in verdicts),
        outside=outside,
        verdicts=verdicts,
    )
