"""The question of ``upgrade``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

from msgspec import structs
from msgspec.structs import replace

from kwhatif.commands.common_options import CLUSTER, ManifestsBefore, PricesFile
from kwhatif.commands.upgrade.result import UpgradeCost, UpgradeResult
from kwhatif.commands.upgrade.strategies import (
    STRATEGIES,
    AfterTimeout,
    DeletePolicy,
    ReplacementPlan,
    nodes_of,
    plan_of,
)
from kwhatif.errors import UsageError
from kwhatif.results.outcome import Outcome
from kwhatif.results.place import ScaleUp
from kwhatif.simulation.flag import Duration, Flag, parse_duration
from kwhatif.simulation.inputs import Notes
from kwhatif.simulation.question import Answer, Question
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions

if TYPE_CHECKING:
    from kwhatif.commands.upgrade.evictions import EvictionTimes
    from kwhatif.commands.upgrade.replacement import Replacement
    from kwhatif.commands.upgrade.replacing_nodes import NodeChanges
    from kwhatif.simulation.autoscalers.node_prices import Prices
    from kwhatif.simulation.session import Session

_ZONE = "topology.kubernetes.io/zone"


READY_AFTER = 30.0
"""Seconds that a pod takes to become ready, by default."""


def _parse_readiness(texts: Sequence[str]) -> dict[str, float]:
    """Workload -> seconds; the workload ``""`` is all others. Raises ValueError."""
    named = [text.rpartition("=") for text in texts]
    return {"": READY_AFTER} | {name: parse_duration(length) for name, _, length in named}


@dataclass(frozen=True, kw_only=True)
class Upgrade(Question[UpgradeResult]):
    """Replace the nodes of a pool in simulated time, as the service that runs it would.

    Nodes are cordoned and drained as far as disruption budgets allow; pods take their grace period to go, are
    recreated, find a node or wait for one, and become ready. What is in the way is named.
    """

    takes = AutoscaledOptions
    lacks = frozenset({"verb", "at"})
    exit_1_when = "a node is not replaced, or late, or by force, or a pod has no node"
    examples = (
        f"--pool pool=general {CLUSTER} --strategy gke-surge",
        f"--pool pool=general {CLUSTER} --strategy aks --drain-timeout 10m --within 1h",
    )

    pool: Annotated[
        str,
        Flag(
            "--pool",
            positional=True,
            metavar="POOL|SELECTOR",
            help="The nodes: a pool's name, or a label selector such as 'pool=batch'.",
        ),
    ]
    manifests: ManifestsBefore = ()
    strategy: Annotated[
        str,
        Flag(
            "--strategy",
            choices=tuple(STRATEGIES),
            shows_default=True,
            help="The service that replaces the nodes, with its documented defaults.",
        ),
    ] = "surge"
    surge: Annotated[
        int | str | None,
        Flag(
            "--surge",
            type=str | None,
            metavar="N|N%",
            help="Nodes beyond the size of the pool during the upgrade.",
        ),
    ] = None
    unavailable: Annotated[
        int | str | None,
        Flag(
            "--unavailable",
            type=str | None,
            metavar="N|N%",
            help="Nodes of the pool that may be missing during the upgrade.",
        ),
    ] = None
    parallel: Annotated[
        int | None, Flag("--parallel", metavar="N", least=1, help="Drain at most N nodes at the same time.")
    ] = None
    drain_timeout_seconds: Annotated[
        float | None, Duration("--drain-timeout", "How long a drain may take. Default: the strategy's.")
    ] = None
    after_timeout: Annotated[
        AfterTimeout | None,
        Flag("--after-timeout", help="After --drain-timeout: force the drain, or fail the upgrade."),
    ] = None
    delete_policy: Annotated[
        DeletePolicy | None,
        Flag("--delete-policy", help="With 'capi': which nodes are deleted first, after those that are not ready."),
    ] = None
    node_soak_seconds: Annotated[
        float | None, Duration("--node-soak", "How long an empty node stays before it is deleted.")
    ] = None
    pool_soak_seconds: Annotated[
        float | None, Duration("--pool-soak", "How long the old pool stays after it was drained.")
    ] = None
    grace_seconds: Annotated[
        float | None, Duration("--grace", "A grace period for all pods. Default: each pod's own.")
    ] = None
    ready_after_seconds: Annotated[
        float | Mapping[str, float],
        Flag(
            "--ready-after",
            type=list[str] | None,
            parse=_parse_readiness,
            metavar="[NAME=]DURATION",
            help="How long a pod takes to become ready, of all workloads or of one (repeatable). Default: 30s.",
        ),
    ] = READY_AFTER
    within_seconds: Annotated[float | None, Duration("--within", "How long the whole upgrade may take.")] = None
    prices: PricesFile = ""
    new_version: Annotated[
        str, Flag("--new-version", metavar="VERSION", help="The kubelet version of new nodes, such as v1.35.2.")
    ] = ""
    new_labels: Annotated[
        Sequence[str],
        Flag(
            "--new-label",
            metavar="KEY=VALUE|KEY-",
            help="Add a label to new nodes, or remove one with KEY- (repeatable).",
        ),
    ] = ()
    new_taints: Annotated[
        Sequence[str],
        Flag("--new-taint", metavar="KEY[=VALUE]:EFFECT", help="Add a taint to new nodes (repeatable)."),
    ] = ()
    new_sizes: Annotated[
        Sequence[str],
        Flag("--new-size", metavar="RESOURCE=AMOUNT", help="Another amount of a resource on new nodes (repeatable)."),
    ] = ()

    several_runs: ClassVar[bool] = True

    provision_seconds: float | None = None
    """What a new node of the pool takes to come up, if that is another time than one of autoscalers takes."""

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return False

    def check(self, scenario: Scenario) -> None:
        if not self.pool:
            raise UsageError("name the pool: with --pool POOL")
        # What is wrong with these is said before anything else is read.
        _ = self.changes, self.known_prices

    @cached_property
    def changes(self) -> NodeChanges:
        from kwhatif.commands.upgrade.replacing_nodes import parse_changes

        return parse_changes(self.new_version, self.new_labels, self.new_taints, self.new_sizes)

    @cached_property
    def known_prices(self) -> Prices | None:
        from kwhatif.simulation.autoscalers.node_prices import read_prices

        return read_prices(self.prices) if self.prices else None

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[UpgradeResult]:
        from kwhatif.commands.budget_fixes import try_budget_fixes
        from kwhatif.versions.minors import is_newer, minor_of

        (scenario,) = scenarios
        server = scenario.setup.features.minor
        if self.new_version and is_newer(minor_of(self.new_version), server):
            notes.warn(
                f"--new-version {self.new_version}: no kubelet may be newer than the API server, which is taken to be "
                f"of {server}: upgrade the control plane first"
            )
        answer = self._upgrade(scenario)
        budgets = try_budget_fixes(answer.result, scenario, self, lambda changed: self._upgrade(changed).result)
        return dataclasses.replace(answer, result=replace(answer.result, budgets=budgets))

    def _upgrade(self, scenario: PreparedScenario) -> Answer[UpgradeResult]:
        from kwhatif.api.core import Node
        from kwhatif.commands.upgrade.replacement import replace_pool
        from kwhatif.commands.upgrade.replacing_nodes import add_new_nodes, in_delete_order
        from kwhatif.commands.upgrade.verdict import outcome_of_upgrade
        from kwhatif.simulation.autoscalers.scaler import apply_scale_up
        from kwhatif.simulation.edits.draft import Draft
        from kwhatif.simulation.edits.selection import pool_nodes
        from kwhatif.simulation.fidelity.assess import assess
        from kwhatif.simulation.placement.runs import place_scenario
        from kwhatif.simulation.placement.verdict import words_of_good

        provision = scenario.inputs.provision if self.provision_seconds is None else self.provision_seconds
        scaler = scenario.scaler
        scenario, before = place_scenario(scenario, scaler)
        old = pool_nodes(self.pool, scenario.snapshot.objects.list_all(Node))
        zones = len({(node.metadata.labels or {}).get(_ZONE) for node in old})
        plan = self._plan(len(old), zones)
        draft = Draft(scenario.snapshot)
        names = add_new_nodes(draft, in_delete_order(old, plan.delete_policy), self.changes)
        scenario = scenario.with_snapshot(draft.snapshot)
        session = scenario.new_session()
        replacement = replace_pool(session, names, plan, self._eviction_times(), provision, scaler)
        evictions = replacement.evictions
        budgets, workloads = evictions.budgets, evictions.workloads
        placements = tuple(evictions.run.placements)
        scale_up: ScaleUp | None = None
        if evictions.scaling is not None:
            placements, scale_up = apply_scale_up(evictions.scaling.scaler, session, placements)
        messages = {placement.pod: placement.reason for placement in placements}
        run = structs.replace(
            evictions.run_of().following(before), placements=placements, scale_up=scale_up, **scenario.refusal_fields
        )
        result = UpgradeResult(
            outcome=Outcome(good=True, verdict=""),
            pool=self.pool,
            strategy=plan.name,
            surge=plan.surge,
            unavailable=plan.unavailable,
            drain_timeout=plan.drain_timeout,
            phase=replacement.phase,
            time=replacement.end,
            within=self.within_seconds,
            nodes=tuple(replacement.nodes()),
            obstacles=tuple(replacement.obstacles()),
            forced=tuple(replacement.forced),
            not_made_again=tuple(evictions.not_made_again),
            replacements=evictions.replacements,
            pending=tuple(workloads.spans(messages)),
            workloads=tuple(workloads.readiness(budgets)),
            budgets=budgets.uses(),
            placements=placements,
            moments=tuple(replacement.moments),
            timeline=tuple(replacement.timeline),
            peak_nodes=max(moment.old + moment.new for moment in replacement.moments),
            more_node_hours=None if replacement.phase == "hangs" else round(replacement.more_node_seconds / 3600, 2),
            cost=None if self.known_prices is None else self._cost(replacement, names, session, self.known_prices),
            scale_up=scale_up,
            remarks=plan.remarks,
            fidelity=assess(run, before),
        )
        placed = "" if before is None else f"{words_of_good(before.placements)} placed before"
        return Answer(structs.replace(result, outcome=outcome_of_upgrade(result, run, placed)), [run], placements)

    def _plan(self, size: int, zones: int) -> ReplacementPlan:
        """The plan for a pool of ``size`` nodes in a number of ``zones``. Raises UsageError."""
        strategy, surge, unavailable = self.strategy, self.surge, self.unavailable
        plan = plan_of(strategy, size, zones).with_values(
            surge=None if surge is None else nodes_of(str(surge), size, up=True, option="--surge"),
            unavailable=None
            if unavailable is None
            else nodes_of(str(unavailable), size, up=False, option="--unavailable"),
            parallel=self.parallel,
            drain_timeout=self.drain_timeout_seconds,
            after_timeout=self.after_timeout,
            node_soak=self.node_soak_seconds,
            pool_soak=self.pool_soak_seconds,
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

    def _eviction_times(self) -> EvictionTimes:
        """How long pods take to go and to become ready."""
        from kwhatif.commands.upgrade.evictions import EvictionTimes

        ready = self.ready_after_seconds
        return EvictionTimes(self.grace_seconds, ready if isinstance(ready, Mapping) else {"": ready})

    @staticmethod
    def _cost(replacement: Replacement, names: Mapping[str, str], session: Session, prices: Prices) -> UpgradeCost:
        from kwhatif.commands.upgrade.verdict import cost_of

        mine = {*names, *replacement.made}
        nodes = [node for node in session.cluster.columns.given if node.name in mine]
        deleted = {node.node: node.deleted for node in replacement.nodes() if node.deleted is not None}
        end = None if replacement.phase == "hangs" else replacement.end
        return cost_of(nodes, replacement.made, deleted, end, prices)
