"""Questions about cluster-autoscaler, Karpenter, and both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, TypeVar

from msgspec import structs

from kwhatif.api.core import Pod
from kwhatif.commands.autoscale.groups_plan import groups_of, plan_node_groups, run_until_stable
from kwhatif.commands.autoscale.karpenter_result import AutoscalersResult, KarpenterResult, NodesExplained
from kwhatif.commands.autoscale.options import ClusterAutoscalerOptions, ExplainNodesOptions, KarpenterOptions
from kwhatif.commands.autoscale.result import AutoscaleResult
from kwhatif.commands.common_options import EXPLANATION, ManifestFiles
from kwhatif.results.base import Fidelity, Result
from kwhatif.results.place import ScaleUp
from kwhatif.simulation.autoscalers.node_groups import GroupAutoscaler, observation_time_of
from kwhatif.simulation.autoscalers.node_groups_document import ConfiguredGroups
from kwhatif.simulation.autoscalers.scaler import Autoscaler, Scaler
from kwhatif.simulation.command import Output
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.flag import Argument
from kwhatif.simulation.inputs import PROVISION_SECONDS, Files, Notes
from kwhatif.simulation.placement.afterwards import snapshot_after_run
from kwhatif.simulation.placement.conclusion import outcome_of
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.placement.runs import place_pods
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario
from kwhatif.simulation.session import PodToSchedule, Session
from kwhatif.snapshot.format.model import Snapshot

R_co = TypeVar("R_co", bound=Result, covariant=True)


@dataclass(frozen=True, kw_only=True)
class AfterPlacing(Question[R_co]):
    """A question about these pods, and those that wait in the snapshot, after a scheduler run.

    Terminating pods are left out.
    """

    with_pending = True
    asks_autoscalers = True

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return bool(scenario.inputs.manifests)

    def select_pods(self, scenario: PreparedScenario) -> Sequence[PodToSchedule]:
        return [item for item in super().select_pods(scenario) if not item.pod.metadata.deletion_timestamp]


def answer_after_placing(scenario: PreparedScenario, after: Callable[[Run, Fidelity], R_co]) -> Answer[R_co]:
    """Run the scheduler; ``after`` makes the result."""
    run = place_pods(
        scenario.session,
        scenario.pods_to_schedule,
        rollouts=scenario.expanded.rollouts,
        unknown_kinds=scenario.unknown_kinds,
    )
    return Answer(after(run, assess(run)), [run])


def after_growing(
    scenario: PreparedScenario,
    autoscalers: Sequence[Autoscaler],
    after: Callable[[Run, Run, Fidelity], R_co],
    provision: float = PROVISION_SECONDS,
) -> Answer[R_co]:
    """The same with a second run, in which autoscalers add nodes for pods that wait after the first.

    New nodes come up after ``provision`` seconds.
    """
    beginning = scenario.session.fork()
    run = place_pods(
        scenario.session,
        scenario.pods_to_schedule,
        rollouts=scenario.expanded.rollouts,
        unknown_kinds=scenario.unknown_kinds,
    )
    if run.good and not run.victims and not run.updates:
        grown = structs.replace(run, scale_up=ScaleUp(autoscalers=tuple(autoscaler.name for autoscaler in autoscalers)))
    else:
        # Growth alone is another run from the same beginning: nodes join while pods wait, and old ones go.
        now = observation_time_of(scenario.snapshot, scenario.inputs.now)
        grown = place_pods(
            beginning,
            scenario.pods_to_schedule,
            rollouts=scenario.new_rollouts(),
            unknown_kinds=scenario.unknown_kinds,
            scaler=Scaler(autoscalers, partial(_later, scenario), now, float(provision)),
        )
    grown = structs.replace(grown, **scenario.refusal_fields)
    return Answer(after(run, grown, assess(run)), [grown])


def _later(scenario: PreparedScenario, session: Session, waiting: Sequence[Pod]) -> Snapshot:
    """The cluster as autoscalers find it, with the pods that wait by then."""
    left = Run(session, left=waiting)
    return snapshot_after_run(session.snapshot, scenario.edited.covered, scenario.expanded, left)


def snapshot_after(scenario: PreparedScenario, run: Run) -> Snapshot:
    """The cluster as a run leaves it."""
    return snapshot_after_run(scenario.snapshot, scenario.edited.covered, scenario.expanded, run)


@dataclass(frozen=True, kw_only=True)
class Autoscale(ClusterAutoscalerOptions, AfterPlacing[AutoscaleResult]):
    """Which nodes would cluster-autoscaler add for these pods and those that wait in the snapshot, and which remove?"""

    manifests: ManifestFiles = ()

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[AutoscaleResult]:
        (scenario,) = scenarios
        known = groups_of(self.groups, scenario.snapshot, notes, scenario.inputs.now)
        grower = GroupAutoscaler(known)
        provision = self.provision_seconds if self.until_quiet else PROVISION_SECONDS
        return after_growing(scenario, [grower], partial(self.after, scenario, known, grower), provision)

    def after(
        self,
        scenario: PreparedScenario,
        groups: ConfiguredGroups,
        grower: GroupAutoscaler,
        run: Run,
        grown: Run,
        fidelity: Fidelity,
    ) -> AutoscaleResult:
        """The result once the scheduler has run, and the ``grower`` has added nodes."""
        quiet = None
        if self.until_quiet:
            quiet = run_until_stable(grown, grower.known, observation_time_of(scenario.snapshot, scenario.inputs.now))
        return plan_node_groups(
            run,
            grown,
            groups,
            scale_down=self.scale_down,
            orders=self.orders,
            quiet=quiet,
            now=scenario.inputs.now,
            fidelity=fidelity,
        )


@dataclass(frozen=True, kw_only=True)
class Karpenter(KarpenterOptions, AfterPlacing[KarpenterResult]):
    """Which NodeClaims would Karpenter make for these pods and those that wait in the snapshot?"""

    manifests: ManifestFiles = ()

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[KarpenterResult]:
        (scenario,) = scenarios
        return after_growing(scenario, [self.grower(scenario)], partial(self.after, scenario))

    def grower(self, scenario: PreparedScenario) -> Autoscaler:
        """Karpenter in its initial state."""
        from kwhatif.simulation.autoscalers.catalogues import noting_unread
        from kwhatif.simulation.autoscalers.instance_types_document import read_catalogue
        from kwhatif.simulation.autoscalers.node_pools import PoolAutoscaler, pools_of

        known = noting_unread(read_catalogue(self.catalogue), scenario.snapshot)
        return PoolAutoscaler(known, pools_of(scenario.snapshot, self.node_pools))

    def after(self, scenario: PreparedScenario, run: Run, grown: Run, fidelity: Fidelity) -> KarpenterResult:
        """The result once the scheduler has run, and Karpenter has added nodes."""
        from kwhatif.commands.autoscale.karpenter_plan import karpenter
        from kwhatif.simulation.autoscalers.catalogues import noting_unread
        from kwhatif.simulation.autoscalers.instance_types_document import read_catalogue
        from kwhatif.simulation.autoscalers.node_pools import pools_of

        pools = pools_of(scenario.snapshot, self.node_pools)
        known = noting_unread(read_catalogue(self.catalogue), scenario.snapshot)
        return karpenter(
            snapshot_after(scenario, run),
            [placement for placement in (*run.placements, *run.replacements) if placement.outcome != "preempted"],
            known,
            pools,
            outcome_after=partial(outcome_of, grown, fidelity),
            scale_up=grown.scale_up,
            consolidation=self.consolidate,
            orders=self.orders,
            now=scenario.inputs.now,
            fidelity=fidelity,
        )


@dataclass(frozen=True, kw_only=True)
class ExplainNodes(ExplainNodesOptions, AfterPlacing[NodesExplained]):
    """Does Karpenter give these nodes back, and why, or why not? They are named."""

    prints: ClassVar[Output] = EXPLANATION

    nodes: Annotated[Sequence[str], Argument(metavar="NODE", completion="node", help="The nodes, by their names.")]

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[NodesExplained]:
        from kwhatif.commands.autoscale.karpenter_plan import explain_nodes
        from kwhatif.simulation.autoscalers.catalogues import noting_unread
        from kwhatif.simulation.autoscalers.instance_types_document import read_catalogue
        from kwhatif.simulation.autoscalers.node_pools import build_karpenter_snapshot, pools_of

        (scenario,) = scenarios
        pools = pools_of(scenario.snapshot, self.node_pools)
        known = noting_unread(read_catalogue(self.catalogue), scenario.snapshot)

        def after(run: Run, fidelity: Fidelity) -> NodesExplained:
            world = build_karpenter_snapshot(snapshot_after(scenario, run), known, pools, scenario.inputs.now)
            return NodesExplained(
                catalogue=known.source,
                incomplete=known.incomplete,
                nodes=tuple(explain_nodes(world, self.nodes)),
                fidelity=fidelity,
            )

        return answer_after_placing(scenario, after)


@dataclass(frozen=True, kw_only=True)
class Autoscalers(AfterPlacing[AutoscalersResult]):
    """What would both do, each for its own nodes?"""

    manifests: Files = ()
    cluster_autoscaler: Autoscale
    karpenter: Karpenter

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[AutoscalersResult]:
        (scenario,) = scenarios
        known = groups_of(self.cluster_autoscaler.groups, scenario.snapshot, notes, scenario.inputs.now)

        grower = GroupAutoscaler(known)

        def after(run: Run, grown: Run, fidelity: Fidelity) -> AutoscalersResult:
            bought = self.karpenter.after(scenario, run, grown, fidelity)
            more = self.cluster_autoscaler.after(scenario, known, grower, run, grown, fidelity)
            return AutoscalersResult(outcome=more.outcome, cluster_autoscaler=more, karpenter=bought)

        return after_growing(scenario, [grower, self.karpenter.grower(scenario)], after)
