"""``upgrade`` as a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Unpack

from msgspec import structs

from kwhatif.api.core import Node
from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, ask, build_scenario
from kwhatif.commands.deschedule.placement_before import add_placement_before
from kwhatif.commands.sweep.measures import Prices, read_prices
from kwhatif.commands.upgrade.cost import cost_of
from kwhatif.commands.upgrade.evictions import EvictionTimes
from kwhatif.commands.upgrade.replacement import Replacement
from kwhatif.commands.upgrade.replacing_nodes import NodeChanges, add_new_nodes, in_delete_order
from kwhatif.commands.upgrade.result import UpgradeCost, UpgradeResult
from kwhatif.commands.upgrade.simulation import PROVISION, replace_pool
from kwhatif.commands.upgrade.verdict import outcome_of_upgrade
from kwhatif.errors import UsageError
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import ScaleUp
from kwhatif.simulation.autoscalers.scaler import apply_scale_up
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.edits.selection import chosen_nodes
from kwhatif.simulation.fidelity.assess import RunRecord
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.conclusion import NeverMade
from kwhatif.simulation.placement.run_outcome import join_outcomes, with_growth
from kwhatif.simulation.placement.runs import place_scenario
from kwhatif.simulation.placement.verdict import words_of_good
from kwhatif.simulation.question import LoadedScenario, PendingResult, PreparedScenario, Question, RunEnd, Scenario
from kwhatif.simulation.session import Session
from kwhatif.upgrading.replacement_plan import AfterTimeout, DeletePolicy, ReplacementPlan, nodes_of
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
    delete_policy: DeletePolicy | None = None

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
            delete_policy=self.delete_policy,
        )
        if strategy == "eks" and unavailable is not None:
            # What EKS calls maxUnavailable is how many are drained at a time; as many more nodes are there.
            parallel = max(plan.unavailable, 1)
            plan = replace(plan, parallel=parallel, surge=max(plan.surge, parallel), unavailable=0)
        if plan.keeps_old and not (surge is unavailable is None):
            raise UsageError(f"{strategy} makes a whole new pool first: --surge and --unavailable are not for it")
        if self.delete_policy is not None and strategy != "capi":
            raise UsageError(f"--delete-policy is Cluster API's, and not for {strategy}")
        plan.check()
        return plan


@dataclass(frozen=True)
class Upgrade(Question[UpgradeResult]):
    """What would replacing the nodes of a ``pool`` do? They are named by a label selector, or one by its name.

    ``within`` is how many seconds it may take, ``provision`` how many a new node takes. ``prices`` are of nodes.
    """

    several_runs: ClassVar[bool] = True

    pool: str = ""
    strategy: str = "surge"
    plan_options: PlanOptions = field(default_factory=PlanOptions)
    times: EvictionTimes = field(default_factory=EvictionTimes)
    changes: NodeChanges = field(default_factory=NodeChanges)
    provision: float = PROVISION
    within: float | None = None
    prices: Prices | None = None

    def needs_pods(self, case: LoadedScenario) -> bool:
        return False

    def check(self, case: Scenario) -> None:
        if not self.pool:
            raise UsageError("name the pool: with --pool SELECTOR")

    def answer(self, cases: Sequence[PreparedScenario], notes: Notes) -> PendingResult[UpgradeResult]:
        (case,) = cases
        scaler = case.scaler
        case, before = place_scenario(case, scaler)
        old = chosen_nodes(self.pool, case.snapshot.objects.list_all(Node))
        zones = len({(node.metadata.labels or {}).get(_ZONE) for node in old})
        plan = self.plan_options.plan(self.strategy, len(old), zones)
        draft = Draft(case.snapshot)
        names = add_new_nodes(draft, in_delete_order(old, plan.delete_policy), self.changes)
        case = case.with_snapshot(draft.snapshot)
        session = case.new_session()
        found = replace_pool(session, names, plan, self.times, self.provision, scaler)
        evictions = found.evictions
        budgets, workloads = evictions.budgets, evictions.workloads
        placements = tuple(evictions.run.placements)
        scale_up: ScaleUp | None = None
        if evictions.scaling is not None:
            placements, scale_up = apply_scale_up(evictions.scaling.scaler, session, placements)
        messages = {each.pod: each.reason for each in placements}
        result = partial(
            UpgradeResult,
            pool=self.pool,
            strategy=plan.name,
            surge=plan.surge,
            unavailable=plan.unavailable,
            drain_timeout=plan.drain_timeout,
            phase=found.phase,
            time=found.end,
            within=self.within,
            nodes=tuple(found.nodes()),
            obstacles=tuple(found.obstacles()),
            forced=tuple(found.forced),
            not_made_again=tuple(evictions.not_made_again),
            replacements=evictions.replacements,
            pending=tuple(workloads.spans(messages)),
            workloads=tuple(workloads.readiness(budgets)),
            budgets=budgets.uses(),
            placements=placements,
            moments=tuple(found.moments),
            timeline=tuple(found.timeline),
            peak_nodes=max(moment.old + moment.new for moment in found.moments),
            more_node_hours=round(found.more_node_seconds / 3600, 2),
            cost=None if self.prices is None else self._cost(found, names, session, self.prices),
            scale_up=scale_up,
            remarks=plan.remarks,
        )
        evicted = evictions.evicted_pods
        basis = RunRecord(session, evictions.recreated_pods, placements, evicted=evicted)
        run_outcome = with_growth(evictions.outcome(), (), scale_up)
        if before is not None:
            run_outcome = join_outcomes(before.run_outcome, run_outcome)
        placed = "" if before is None else f"{words_of_good(before.placements)} placed before"
        never_made = NeverMade(**case.refusal_fields)

        def make_result(fidelity: Fidelity) -> UpgradeResult:
            told: UpgradeResult = result(outcome=Outcome(good=True, verdict=""), fidelity=fidelity)
            return structs.replace(told, outcome=outcome_of_upgrade(told, run_outcome, never_made, placed))

        end = RunEnd(session, case.snapshot)
        return add_placement_before(before, PendingResult([basis], make_result, placements, ends=[end]))

    @staticmethod
    def _cost(found: Replacement, names: Mapping[str, str], session: Session, prices: Prices) -> UpgradeCost:
        mine = {*names, *found.made}
        nodes = [node for node in session.cluster.columns.given if node.name in mine]
        deleted = {node.node: node.deleted for node in found.nodes() if node.deleted is not None}
        return cost_of(nodes, found.made, deleted, found.end, prices)


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
    within_seconds: float | None = None,
    delete_policy: DeletePolicy | None = None,
    prices: str | None = None,
    **options: Unpack[AutoscaledKeywords],
) -> UpgradeResult:
    """What would replacing the nodes of a pool do, and would it end?

    The pool is a label selector, or the name of a node. ``strategy`` is one of those of the command, with its defaults;
    ``prices`` is a file as ``sweep`` and ``rightsize`` read it.
    """
    from kwhatif.commands.upgrade.evictions import EvictionTimes

    plan = PlanOptions(
        None if surge is None else str(surge),
        None if unavailable is None else str(unavailable),
        drain_timeout=drain_timeout_seconds,
        delete_policy=delete_policy,
    )
    known = None if prices is None else read_prices(prices)
    times = EvictionTimes(grace_seconds, {"": ready_after_seconds})
    question = Upgrade(
        pool,
        strategy,
        plan,
        times,
        provision=options.get("provision_seconds", PROVISION),
        within=within_seconds,
        prices=known,
    )
    return ask(question, build_scenario((), snapshot, options))
