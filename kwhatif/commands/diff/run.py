"""The question of two sides, with two scenarios that share the options given once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar, cast

from kwhatif.commands.diff.diff import Side, compare_sides
from kwhatif.commands.diff.options import DiffOptions
from kwhatif.errors import UsageError
from kwhatif.results.diff import DecisionDiff
from kwhatif.simulation.inputs import Files, Notes, SchedulerOptions
from kwhatif.simulation.placement.scaled_out import find_first_moments
from kwhatif.simulation.question import Answer
from kwhatif.simulation.replay import ReplayQuestion, ReplayScenario
from kwhatif.simulation.scenario import PreparedScenario, Scenario
from kwhatif.simulation.scenario_options import AutoscaledOptions
from kwhatif.simulation.scheduler_setup import DEFAULT_POLICY

T = TypeVar("T")

_AT_VERSION = re.compile(r"(?P<policy>.*)@(?P<version>v?\d+\.\d+[\w.+-]*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class CompareSides(DiffOptions, ReplayQuestion[DecisionDiff]):
    """What would change with another policy, version, cluster or manifests, of the ``manifests`` of both sides?"""

    takes: ClassVar[type[Any] | None] = AutoscaledOptions

    several_runs: ClassVar[bool] = True

    manifests: Files = ()

    def build_scenarios(self, options: Any) -> list[Scenario]:
        """The two sides, of what else is the same for both. Raises UsageError for what makes no two sides."""
        common: Scenario = options.build_scenario(self.manifests)
        inputs, engine = common.inputs, common.scheduler_options
        snapshots = [inputs.snapshot, self.snapshot_b] if self.snapshot_b else [inputs.snapshot]
        manifests: list[Files] = [inputs.manifests]
        if self.old:
            manifests = [[*inputs.manifests, *options.gather(side)] for side in (self.old, self.new)]
        if len(self.policy) > 2:
            raise UsageError(f"--policy is given {len(self.policy)} times: there are two sides")
        if bool(self.old) != bool(self.new):
            raise UsageError("--old and --new go together: manifests of side A and of side B")
        if max(len(self._policies), len(snapshots)) < 2 and not self.old:
            policy = "a --policy other than the default" if self.policy else "--policy"
            raise UsageError(f"nothing to compare: give {policy}, --against-snapshot, or --old and --new")
        if not (inputs.manifests or self.old or self.replay):
            raise UsageError("name files with pods to schedule, or pods of the snapshot with --replay")
        both: list[Scenario] = []
        for side in (0, 1):
            of_side = replace(
                inputs, snapshot=_value_of_side(snapshots, side), manifests=_value_of_side(manifests, side)
            )
            both.append(Scenario(of_side, at_version(engine, _value_of_side(self._policies or [None], side))))
        return both

    @property
    def _policies(self) -> Sequence[Any]:
        """The policies of the sides: one alone is compared with the default, where nothing else is."""
        if len(self.policy) != 1 or self.policy[0] == DEFAULT_POLICY or self.snapshot_b or self.old or self.new:
            return self.policy
        return [DEFAULT_POLICY, *self.policy]

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> Answer[DecisionDiff]:
        a, b = (self._side(number, cast("ReplayScenario", scenario)) for number, scenario in enumerate(scenarios))
        return compare_sides(a, b)

    def _side(self, number: int, scenario: ReplayScenario) -> Side:
        label, replayed = self._label(number, scenario), scenario.replayed
        moments = () if replayed.pods else find_first_moments(scenario, scenario.manifests, self.select_pods)
        return Side(
            label,
            scenario.new_session,
            scenario.pods_to_schedule,
            scenario.expand_again or (lambda: scenario.expanded),
            replayed,
            scenario.unknown_kinds,
            scenario.autoscalers,
            tuple(moments),
        )

    def _label(self, side: int, scenario: PreparedScenario) -> str:
        """What only this side has."""
        parts: list[str] = []
        if len(self._policies) > 1:
            policy = self._policies[side]
            parts.append(f"policy {policy}" if isinstance(policy, str) else "a policy of its own")
        if self.snapshot_b:
            parts.append(f"snapshot {scenario.snapshot.source}")
        if self.old:
            names = [
                manifest if isinstance(manifest, str) else f"a {manifest.get('kind')}"
                for manifest in scenario.inputs.manifests
            ]
            parts.append(f"manifests {', '.join(names)}")
        return ", ".join(parts)


def at_version(engine: SchedulerOptions, policy: Any) -> SchedulerOptions:
    """The scheduler of one side: its policy, and the Kubernetes named with it."""
    if policy is None:
        return engine
    match = _AT_VERSION.fullmatch(policy) if isinstance(policy, str) else None
    if match is None:
        return replace(engine, policy=policy)
    return replace(engine, policy=match["policy"] or "default", kubernetes_version=match["version"])


def _value_of_side(values: Sequence[T], side: int) -> T:
    return values[side if len(values) > 1 else 0]
