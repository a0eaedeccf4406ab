"""``upgrade`` as a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Unpack

from kwhatif.api.core import Node
from kwhatif.commands.api_options import ClusterSource, ScenarioKeywords, ask, build_scenario
from kwhatif.commands.deschedule.placement_before import add_placement_before
from kwhatif.commands.upgrade.evictions import EvictionTimes
from kwhatif.commands.upgrade.replacing_nodes import NodeChanges, add_new_nodes
from kwhatif.commands.upgrade.result import UpgradeResult
from kwhatif.commands.upgrade.simulation import PROVISION, replace_pool
from kwhatif.errors import UsageError
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.edits.selection import chosen_nodes
from kwhatif.simulation.fidelity.assess import RunRecord
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.runs import place_scenario
from kwhatif.simulation.question import PendingResult, Question, Scenario
from kwhatif.upgrading.replacement_plan import AfterTimeout, ReplacementPlan, nodes_of
from kwhatif.upgrading.strategies import plan_of

_ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class PlanOptions:
    """What is other than the strategy has it; numbers of nodes may be shares of the pool."""

    surge: str | None = None
    unavailable: str | None = None
    parallel: int | None = None
    drain_timeout: float | None = None
    after_timeout: AfterTimeout | None = None
    node_soak: float | None = None
    pool_soak: float | None = None

    def plan(self, strategy: str, size: int, zones: int) -> ReplacementPlan:
        """Raises UsageError."""
        surge, unavailable = self.surge, self.unavailable
        plan = plan_of(strategy, size, zones).with_values(
            surge=None if surge is None else nodes_of(surge, size, up=True, option="--surge"),
            unavailable=None if unavailable is None else nodes_of(unavailable, size, up=False, option="--unavailable"),
            parallel=self.parallel,
            drain_timeout=self.drain_timeout,
            after_timeout=self.after_timeout,
            node_soak=self.node_soak,
            pool_soak=self.pool_soak,
        )
        if strategy == "eks" and unavailable is not None:
            # What EKS calls maxUnavailable is how many are drained at a time; as many more nodes are there.
            parallel = max(plan.unavailable, 1)
            plan = replace(plan, parallel=parallel, surge=max(plan.surge, parallel), unavailable=0)
        if plan.keeps_old and not (surge is unavailable is None):
            raise UsageError(f"{strategy} makes a whole new pool first: --surge and --unavailable are not for it")
        plan.check()
        return plan


@dataclass(frozen=True)
class Upgrade(Question[UpgradeResult]):
    """What would replacing the nodes of a ``pool`` do? They are named by a label selector, or one by its name.

    ``within`` is how many seconds it may take, ``provision`` how many a new node takes.
    """

    several_runs: ClassVar[bool] = True

    pool: str = ""
    strategy: str = "surge"
    plan_options: PlanOptions = field(default_factory=PlanOptions)
    times: EvictionTimes = field(default_factory=EvictionTimes)
    changes: NodeChanges = field(default_factory=NodeChanges)
    provision: float = PROVISION
    within: float | None = None

    def needs_pods(self, case: Scenario) -> bool:
        return False

    def check(self, case: Scenario) -> None:
        if not self.pool:
            raise UsageError("name the pool: with --pool SELECTOR")

    def answer(self, cases: Sequence[Scenario], notes: Notes) -> PendingResult[UpgradeResult]:
        (case,) = cases
        before = place_scenario(case)
        old = chosen_nodes(self.pool, case.snapshot.objects.list_all(Node))
        zones = len({(node.metadata.labels or {}).get(_ZONE) for node in old})
        plan = self.plan_options.plan(self.strategy, len(old), zones)
        draft = Draft(case.snapshot)
        names = add_new_nodes(draft, old, self.changes)
        case.edited = replace(case.edited, snapshot=draft.snapshot)
        session = case.session = case.new_session()
        found = replace_pool(session, names, plan, self.times, self.provision)
        evictions, clock = found.evictions, found.clock
        budgets, workloads = evictions.budgets, evictions.workloads
        placements = tuple(evictions.run.placements)
        messages = {each.pod: each.reason for each in placements}
        result = partial(
            UpgradeResult,
            pool=self.pool,
            strategy=plan.name,
            surge=plan.surge,
            unavailable=plan.unavailable,
            drain_timeout=plan.drain_timeout,
            outcome=found.outcome,
            time=clock.now if found.ended is None else found.ended,
            within=self.within,
            nodes=tuple(found.nodes()),
            obstacles=tuple(found.obstacles()),
            forced=tuple(found.forced),
            not_made_again=tuple(evictions.not_made_again),
            pending=tuple(workloads.spans(messages)),
            workloads=tuple(workloads.readiness(budgets)),
            budgets=budgets.uses(),
            placements=placements,
            moments=tuple(found.moments),
            timeline=tuple(found.timeline),
            peak_nodes=max(moment.old + moment.new for moment in found.moments),
            more_node_hours=round(found.more_node_seconds / 3600, 2),
            remarks=plan.remarks,
        )
        evicted = list(evictions.evicted)
        basis = RunRecord(session, evictions.asked, placements, evicted=evicted)
        return add_placement_before(
            before, PendingResult([basis], lambda fidelity: result(fidelity=fidelity), placements)
        )


def upgrade(
    pool: str,
    *,
    snapshot: ClusterSource,
    strategy: str = "surge",
    surge: int | str | None = None,
    unavailable: int | str | None = None,
    drain_timeout_seconds: float | None = None,
    grace_seconds: float | None = None,
    ready_after_seconds: float = 30.0,
    provision_seconds: float = 120.0,
    within_seconds: float | None = None,
    **options: Unpack[ScenarioKeywords],
) -> UpgradeResult:
    """What would replacing the nodes of a pool do, and would it end?

    The pool is a label selector, or the name of a node. ``strategy`` is one of those of the command, with its defaults.
    """
    from kwhatif.commands.upgrade.evictions import EvictionTimes

    plan = PlanOptions(
        None if surge is None else str(surge),
        None if unavailable is None else str(unavailable),
        drain_timeout=drain_timeout_seconds,
    )
    times = EvictionTimes(grace_seconds, {"": ready_after_seconds})
    question = Upgrade(pool, strategy, plan, times, provision=provision_seconds, within=within_seconds)
    return ask(question, build_scenario((), snapshot, options))
