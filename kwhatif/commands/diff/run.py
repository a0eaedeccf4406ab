"""The question of ``diff``, with two scenarios that share the options given once; and its Python function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar, Unpack, cast

from kwhatif.commands.api_options import (
    AutoscaledKeywords,
    ClusterSource,
    Manifests,
    Path,
    ask,
    build_scenario,
    cluster_of,
    files_of,
    policy_of,
    python_names,
)
from kwhatif.commands.diff.diff import Side, compare_sides
from kwhatif.commands.diff.options import DiffOptions
from kwhatif.errors import UsageError
from kwhatif.results.diff import DecisionDiff
from kwhatif.simulation.inputs import Files, Inputs, Notes, SchedulerOptions, Source
from kwhatif.simulation.question import PendingResult
from kwhatif.simulation.replay import ReplayQuestion, ReplayScenario
from kwhatif.simulation.scenario import PreparedScenario, Scenario

T = TypeVar("T")

_AT_VERSION = re.compile(r"(?P<policy>.*)@(?P<version>v?\d+\.\d+[\w.+-]*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Diff(DiffOptions, ReplayQuestion[DecisionDiff]):
    """What would change with another policy, version, cluster or manifests?

    ``snapshot`` is the cluster of side A, and of side B unless ``snapshot_b`` is. ``policies`` may be files that have
    an ``@VERSION`` after them; one is for both sides. ``files`` are manifests of both sides, ``old`` and ``new`` those
    of one. ``replay`` says which pods of the snapshot are scheduled, too: ``pending``, those of a ``namespace=NAME``,
    or ``all``.
    """

    several_runs: ClassVar[bool] = True

    snapshot: Source
    files: Files = ()

    @property
    def snapshots(self) -> list[Source]:
        """One or two."""
        return [self.snapshot, self.snapshot_b] if self.snapshot_b else [self.snapshot]

    def build_sides(self, inputs: Inputs, engine: SchedulerOptions) -> list[Scenario]:
        """The two sides, of what else is the same for both. Raises UsageError for what makes no two sides."""
        if len(self.policies) > 2:
            raise UsageError(f"--policy is given {len(self.policies)} times: there are two sides")
        if bool(self.old) != bool(self.new):
            raise UsageError("--old and --new go together: manifests of side A and of side B")
        if max(len(self.policies), len(self.snapshots)) < 2 and not self.old:
            raise UsageError("nothing to compare: give --policy twice, --against-snapshot, or --old and --new")
        if not (self.files or self.old or self.replay):
            raise UsageError("name files with pods to schedule, or pods of the snapshot with --replay")
        both: list[Scenario] = []
        for side in (0, 1):
            of_side = replace(
                inputs, snapshot=_value_of_side(self.snapshots, side), manifests=_value_of_side(self._manifests, side)
            )
            both.append(Scenario(of_side, at_version(engine, _value_of_side(self.policies or [None], side))))
        return both

    @property
    def _manifests(self) -> list[Files]:
        """Those of both sides, or those of each."""
        return [[*self.files, *side] for side in (self.old, self.new)] if self.old else [self.files]

    def answer(self, scenarios: Sequence[PreparedScenario], notes: Notes) -> PendingResult[DecisionDiff]:
        a, b = (self._side(number, cast("ReplayScenario", scenario)) for number, scenario in enumerate(scenarios))
        return compare_sides(a, b)

    def _side(self, number: int, scenario: ReplayScenario) -> Side:
        label, replayed = self._label(number, scenario), scenario.replayed
        return Side(
            label,
            scenario.new_session,
            scenario.pods_to_schedule,
            scenario.expand_again or (lambda: scenario.expanded),
            replayed,
            scenario.unknown_kinds,
            scenario.make_scaler,
        )

    def _label(self, side: int, scenario: PreparedScenario) -> str:
        """What only this side has."""
        parts: list[str] = []
        if len(self.policies) > 1:
            policy = self.policies[side]
            parts.append(f"policy {policy}" if isinstance(policy, str) else "a policy of its own")
        if len(self.snapshots) > 1:
            parts.append(f"snapshot {scenario.snapshot.source}")
        if self.old:
            names = [each if isinstance(each, str) else f"a {each.get('kind')}" for each in self._manifests[side]]
            parts.append(f"manifests {', '.join(names)}")
        return ", ".join(parts)


def at_version(engine: SchedulerOptions, policy: Any) -> SchedulerOptions:
    """The scheduler of one side: its policy, and the Kubernetes named with it."""
    if policy is None:
        return engine
    found = _AT_VERSION.fullmatch(policy) if isinstance(policy, str) else None
    if found is None:
        return replace(engine, policy=policy)
    return replace(engine, policy=found["policy"] or "default", kubernetes_version=found["version"])


def _value_of_side(values: Sequence[T], side: int) -> T:
    return values[side if len(values) > 1 else 0]


@python_names(DiffOptions)
def diff(
    manifests: Manifests = (),
    *,
    snapshot: ClusterSource,
    snapshot_b: ClusterSource | None = None,
    policy_b: Path | Mapping[str, Any] | None = None,
    old: Manifests = (),
    new: Manifests = (),
    replay: Sequence[str] = (),
    **options: Unpack[AutoscaledKeywords],
) -> DecisionDiff:
    """What would change with another policy, version, cluster or manifests?

    ``snapshot_b`` and ``policy_b`` are what side B has instead; a policy may name the Kubernetes whose rules hold, as
    in ``default@1.31``. ``old`` are manifests of side A alone, ``new`` of side B.
    ``replay`` schedules pods of the snapshot, too: ``pending``, those of a ``namespace=NAME``, or ``all``.
    """

    policies = [] if policy_b is None and "policy" not in options else [options.get("policy")]
    policies += [] if policy_b is None else [policy_b]
    question = Diff(
        snapshot=cluster_of(snapshot),
        snapshot_b=() if snapshot_b is None else cluster_of(snapshot_b),
        policies=[policy_of(policy) for policy in policies],
        files=files_of(manifests),
        old=files_of(old),
        new=files_of(new),
        replay=[replay] if isinstance(replay, str) else replay,
    )
    common = build_scenario((), (), options)
    return ask(question, *question.build_sides(common.inputs, common.scheduler_options))
