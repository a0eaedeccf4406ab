"""Many policies on all clusters, with a scenario for each cluster."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import msgspec
from msgspec import structs

from kwhatif.api.core import Node
from kwhatif.api.quantity import plain_quantity
from kwhatif.commands.common_options import FleetOptions
from kwhatif.commands.sweep.measures import front_of, influences_of, measure_run, objectives_of, ranks_of, scalars
from kwhatif.commands.sweep.options import SweepOptions
from kwhatif.commands.sweep.points import BATCH, Refiner, points_of
from kwhatif.commands.sweep.policy_variant import (
    PolicyTask,
    Probe,
    SweepCluster,
    SweepClusters,
    build_variant,
    check,
    describe_differences,
    run_policy,
    try_policy,
)
from kwhatif.commands.sweep.result import Measures, Objective, PolicyPoint, SweepResult, order
from kwhatif.commands.sweep.space_document import PERCENTAGE, Point, Space, read_space
from kwhatif.errors import UsageError
from kwhatif.fleet.dispatch import run
from kwhatif.fleet.rows_file import RowsFile
from kwhatif.fleet.study import FailedTask, Study
from kwhatif.policy.render import yaml_text
from kwhatif.progress import report_start
from kwhatif.results.outcome import Outcome
from kwhatif.simulation.autoscalers.node_prices import Prices, prices_of, read_prices
from kwhatif.simulation.expansion.pods import expand_manifests
from kwhatif.simulation.fidelity.assess import assess
from kwhatif.simulation.inputs import Files, Notes
from kwhatif.simulation.placement.run import Run
from kwhatif.simulation.question import Answer
from kwhatif.simulation.replay import ReplayQuestion, ReplayScenario
from kwhatif.simulation.scenario import LoadedScenario, PreparedScenario, Scenario
from kwhatif.simulation.study import StudyBase
from kwhatif.snapshot.format.atomic_files import draft_of
from kwhatif.snapshot.load import load_manifests

MOST_PROBES = 1000
"""The most probe pods that are tried."""

PointOutcome = Sequence[Measures] | str
"""What a policy comes to on each cluster, or why that is not known."""


@dataclass(frozen=True, kw_only=True)
class SweepPolicies(SweepOptions, FleetOptions, ReplayQuestion[SweepResult]):
    """Which of the policies of a ``space`` is best for the pods of ``manifests`` and those that ``replay`` names?

    Measures are the means over all clusters.
    """

    several_runs: ClassVar[bool] = True

    manifests: Files = ()

    @cached_property
    def known_space(self) -> Space:
        return read_space(self.space)

    @cached_property
    def known_prices(self) -> Prices | None:
        return read_prices(self.prices) if self.prices else None

    def build_scenarios(self, options: Any) -> list[Scenario]:
        """A scenario for each cluster. Raises UsageError where there is nothing to place."""
        common: Scenario = options.build_scenario(self.manifests)
        inputs = common.inputs
        others = [
            [other_snapshot] if isinstance(other_snapshot, str) else other_snapshot
            for other_snapshot in self.other_snapshots
        ]
        if not (inputs.manifests or self.replay or inputs.edits):
            raise UsageError("name files with pods to schedule, or pods of the snapshot with --replay")
        if not self.space:
            raise UsageError("name the settings to try: --space FILE, a SweepSpace document")
        if self.write == "-":
            raise UsageError("--write -: standard output is for the answer; name a file")
        # What is wrong with these is said before anything else is read.
        _ = self.known_space, self.known_prices
        return [
            Scenario(replace(inputs, snapshot=snapshot), common.scheduler_options)
            for snapshot in [inputs.snapshot, *others]
        ]

    def check(self, scenario: Scenario) -> None:
        super().check(scenario)
        if self.search and self.seed is None:
            raise UsageError("--search draws at random: name a --seed")
        if scenario.scheduler_options.all_nodes and any(axis.setting == PERCENTAGE for axis in self.known_space.axes):
            raise UsageError("--all-nodes scores all nodes, whatever percentageOfNodesToScore the space has")
        objectives_of(self.objectives, priced=self.known_prices is not None)

    def needs_pods(self, scenario: LoadedScenario) -> bool:
        return not self.replay

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[SweepResult]:
        setup = scenarios[0].setup
        if any(scenario.setup.configuration != setup.configuration for scenario in scenarios):
            raise UsageError("the clusters have policies of their own: name the one to begin with, with --policy")
        check(setup, self.known_space)
        objectives = objectives_of(self.objectives, priced=self.known_prices is not None)
        report_start("Asking today's policy")
        bases, sites = [], []
        for scenario in scenarios:
            site = self._site(cast("ReplayScenario", scenario), notes)
            today = run_policy(site, self.known_space, {})
            self._check_objectives(objectives, site, today)
            bases.append(today)
            sites.append(
                structs.replace(
                    site, today={placement.pod: placement.node for placement in today.placements if placement.node}
                )
            )
        points, repeated = points_of(self.known_space, self.seed)
        words = describe_differences(setup, self.known_space)
        same = [point for point in points if not words(point)]
        policies = [same[0] if same else {}, *(point for point in points if words(point))]
        repeated += len(same)
        course = _SweepRun(self, SweepClusters(self.known_space, sites))
        outcomes = course.outcomes(policies, self.rows)
        if all(isinstance(outcome, str) for outcome in outcomes):
            raise UsageError(f"no policy could be tried: {outcomes[0]}")
        sampled = len(policies)
        if self.search:
            course.refine(objectives, policies, outcomes)
        measured = _points(words, policies, outcomes, objectives)
        best = min((point for point in measured if point.on_front), key=order)
        if self.write:
            self._write(best, yaml_text(build_variant(setup, self.known_space, best.settings)), notes)
        known = [(point.settings, point.measures) for point in measured if point.settings and point.on]
        influences = tuple(influences_of(self.known_space.axes, known))
        fidelity = tuple(map(assess, bases))
        result = SweepResult(
            outcome=Outcome.from_words(_words_of(best, len(measured), scenarios), good=True),
            sample=_sample_in_words(self.known_space, sampled - 1),
            seed=self.seed,
            searched=len(policies) - sampled,
            repeated=repeated,
            snapshots=tuple(scenario.snapshot.source for scenario in scenarios),
            pods=sum(len(basis.placements) for basis in bases),
            replayed=sum(len(site.replayed.pods) for site in sites),
            objectives=objectives,
            best=best.number,
            points=tuple(measured),
            influences=influences,
            fidelity=fidelity,
        )
        return Answer(result, bases)

    def _site(self, scenario: ReplayScenario, notes: Notes) -> SweepCluster:
        reading, version = scenario.inputs.manifest_options, scenario.scheduler_options.kubernetes_version
        probe = None
        if self.probe:
            manifests = load_manifests(self.probe, scenario.inputs.namespace)
            made = expand_manifests(scenario.snapshot, manifests, reading, version, as_new=True, gates=scenario.gates)
            owners = {item.owner or item.pod.key for item in made.pods}
            if len(owners) != 1:
                raise UsageError(f"--probe: expected manifests with one pod or workload, found {len(owners)}")
            probe = Probe(made.pods[0], made.objects, MOST_PROBES)
        prices: Mapping[str, float] = {}
        if self.known_prices is not None:
            prices, unknown = prices_of(scenario.snapshot.objects.list_all(Node), self.known_prices)
            if unknown:
                notes.warn(f"nodes without a price, which count as free: of instance type {', '.join(unknown)}")
        base = StudyBase.from_scenario(scenario)
        autoscalers = None if scenario.autoscalers is None else scenario.autoscalers.without_orders()
        again, replayed = scenario.expand_again, scenario.replayed
        return SweepCluster(base, replayed, again, probe, prices, reading.max_pods, autoscalers=autoscalers)

    def _check_objectives(self, objectives: Sequence[Objective], site: SweepCluster, run: Run) -> None:
        known = {*scalars([measure_run(run, {}, site.prices)])}
        known |= {"probeRoom"} if site.probe else set()
        for objective in objectives:
            if objective.measure not in known:
                options = {"cost": "--prices", "nodesAdded": "--autoscale", "probeRoom": "--probe"}
                why = options.get(objective.measure, "nodes that have such a thing")
                raise UsageError(f"--objective {objective.measure}: nothing is known of it without {why}")

    def _write(self, best: PolicyPoint, text: str, notes: Notes) -> None:
        try:
            with draft_of(self.write) as file:
                file.write(text.encode())
        except OSError as error:
            raise UsageError(f"{self.write}: cannot be written: {error.strerror or error}") from None
        notes.note(f"{self.write}: policy {best.number}, {best.policy}")


def _words_of(best: PolicyPoint, points: int, scenarios: Sequence[PreparedScenario]) -> str:
    """``Best: policy 7 of 40: NodeResourcesFit.weight 5.``, and what Kueue did before any policy was asked."""
    of = f"today's policy, of {points}" if best.number == 0 else f"policy {best.number} of {points}: {best.policy}"
    queues = (words for scenario in scenarios for words in scenario.edited.queues.words)
    return f"Best: {'; '.join([of, *queues])}."


class _SweepRun(msgspec.Struct, frozen=True):
    """Runs policies, all at a time or some more."""

    sweep: SweepPolicies
    sites: SweepClusters

    def outcomes(self, policies: Sequence[Point], rows: RowsFile | None = None) -> list[PointOutcome]:
        """The outcomes of these policies on all clusters."""
        many = len(self.sites.sites)
        worlds = [PolicyTask(snapshot, settings) for settings in policies for snapshot in range(many)]
        stationary = not all(site.base.is_picklable for site in self.sites.sites)
        study = Study("Sweeping", self.sites, worlds, try_policy, Measures, self._digest(), stationary=stationary)
        outcomes = [*run(study, self.sweep.executor, rows)]
        return [_outcome(outcomes[first : first + many]) for first in range(0, len(outcomes), many)]

    def refine(self, objectives: Sequence[Objective], policies: list[Point], outcomes: list[PointOutcome]) -> None:
        """Add points around the front, and their outcomes."""
        assert self.sweep.seed is not None
        refiner = Refiner(self.sites.space, objectives, self.sweep.seed)
        tried = slice(0 if policies[0] else 1, None)
        _learn(refiner, policies[tried], outcomes[tried])
        left = self.sweep.search
        while left > 0 and (points := refiner.suggest(min(left, BATCH))):
            rows = None if self.sweep.rows is None else self.sweep.rows.sibling_from(len(policies))
            levels = self.outcomes(points, rows)
            _learn(refiner, points, levels)
            policies += points
            outcomes += levels
            left -= len(points)

    def _digest(self) -> str:
        """The identity of everything that all rows depend on besides their settings."""
        identity = [
            [
                site.base.digest,
                [item.pod for item in site.replayed.pods],
                [site.probe.asked.pod, site.probe.limit, len(site.probe.claims)] if site.probe else [],
                sorted(site.prices.items()),
                site.most_pods,
                site.again is not None,
                site.autoscalers and site.autoscalers.digest,
            ]
            for site in self.sites.sites
        ]
        space = self.sites.space
        encode = msgspec.json.Encoder(enc_hook=plain_quantity, order="deterministic").encode
        return hashlib.sha256(encode([identity, space.profile, space.strategies])).hexdigest()


def _outcome(per_run: Sequence[Measures | FailedTask]) -> PointOutcome:
    error = next((measures.error for measures in per_run if isinstance(measures, FailedTask)), None)
    return error if error is not None else [measures for measures in per_run if isinstance(measures, Measures)]


def _learn(refiner: Refiner, policies: Sequence[Point], outcomes: Sequence[PointOutcome]) -> None:
    for point, outcome in zip(policies, outcomes, strict=True):
        if isinstance(outcome, str):
            refiner.forget(point)
        else:
            refiner.learn(point, scalars(outcome))


def _points(
    words: Callable[[Point], str],
    policies: Sequence[Point],
    outcomes: Sequence[PointOutcome],
    objectives: Sequence[Objective],
) -> list[PolicyPoint]:
    values = {number: scalars(outcome) for number, outcome in enumerate(outcomes) if not isinstance(outcome, str)}
    front, ranks = front_of(values, objectives), ranks_of(values, objectives)
    return [
        PolicyPoint(
            number=number,
            policy=words(settings) if number else "today's",
            settings=settings,
            measures=values.get(number, {}),
            on_front=number in front,
            rank=ranks.get(number, 0),
            on=() if isinstance(outcome, str) else tuple(outcome),
            error=outcome if isinstance(outcome, str) else "",
        )
        for number, (settings, outcome) in enumerate(zip(policies, outcomes, strict=True))
    ]


def _sample_in_words(space: Space, points: int) -> str:
    names = {"grid": "the whole grid", "random": "at random", "sobol": "a Sobol sequence"}
    method = names.get(space.sample.method, "a Latin hypercube")
    return f"{points} of {space.size} policies, {method}"
