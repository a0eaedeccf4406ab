"""The question of ``deschedule``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, ClassVar

from kwhatif.commands.common_options import CLUSTER
from kwhatif.commands.deschedule.options import INTERVAL, DeschedulerPolicy
from kwhatif.commands.deschedule.result import DescheduleResult
from kwhatif.errors import UsageError
from kwhatif.simulation.flag import Duration, Flag, InputFile
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions

if TYPE_CHECKING:
    from kwhatif.snapshot.format.model import Snapshot


@dataclass(frozen=True, kw_only=True)
class Deschedule(Question[DescheduleResult]):
    """Run the descheduler's next cycle as release 0.35 does, and follow the pods that it evicts.

    Controllers recreate evicted pods, and the scheduler places them. The answer says whether they find a node, whether
    nodes are in better balance, and whether the next cycle evicts the same pods again.
    """

    takes = AutoscaledOptions
    lacks = frozenset({"namespace", "verb", "at", "recursive"})
    exit_1_when = "an evicted pod finds no node, or is evicted there again"
    examples = (
        f"--descheduler-policy samples/deschedule/policy.yaml {CLUSTER}",
        f"--descheduler-policy samples/deschedule/policy.yaml {CLUSTER} --until-quiet",
    )

    descheduler_policy: Annotated[
        DeschedulerPolicy,
        InputFile(
            "--descheduler-policy",
            "The DeschedulerPolicy (descheduler/v1alpha2), a ConfigMap with one, or values of the descheduler's "
            "Helm chart, also in a HelmRelease or an Application; '-' for stdin. Default: the cluster's own if the "
            "snapshot has it.",
            type=str,
            positional=True,
        ),
    ] = ""
    cycles: Annotated[
        int,
        Flag(
            "--cycles",
            metavar="N",
            least=1,
            shows_default=True,
            help="Follow N cycles; the one after is looked at, too.",
        ),
    ] = 1
    until_quiet: Annotated[
        bool, Flag("--until-quiet", help="Follow cycles until one evicts no pod, or until they repeat.")
    ] = False
    interval_seconds: Annotated[
        float, Duration("--interval", "The time from one cycle to the next.", shows_default=True)
    ] = INTERVAL
    metrics: Annotated[
        Sequence[str],
        InputFile(
            "--metrics",
            "Measurements: NodeMetrics and PodMetrics of metrics.k8s.io, or Prometheus' answer to the query "
            "of the policy (repeatable).",
        ),
    ] = ()
    dry_run: Annotated[
        bool, Flag("--dry-run", help="Ignore disruption budgets, as the descheduler's own --dry-run does.")
    ] = False

    several_runs: ClassVar[bool] = True

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if scenario.inputs.manifests:
            raise UsageError("deschedule asks about pods that run: it takes no manifests")

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[DescheduleResult]:
        from kwhatif.api.workloads_and_storage import PodDisruptionBudget
        from kwhatif.commands.deschedule.cycles import MOST_CYCLES, Cycles, Moves
        from kwhatif.commands.deschedule.deschedule import follow_cycles
        from kwhatif.commands.deschedule.policy_document import require_descheduler_policy
        from kwhatif.commands.deschedule.usage_files import read_usage
        from kwhatif.scheduling.eviction_budgets import EvictionBudgets
        from kwhatif.simulation.placement.runs import place_scenario
        from kwhatif.simulation.placement.scale_down import ShrinkingCluster, remove_unneeded_nodes
        from kwhatif.simulation.session import pending_pods

        (scenario,) = scenarios
        scaler = scenario.scaler
        scenario, before = place_scenario(scenario, scaler)
        snapshot = scenario.snapshot
        policy, source = require_descheduler_policy(self.descheduler_policy, snapshot)
        session = scenario.new_session()
        now = moment_of(snapshot, scenario.inputs.now, notes)
        budgets = EvictionBudgets(snapshot.objects.list_all(PodDisruptionBudget))
        moves = Moves(session, budgets, scaler)
        usage = read_usage(self.metrics)
        series = Cycles(policy, moves, now, self.interval_seconds, usage, reviews=not self.dry_run)
        anyway: Sequence[str] = ()
        if (removing := scenario.scaler) is not None:
            waiting = [item.pod for item in pending_pods(scenario.snapshot)]
            anyway = remove_unneeded_nodes(ShrinkingCluster(scenario.new_session(), waiting), removing)
        cycles = MOST_CYCLES if self.until_quiet else self.cycles
        return follow_cycles(series, source, cycles, anyway, before, **scenario.refusal_fields)


def moment_of(snapshot: Snapshot, now: datetime | None, notes: Notes) -> datetime:
    """When the first cycle is: the given time, else when the snapshot was taken, else now."""
    from kwhatif.simulation.autoscalers.node_groups import observation_time_of

    if now is None and not snapshot.taken_at:
        notes.note("the snapshot does not say when it was taken: ages of pods are those of today")
    return observation_time_of(snapshot, now)
