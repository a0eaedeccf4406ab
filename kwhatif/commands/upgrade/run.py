"""The question of ``upgrade``, and its Python function."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Unpack

from msgspec import structs

from kwhatif.api.core import Node
from kwhatif.commands.api_options import AutoscaledKeywords, ClusterSource, Path, ask, build_scenario
from kwhatif.commands.upgrade.cost import cost_of
from kwhatif.commands.upgrade.options import READY_AFTER, UpgradeOptions
from kwhatif.commands.upgrade.planning import eviction_times, replacement_plan
from kwhatif.commands.upgrade.replacement import Replacement
from kwhatif.commands.upgrade.replacing_nodes import NodeChanges, add_new_nodes, in_delete_order, parse_changes
from kwhatif.commands.upgrade.result import UpgradeCost, UpgradeResult
from kwhatif.commands.upgrade.simulation import PROVISION, replace_pool
from kwhatif.commands.upgrade.verdict import outcome_of_upgrade
from kwhatif.errors import UsageError
from kwhatif.results.base import Fidelity
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import ScaleUp
from kwhatif.simulation.autoscalers.node_prices import Prices, read_prices
from kwhatif.simulation.autoscalers.scaler import apply_scale_up
from kwhatif.simulation.edits.draft import Draft
from kwhatif.simulation.edits.selection import chosen_nodes
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.placement.runs import add_placement_before, place_scenario
from kwhatif.simulation.placement.verdict import words_of_good
from kwhatif.simulation.question import PendingResult, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.session import Session
from kwhatif.upgrading.replacement_plan import AfterTimeout, DeletePolicy

_ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True)
class Upgrade(UpgradeOptions, Question[UpgradeResult]):
    """What would replacing the nodes of a ``pool`` do? They are named by a label selector, or one by its name.

    All of it may take ``within_seconds``; a new node takes ``provision_seconds`` to come up.
    """

    several_runs: ClassVar[bool] = True

    provision_seconds: float = PROVISION

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if not self.pool:
            raise UsageError("name the pool: with --pool SELECTOR")
        # What is wrong with these is said before anything else is read.
        _ = self.changes, self.known_prices

    @cached_property
    def changes(self) -> NodeChanges:
        return parse_changes(self.new_version, self.new_labels, self.new_taints, self.new_sizes)

    @cached_property
    def known_prices(self) -> Prices | None:
        return read_prices(self.prices) if self.prices else None

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[UpgradeResult]:
        (scenario,) = scenarios
        scaler = scenario.scaler
        scenario, before = place_scenario(scenario, scaler)
        old = chosen_nodes(self.pool, scenario.snapshot.objects.list_all(Node))
        zones = len({(node.metadata.labels or {}).get(_ZONE) for node in old})
        plan = replacement_plan(self, len(old), zones)
        draft = Draft(scenario.snapshot)
        names = add_new_nodes(draft, in_delete_order(old, plan.delete_policy), self.changes)
        scenario = scenario.with_snapshot(draft.snapshot)
        session = scenario.new_session()
        found = replace_pool(session, names, plan, eviction_times(self), self.provision_seconds, scaler)
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
            within=self.within_seconds,
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
            cost=None if self.known_prices is None else self._cost(found, names, session, self.known_prices),
            scale_up=scale_up,
            remarks=plan.remarks,
        )
        run = dataclasses.replace(
            evictions.run_of().following(before), placements=placements, scale_up=scale_up, **scenario.refusal_fields
        )
        placed = "" if before is None else f"{words_of_good(before.placements)} placed before"

        def make_result(fidelity: Fidelity) -> UpgradeResult:
            told: UpgradeResult = result(outcome=Outcome(good=True, verdict=""), fidelity=fidelity)
            return structs.replace(told, outcome=outcome_of_upgrade(told, run, placed))

        return add_placement_before(before, PendingResult([run], make_result, placements))

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
    parallel: int | None = None,
    drain_timeout_seconds: float | None = None,
    after_timeout: AfterTimeout | None = None,
    delete_policy: DeletePolicy | None = None,
    node_soak_seconds: float | None = None,
    pool_soak_seconds: float | None = None,
    grace_seconds: float | None = None,
    ready_after_seconds: float | Mapping[str, float] = READY_AFTER,
    within_seconds: float | None = None,
    prices: Path | None = None,
    new_version: str = "",
    new_labels: Sequence[str] = (),
    new_taints: Sequence[str] = (),
    new_sizes: Sequence[str] = (),
    **options: Unpack[AutoscaledKeywords],
) -> UpgradeResult:
    """What would replacing the nodes of a pool do, and would it end?

    The pool is a label selector, or the name of a node. ``strategy`` is one of those of the command, with its defaults,
    of which the others change some. Pods take ``ready_after_seconds`` to become ready, all or by the name of their
    workload. ``prices`` is a file as ``sweep`` and ``rightsize`` read it. New nodes are like the old ones but for
    ``new_labels`` (``KEY=VALUE`` or ``KEY-``), ``new_taints`` (``KEY=VALUE:EFFECT``), ``new_sizes``
    (``RESOURCE=AMOUNT``) and their kubelet's ``new_version``.
    """
    question = Upgrade(
        pool,
        strategy,
        surge=surge,
        unavailable=unavailable,
        parallel=parallel,
        drain_timeout_seconds=drain_timeout_seconds,
        after_timeout=after_timeout,
        delete_policy=delete_policy,
        node_soak_seconds=node_soak_seconds,
        pool_soak_seconds=pool_soak_seconds,
        grace_seconds=grace_seconds,
        ready_after_seconds=ready_after_seconds,
        within_seconds=within_seconds,
        prices="" if prices is None else os.fspath(prices),
        new_version=new_version,
        new_labels=new_labels,
        new_taints=new_taints,
        new_sizes=new_sizes,
        provision_seconds=options.get("provision_seconds", PROVISION),
    )
    return ask(question, build_scenario((), snapshot, options))
